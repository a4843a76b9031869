/// A prediction beside the run that was made to check it.
///
/// Worked example. From a run with 1 worker, workers=2 was predicted at 61 samples/s (58 to 64); the run with 2 workers
/// measured 63 (62.5 to 63.5): the intervals overlap, the prediction agrees and is 3 % low. Had the run read all files
/// from memory where the profiled one read them from storage, the two would be answers to different questions: there is
/// no verdict then, and no error.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/profile/profile.hpp"
#include "model/scenario/prediction.hpp"
#include "model/validate/applied.hpp"

namespace stallcast {

/// What the training loader of one consuming process really was; -1: not known.
struct RankSetting {
  std::int64_t num_workers = -1;
  std::int64_t fewest_workers = -1;  ///< processes that were started for one pass
  std::int64_t most_workers = -1;
  std::int64_t prefetch_factor = -1;
  std::int64_t cpus = -1;
};

enum class Verdict {
  agrees,          ///< the intervals overlap
  disagrees,       ///< they do not
  not_applied,     ///< the run did not have the scenario's settings
  not_comparable,  ///< it had, but something else differed from the profiled run
  not_measured,    ///< no rate could be measured
};

struct Verification {
  Verdict verdict = Verdict::not_measured;
  std::string words{};  ///< the verdict in a sentence, with its reason
  std::string hint{};   ///< what to do about it; may be empty
  Prediction prediction{};
  MeasuredEstimate<SamplesPerSecond> measured{};
  std::optional<double> err_frac{};  ///< predicted / measured - 1, where there is a verdict
  std::vector<AppliedKey> applied{};
  std::vector<Premise> premises{};  ///< all that was checked
  Outcome outcome{};                ///< of the run
};

/// `prediction`, made from `before`, beside the profile `run` of a run with `applied`. `ranks`: what its recordings
/// show of the loaders, independent of what was wished for.
[[nodiscard]] Verification verify(const Profile& before, const Prediction& prediction, const AppliedSettings& applied,
                                  const Profile& run, std::span<const RankSetting> ranks);

/// The run as a point of its own profile (method: verify).
[[nodiscard]] Point verified_point(const Verification& verification);

/// "agrees", "disagrees", "not_applied", "not_comparable", "not_measured".
[[nodiscard]] const char* verdict_name(Verdict verdict);

/// {"schema_version", "verdict", "agrees" (null without a verdict), "words", "hint", "predicted": {...},
/// "measured_samples_per_s" (null with "measured_absent"), "err_frac", "applied": [...], "premises": [...], "outcome"}.
[[nodiscard]] nlohmann::json to_json(const Verification& verification);

}  // namespace stallcast
