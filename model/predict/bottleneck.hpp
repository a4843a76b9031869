/// Which stage holds a setting back, which one comes next, and how far away that is.
#pragma once

#include <string>

#include "model/analytic/closed_form.hpp"

namespace stallcast {

struct Bounds {
  std::string bound{};       ///< gpu | prep | fetch | cpu | network
  std::string next_bound{};  ///< another stage than `bound`; empty if there is none that takes any time
  double headroom = 0.0;     ///< how much faster `bound` may become before next_bound takes over: 0.5 is 1.5 times
};

/// Compares what each stage needs for a batch when nothing else disturbs it: the step (gpu), a worker's share (prep or
/// fetch, whichever takes more of it), all CPU seconds over the cores (cpu), storage that is shared (fetch), the
/// network.
[[nodiscard]] Bounds bounds_of(const ServiceDemands& input);

/// The least time a batch can take by any one stage: no prediction may be faster.
[[nodiscard]] double slowest_stage_s(const ServiceDemands& input);

}  // namespace stallcast
