#include <cmath>

#include "core/utf8.hpp"
#include "model/predict/prediction_json.hpp"
#include "model/validate/verification.hpp"

namespace stallcast {

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::agrees:
      return "agrees";
    case Verdict::disagrees:
      return "disagrees";
    case Verdict::not_applied:
      return "not_applied";
    case Verdict::not_comparable:
      return "not_comparable";
    case Verdict::not_measured:
      return "not_measured";
  }
  return "not_measured";
}

nlohmann::json to_json(const Verification& v) {
  using nlohmann::json;
  json out{{"schema_version", k_prediction_schema_version},
           {"verdict", verdict_name(v.verdict)},
           {"agrees", v.err_frac ? json(v.verdict == Verdict::agrees) : json(nullptr)},
           {"words", valid_utf8(v.words)},
           {"hint", valid_utf8(v.hint)},
           {"predicted", to_json(v.prediction)},
           {"measured_samples_per_s", nullptr},
           {"err_frac", v.err_frac && std::isfinite(*v.err_frac) ? json(*v.err_frac) : json(nullptr)},
           {"applied", json::array()},
           {"premises", json::array()},
           {"outcome",
            {{"status", v.outcome.status},
             {"child_exit_code", v.outcome.child_exit_code},
             {"words", valid_utf8(v.outcome.words)}}}};
  if (v.measured) {
    out["measured_samples_per_s"] = {{"mean", v.measured->mean.value()},
                                     {"ci95_low", v.measured->ci95_low.value()},
                                     {"ci95_high", v.measured->ci95_high.value()},
                                     {"n", v.measured->n}};
  } else {
    out["measured_absent"] = valid_utf8(v.measured.reason());
  }
  for (const AppliedKey& key : v.applied) {
    out["applied"].push_back({{"key", key.key}, {"value", valid_utf8(key.value)}, {"how", valid_utf8(key.how)}});
  }
  for (const Premise& premise : v.premises) {
    out["premises"].push_back({{"check", premise.check},
                               {"expected", valid_utf8(premise.expected)},
                               {"seen", valid_utf8(premise.seen)},
                               {"holds", premise.holds}});
  }
  return out;
}

}  // namespace stallcast
