#include "model/recommend/recommendation_json.hpp"

#include "model/predict/prediction_json.hpp"

namespace stallcast {
namespace {

using nlohmann::json;

json gain_to_json(const Gain& gain) {
  return {{"mean", json_number(gain.mean)},
          {"ci90_low", json_number(gain.ci90_low)},
          {"ci90_high", json_number(gain.ci90_high)}};
}

json loader_to_json(const LoaderChoice& loader) {
  json out{{"num_workers", loader.workers},
           {"prefetch_factor", loader.workers > 0 ? json(loader.prefetch) : json(nullptr)},
           {"persistent_workers", loader.persistent_workers},
           {"pin_memory", nullptr}};
  if (loader.pin_memory) out["pin_memory"] = *loader.pin_memory;
  return out;
}

json remedy_to_json(const Remedy& remedy) {
  return {{"title", remedy.title},
          {"cost", remedy.cost},
          {"gain_frac", gain_to_json(remedy.gain)},
          {"prediction", to_json(remedy.prediction)}};
}

}  // namespace

json to_json(const Recommendation& recommendation) {
  json remedies = json::array();
  for (const Remedy& remedy : recommendation.remedies) remedies.push_back(remedy_to_json(remedy));
  json unanswered = json::array();
  for (const KeyAvailability& key : recommendation.unanswered) {
    unanswered.push_back({{"key", key.key}, {"reason", key.reason}, {"unlocked_by", key.unlocked_by}});
  }
  const std::string& narrowed_by = recommendation.narrowed_by;
  return {{"schema_version", k_prediction_schema_version},
          {"verdict", recommendation.verdict},
          {"change_loader", recommendation.change_loader},
          {"loader_line", recommendation.loader_line},
          {"loader_found", loader_to_json(recommendation.found)},
          {"loader", loader_to_json(recommendation.best)},
          {"gain_frac", gain_to_json(recommendation.gain)},
          {"as_found", to_json(recommendation.as_found)},
          {"predicted", to_json(recommendation.predicted)},
          {"remedies", std::move(remedies)},
          {"without_gain", recommendation.without_gain},
          {"unanswered", std::move(unanswered)},
          {"narrowed_by", narrowed_by.empty() ? json(nullptr) : json(narrowed_by)},
          {"notes", recommendation.notes}};
}

}  // namespace stallcast
