/// The profile as it is in profile.json, with what the report adds to it: "findings", "epoch" and "predictions".
#include <nlohmann/json.hpp>

#include "analyzer/profile/json.hpp"
#include "core/utf8.hpp"
#include "reports/export/predictions_json.hpp"
#include "reports/findings/report_data.hpp"

namespace stallcast::reports {
namespace {

nlohmann::json findings_json(const Findings& f) {
  nlohmann::json next = nlohmann::json::array();
  for (const NextStep& step : f.next) {
    next.push_back({{"title", valid_utf8(step.title)}, {"why", valid_utf8(step.why)}});
  }
  nlohmann::json reasons = nlohmann::json::array();
  for (const std::string& reason : f.confidence.reasons) reasons.push_back(valid_utf8(reason));
  return {{"level", level_name(f.level)},
          {"state", f.breakdowns.empty() ? nlohmann::json(nullptr) : nlohmann::json(f.breakdowns.front().state)},
          {"verdict", valid_utf8(f.verdict)},
          {"confidence", f.confidence.word},
          {"confidence_reasons", std::move(reasons)},
          {"next", std::move(next)}};
}

template <class Value>
nlohmann::json estimate_json(const Estimate<Value>& e) {
  const auto plain = [](const auto& value) {
    if constexpr (requires { value.value(); }) {
      return value.value();
    } else {
      return value;
    }
  };
  return {{"mean", plain(e.mean)}, {"ci95_low", plain(e.ci95_low)}, {"ci95_high", plain(e.ci95_high)}, {"n", e.n}};
}

nlohmann::json part_json(const EpochPart& part) {
  return {{"part", part.key},
          {"time_s", estimate_json(part.time)},
          {"cost", part.cost ? estimate_json(*part.cost) : nlohmann::json(nullptr)}};
}

/// Costs are in `currency`, of all machines; null where no price was given, which "absent" says.
nlohmann::json epoch_json(const Epochs& epochs) {
  nlohmann::json passes = nlohmann::json::array();
  for (const Epoch& epoch : epochs.passes) {
    nlohmann::json parts = nlohmann::json::array();
    for (const EpochPart& part : epoch.parts) parts.push_back(part_json(part));
    passes.push_back({{"state", epoch.state},
                      {"parts", std::move(parts)},
                      {"lost", epoch.lost ? part_json(*epoch.lost) : nlohmann::json(nullptr)},
                      {"whole", part_json(epoch.whole)}});
  }
  nlohmann::json absent = nlohmann::json::object();
  if (!epochs.no_copy.empty()) absent["copy_to_device"] = epochs.no_copy;
  if (!epochs.absent.empty()) absent["passes"] = valid_utf8(epochs.absent);
  if (!epochs.price) absent["cost"] = "no price was given (--price)";
  nlohmann::json result = {{"samples", epochs.samples > 0 ? nlohmann::json(epochs.samples) : nlohmann::json(nullptr)},
                           {"machines", epochs.machines},
                           {"passes", std::move(passes)},
                           {"absent", std::move(absent)}};
  result["price_per_machine_hour"] =
      epochs.price ? nlohmann::json(epochs.price->per_machine_hour) : nlohmann::json(nullptr);
  result["currency"] = epochs.price ? nlohmann::json(valid_utf8(epochs.price->currency)) : nlohmann::json(nullptr);
  return result;
}

}  // namespace

std::string render_json(const ReportData& data) {
  nlohmann::json root = to_json(data.profile);
  root["findings"] = findings_json(data.findings);
  root["epoch"] = epoch_json(data.epochs);
  root["predictions"] = predictions_json(data.predictions).at("predictions");
  return profile_text(root);
}

}  // namespace stallcast::reports
