/// Quantities that follow from a profile by arithmetic; absent where a term is.
#pragma once

#include <optional>

#include "analyzer/profile/profile.hpp"

namespace stallcast::reports {

struct Derived {
  bool cold = false;                ///< the three below are shares of the cold step, not of the step as found
  std::optional<double> wait{};     ///< share of the step that the verdict speaks of
  std::optional<double> fetch{};    ///< the part of it that reads
  std::optional<double> prep{};     ///< the part of it that prepares
  std::optional<double> workers{};  ///< of the whole job
  std::optional<double>
      worker_busy{};  ///< share of the workers' time in which they make batches (rate * wall / workers)
  std::optional<double> cores_usable{};  ///< of all hosts
  std::optional<double> cores_busy{};    ///< by the job's processes, as found
  std::optional<double> cores_free{};    ///< the rest, never negative
  std::optional<double> run_delay{};     ///< share of a worker's time in which it waits for a core
};

/// Whether most of what samples are made of came over the network, not from files.
[[nodiscard]] bool is_over_network(const Profile& profile);

/// Seconds in which the job was in a state that was made for it, whether the block counts or not. 0: none was.
[[nodiscard]] double states_s(const Profile& profile);

[[nodiscard]] Derived derive(const Profile& profile);

}  // namespace stallcast::reports
