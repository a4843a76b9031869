/// The profile as it is in profile.json, with what the report adds to it: "findings" and "predictions".
#include <nlohmann/json.hpp>

#include "analyzer/profile_json.hpp"
#include "core/utf8.hpp"
#include "reports/formats.hpp"
#include "reports/predictions_json.hpp"

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
          {"verdict", valid_utf8(f.verdict)},
          {"confidence", f.confidence.word},
          {"confidence_reasons", std::move(reasons)},
          {"next", std::move(next)}};
}

}  // namespace

std::string render_json(const ReportData& data) {
  nlohmann::json root = to_json(data.profile);
  root["findings"] = findings_json(data.findings);
  root["predictions"] = predictions_json(data.predictions).at("predictions");
  return profile_text(root);
}

}  // namespace stallcast::reports
