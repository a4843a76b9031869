#include "model/plan/json.hpp"

#include "model/predict/prediction_json.hpp"

namespace stallcast {
namespace {

using nlohmann::json;

json forecast(double mean, double low, double high) {
  return {{"mean", json_number(mean)}, {"ci90_low", json_number(low)}, {"ci90_high", json_number(high)}};
}

json rate_of(const Prediction& prediction) {
  const auto& rate = prediction.throughput;
  return forecast(rate.mean.value(), rate.ci90_low.value(), rate.ci90_high.value());
}

/// Without the scenario and its notes: there are many points.
json point_to_json(const PlanOption& option) {
  return {{"nodes", option.nodes},
          {"workers", option.workers},
          {"data", option.data},
          {"throughput_samples_per_s", rate_of(option.prediction)},
          {"bound", option.prediction.bound},
          {"next_bound", option.prediction.next_bound},
          {"extrapolated", option.prediction.extrapolated},
          {"upper_bound", option.upper_bound}};
}

json line_to_json(const ScalingLine& line) {
  json points = json::array();
  for (const PlanOption& option : line.points) points.push_back(point_to_json(option));
  return {{"points", std::move(points)},
          {"worth_nodes", line.worth_nodes ? json(*line.worth_nodes) : json(nullptr)},
          {"stops", line.stops}};
}

json option_to_json(const PlanOption& option) {
  return {{"machine", option.machine},
          {"nodes", option.nodes},
          {"workers", option.workers},
          {"data", option.data},
          {"time_s", forecast(option.time.mean.value(), option.time.ci90_low.value(), option.time.ci90_high.value())},
          {"cost", forecast(option.cost.mean, option.cost.ci90_low, option.cost.ci90_high)},
          {"upper_bound", option.upper_bound},
          {"meets", option.meets},
          {"meets_surely", option.meets_surely},
          {"prediction", to_json(option.prediction)}};
}

}  // namespace

json plan_to_json(const Plan& plan, const Catalog& catalog) {
  json front = json::array();
  for (const PlanOption& option : plan.front) front.push_back(option_to_json(option));
  json curves = json::array();
  for (const PlanCurve& curve : plan.curves) {
    curves.push_back(
        {{"machine", curve.machine}, {"weak", line_to_json(curve.weak)}, {"strong", line_to_json(curve.strong)}});
  }
  return {{"schema_version", k_prediction_schema_version},
          {"currency", catalog.currency},
          {"verdict", plan.verdict},
          {"choice", plan.choice ? option_to_json(*plan.choice) : json(nullptr)},
          {"nearest", plan.nearest ? option_to_json(*plan.nearest) : json(nullptr)},
          {"front", std::move(front)},
          {"buy_next", plan.buy_next},
          {"hangs_on", plan.hangs_on},
          {"curves", std::move(curves)},
          {"curves_left_out", plan.curves_left_out},
          {"candidates", plan.candidates},
          {"left_out", plan.left_out},
          {"notes", plan.notes}};
}

}  // namespace stallcast
