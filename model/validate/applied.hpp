/// From a scenario to what a run can be given of it: the one place that says which keys `verify` applies, and how.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/profile/profile.hpp"
#include "core/result.hpp"
#include "model/scenario/scenario.hpp"

namespace stallcast {

/// One key of the scenario and the means by which the run gets it.
struct AppliedKey {
  std::string key{};
  std::string value{};  ///< as the user wrote it
  std::string how{};    ///< "num_workers=4 in place of 2, on the training DataLoader"
};

/// What the run is to be given; what is absent stays as the command has it.
struct AppliedSettings {
  std::optional<int> workers{};         ///< num_workers of the training loader
  std::optional<int> prefetch{};        ///< its prefetch_factor
  std::optional<int> cpus{};            ///< of the whole job, by affinity
  std::vector<std::string> emulated{};  ///< "KEY=VALUE" as `profile --emulate` takes them
  bool by_kernel = false;               ///< they are the kernel's limits (`--emulate-with kernel`)
  std::optional<double> cpu_quota{};    ///< one of them: part of a CPU, or of several
  std::vector<AppliedKey> keys{};
};

/// Maps every key of `scenario` for a job like that of `profile` on a machine where `usable_cpus` may be used. usage
/// error for a key or a value that cannot be applied here: the message says why, the hint what to do instead.
/// `by_kernel`: control groups limit storage and parts of CPUs, instead of the interposer.
[[nodiscard]] Result<AppliedSettings> applied_settings(const Scenario& scenario, const Profile& profile,
                                                       double usable_cpus, bool by_kernel = false);

}  // namespace stallcast
