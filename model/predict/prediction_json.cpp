#include "model/predict/prediction_json.hpp"

#include <cmath>

#include "core/utf8.hpp"

namespace stallcast {
namespace {

using nlohmann::json;

json epoch_to_json(const SimulatedEpoch& epoch) {
  return {{"duration_s", json_number(epoch.duration.value())}, {"step_mean_s", json_number(epoch.step_mean.value())},
          {"step_p50_s", json_number(epoch.step_p50.value())}, {"step_p99_s", json_number(epoch.step_p99.value())},
          {"waiting_frac", json_number(epoch.waiting)},        {"straggling_frac", json_number(epoch.straggling)},
          {"from_own_memory_frac", json_number(epoch.local)},  {"from_other_nodes_frac", json_number(epoch.remote)},
          {"from_storage_frac", json_number(epoch.storage)},   {"bound", epoch.bound}};
}

json simulation_to_json(const SimulatedCluster& simulation) {
  json epochs = json::array();
  for (const SimulatedEpoch& epoch : simulation.epochs) epochs.push_back(epoch_to_json(epoch));
  json loads = json::object();
  for (const SimulatedLoad& load : simulation.loads) loads[load.name + "_busy_frac"] = json_number(load.busy);
  return {{"nodes", simulation.nodes},
          {"ranks", simulation.ranks},
          {"steps_per_epoch", simulation.steps},
          {"seed", simulation.seed},
          {"throughput_samples_per_s", json_number(simulation.throughput.value())},
          {"judged_epoch", simulation.judged + 1},
          {"within_ci90", simulation.within_interval},
          {"epochs", std::move(epochs)},
          {"imbalance",
           {{"least_waiting_node_frac", json_number(simulation.least_waiting)},
            {"most_waiting_node_frac", json_number(simulation.most_waiting)},
            {"most_often_last_node_frac", json_number(simulation.most_last)}}},
          {"busy", std::move(loads)},
          {"lost_node", simulation.lost_node},
          {"notes", simulation.notes}};
}

}  // namespace

json json_number(double value) {
  return std::isfinite(value) ? json(value) : json(nullptr);
}

json to_json(const Prediction& prediction) {
  json scenario = json::object();
  for (const ScenarioItem& item : prediction.scenario) scenario[valid_utf8(item.key)] = valid_utf8(item.value);
  const auto& rate = prediction.throughput;
  json out{{"scenario", std::move(scenario)},
           {"throughput_samples_per_s",
            {{"mean", json_number(rate.mean.value())},
             {"ci90_low", json_number(rate.ci90_low.value())},
             {"ci90_high", json_number(rate.ci90_high.value())}}},
           {"step_s", json_number(prediction.step.value())},
           {"epoch_s", prediction.epoch ? json_number(prediction.epoch->value()) : json(nullptr)},
           {"stall_frac", json_number(prediction.stall)},
           {"bound", prediction.bound},
           {"next_bound", prediction.next_bound},
           {"headroom_frac", json_number(prediction.headroom)},
           {"extrapolated", prediction.extrapolated},
           {"notes", prediction.notes}};
  if (prediction.first_epoch) {
    const Measured<Seconds>& first = *prediction.first_epoch;
    out["first_epoch_s"] = first ? json_number(first->value()) : json(nullptr);
    if (!first) out["first_epoch_absent"] = first.reason();
  }
  if (!prediction.epoch) out["epoch_absent"] = prediction.epoch.reason();
  if (prediction.simulation) out["simulation"] = simulation_to_json(*prediction.simulation);
  return out;
}

json predictions_to_json(std::span<const Prediction> predictions) {
  json list = json::array();
  for (const Prediction& prediction : predictions) list.push_back(to_json(prediction));
  return {{"schema_version", k_prediction_schema_version}, {"predictions", std::move(list)}};
}

}  // namespace stallcast
