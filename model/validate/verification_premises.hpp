/// What must hold of a run before its rate may stand beside a prediction.
#pragma once

#include <span>
#include <vector>

#include "model/validate/verification.hpp"

namespace stallcast {

/// "12 %".
[[nodiscard]] std::string percent_words(double fraction);

/// That every rank had what was to be applied: its loader's own description, the worker processes that were started,
/// the CPUs that it was allowed; and that the run read from the emulated storage, which the real one kept up with. Of
/// the kernel's limits: that they stood until the end, and that all files lay on limited disks.
[[nodiscard]] std::vector<Premise> applied_premises(const AppliedSettings& applied, const Profile& run,
                                                    std::span<const RankSetting> ranks);

/// That what the scenario leaves alone was as in the profiled run: data set, batch, loader, machine, and how much came
/// from storage.
[[nodiscard]] std::vector<Premise> comparable_premises(const Profile& before, const AppliedSettings& applied,
                                                       const Profile& run, std::span<const RankSetting> ranks);

}  // namespace stallcast
