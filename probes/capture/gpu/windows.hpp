/// When CUPTI records: in short windows of the job's steps as found, and not between.
///
/// CUPTI takes a thread that launches a kernel up to 8 us more (H200, CUDA 13, a ResNet-18 in torch with 377 kernels a
/// step: 2.9 ms more of 8.3 ms where launching limits the step, 0.8 % where the device does; docs/gpu.md). Switching it
/// on takes 0.07 ms, and once it is off nothing is left of its cost. So a window is closed as soon as it has enough
/// steps, the rest after it is so long that what was traced can have cost no more than a part in 250, and nothing is
/// recorded while a state is made or about to be: those rates are of steps without it.
#pragma once

#include <cstdint>
#include <optional>

#include "probes/record/control.hpp"

namespace stallcast::gpu {

/// What a look at the run shows.
struct Look {
  std::uint64_t now_ns = 0;
  bool as_found = false;      ///< recording is on, and no state is made or about to be
  std::uint64_t batches = 0;  ///< that this process was given so far
  std::uint64_t kernels = 0;  ///< recorded so far
};

/// Looks at the run for the process `pid`, whose slot was `slot` at the last look. One that takes no batches has none,
/// and nothing of it is as found.
[[nodiscard]] Look look_at(const record::ControlBlock& control, std::uint64_t pid, std::uint64_t now_ns,
                           std::optional<std::uint32_t>& slot);

enum class Change : std::uint8_t { none, begin, end };

/// The first window is of the job's first steps: what CUPTI sets up then is set up by the time that counts.
class TraceWindows {
 public:
  /// `often`: of so many batches whatever they take, and with a rest of one: for tests of switching on and off.
  explicit TraceWindows(bool often) : often_(often) {}

  /// What is to be done now; the caller does it.
  [[nodiscard]] Change next(const Look& look);

  [[nodiscard]] bool open() const { return open_; }

 private:
  [[nodiscard]] bool has_enough(const Look& look) const;
  [[nodiscard]] std::uint64_t rest_ns(const Look& look) const;

  bool often_;
  bool open_ = false;
  int begun_ = 0;
  Look changed_{};               ///< when it was opened or closed
  std::uint64_t length_ns_ = 0;  ///< of the window that was last closed
  std::uint64_t kernels_ = 0;    ///< recorded before the one that was last opened
};

}  // namespace stallcast::gpu
