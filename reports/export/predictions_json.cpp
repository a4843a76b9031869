#include "reports/export/predictions_json.hpp"

#include <cmath>

#include "core/utf8.hpp"
#include "reports/words/finite_json.hpp"

namespace stallcast {
namespace {

nlohmann::json one(const Prediction& p) {
  nlohmann::json scenario = nlohmann::json::object();
  for (const ScenarioItem& item : p.scenario) scenario[valid_utf8(item.key)] = valid_utf8(item.value);
  nlohmann::json notes = nlohmann::json::array();
  for (const std::string& note : p.notes) notes.push_back(valid_utf8(note));
  nlohmann::json result = {{"scenario", std::move(scenario)},
                           {"throughput_samples_per_s",
                            {{"mean", reports::finite_or_null(p.throughput.mean.value())},
                             {"ci90_low", reports::finite_or_null(p.throughput.ci90_low.value())},
                             {"ci90_high", reports::finite_or_null(p.throughput.ci90_high.value())}}},
                           {"step_s", reports::finite_or_null(p.step.value())},
                           {"epoch_s", p.epoch ? reports::finite_or_null(p.epoch->value()) : nlohmann::json(nullptr)},
                           {"stall_frac", reports::finite_or_null(p.stall)},
                           {"bound", valid_utf8(p.bound)},
                           {"next_bound", valid_utf8(p.next_bound)},
                           {"headroom_frac", reports::finite_or_null(p.headroom)},
                           {"extrapolated", p.extrapolated},
                           {"notes", std::move(notes)}};
  if (p.first_epoch) {
    const Measured<Seconds>& first = *p.first_epoch;
    result["first_epoch_s"] = first ? reports::finite_or_null(first->value()) : nlohmann::json(nullptr);
    if (!first) result["first_epoch_absent"] = valid_utf8(first.reason());
  }
  if (!p.epoch) result["epoch_absent"] = valid_utf8(p.epoch.reason());
  return result;
}

}  // namespace

nlohmann::json predictions_json(std::span<const Prediction> predictions) {
  nlohmann::json list = nlohmann::json::array();
  for (const Prediction& prediction : predictions) list.push_back(one(prediction));
  return {{"schema_version", k_predictions_schema_version}, {"predictions", std::move(list)}};
}

}  // namespace stallcast
