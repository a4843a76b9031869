#include "reports/plan/charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "reports/findings/report_data.hpp"
#include "reports/plan/constants.hpp"
#include "reports/words/escape.hpp"
#include "reports/words/finite_json.hpp"
#include "reports/words/format.hpp"

namespace stallcast::reports {
namespace {

using nlohmann::json;

constexpr std::array k_tints = {"fetch", "prep", "other", "compute", "wait", "copy"};
static_assert(k_tints.size() >= k_most_curves);

/// The range of one axis of the front.
struct Extent {
  double low = 0.0;
  double high = 0.0;
  bool log = false;
};

Extent extent_of(const std::vector<ShownOption>& shown, double factor, double (*low)(const PlanOption&),
                 double (*high)(const PlanOption&), std::optional<double> target) {
  Extent extent{INFINITY, -INFINITY, false};
  for (const ShownOption& one : shown) {
    for (const double end : {low(*one.option) * factor, high(*one.option) * factor}) {
      if (!std::isfinite(end)) continue;
      extent.low = std::min(extent.low, end);
      extent.high = std::max(extent.high, end);
    }
  }
  if (target && *target<extent.high * k_target_near&& * target> extent.low / k_target_near) {
    extent.low = std::min(extent.low, *target);
    extent.high = std::max(extent.high, *target);
  }
  extent.log = extent.low > 0.0 && extent.high > k_log_axis_from * extent.low;
  const double pad = extent.high > 0.0 ? std::max(0.08 * (extent.high - extent.low), 0.02 * extent.high) : 1.0;
  return extent.log ? Extent{extent.low / 1.3, extent.high * 1.3, true}
                    : Extent{std::max(0.0, extent.low - pad), extent.high + pad, false};
}

json axis_json(const std::string& title, const Extent& extent) {
  return {
      {"title", title}, {"min", finite_or_null(extent.low)}, {"max", finite_or_null(extent.high)}, {"log", extent.log}};
}

struct Group {
  const char* name;
  const char* shape;  ///< of Chart.js
  const char* tint;
  bool hollow;
};

constexpr std::array k_groups = {Group{"on the front", "circle", "fetch", false},
                                 Group{"on the front, an upper bound of the rate", "circle", "fetch", true},
                                 Group{"the choice", "rectRot", "compute", false},
                                 Group{"the choice, an upper bound of the rate", "rectRot", "compute", true},
                                 Group{"the nearest", "triangle", "wait", false},
                                 Group{"the nearest, an upper bound of the rate", "triangle", "wait", true}};

std::size_t group_of(const ShownOption& one) {
  return (one.choice ? 2U : one.nearest ? 4U : 0U) + (one.option->upper_bound ? 1U : 0U);
}

json point_json(const PlanOption& o, std::size_t number, const Scale& scale, const Catalog& catalog) {
  return {{"x", finite_or_null(o.time.mean.value() * scale.factor)},
          {"y", finite_or_null(o.cost.mean)},
          {"x_low", finite_or_null(o.time.ci90_low.value() * scale.factor)},
          {"y_low", finite_or_null(o.cost.ci90_low)},
          {"x_high", finite_or_null(o.time.ci90_high.value() * scale.factor)},
          {"y_high", finite_or_null(o.cost.ci90_high)},
          {"number", number},
          {"label", configuration_words(o) + ": " + time_words(o) + ", " + cost_words(o, catalog)}};
}

json groups_json(const std::vector<ShownOption>& shown, const Scale& scale, const Catalog& catalog) {
  json groups = json::array();
  for (std::size_t group = 0; group < k_groups.size(); ++group) {
    json points = json::array();
    for (std::size_t i = 0; i < shown.size(); ++i) {
      if (group_of(shown[i]) == group) points.push_back(point_json(*shown[i].option, i + 1, scale, catalog));
    }
    if (points.empty()) continue;
    const Group& g = k_groups[group];
    groups.push_back(
        {{"name", g.name}, {"shape", g.shape}, {"tint", g.tint}, {"hollow", g.hollow}, {"points", points}});
  }
  return groups;
}

json targets_json(const PlanTarget& target, const Scale& scale, const Extent& x, const Extent& y) {
  json targets = json::array();
  const auto add = [&](const char* axis, double at, const Extent& extent, const std::string& words) {
    if (at >= extent.low && at <= extent.high) targets.push_back({{axis, at}, {"words", "target " + words}});
  };
  if (target.time) add("x", target.time->value() * scale.factor, x, duration(*target.time));
  if (target.cost) add("y", *target.cost, y, as_given(*target.cost));
  return targets;
}

json front_json(const PlanData& data) {
  const std::vector<ShownOption> shown = shown_options(data.plan);
  const auto seconds = [](const PlanOption* option) { return option->time.mean.value(); };
  const double middle = std::sqrt(seconds(shown.front().option) * seconds(shown.back().option));
  const Scale scale = time_scale(std::isfinite(middle) ? middle : 0.0);
  std::optional<double> time_target;
  if (data.target.time) time_target = data.target.time->value() * scale.factor;
  const Extent x = extent_of(
      shown, scale.factor, [](const PlanOption& o) { return o.time.ci90_low.value(); },
      [](const PlanOption& o) { return o.time.ci90_high.value(); }, time_target);
  const Extent y = extent_of(
      shown, 1.0, [](const PlanOption& o) { return o.cost.ci90_low; },
      [](const PlanOption& o) { return o.cost.ci90_high; }, data.target.cost);
  const std::string currency = currency_word(data.catalog);
  return {{"x", axis_json("time of " + epochs_words(data.target) + ", " + scale.unit, x)},
          {"y", axis_json("cost" + (currency.empty() ? "" : ", " + currency), y)},
          {"groups", groups_json(shown, scale, data.catalog)},
          {"targets", targets_json(data.target, scale, x, y)}};
}

json lines_json(const PlanData& data, ScalingLine PlanCurve::*which, bool& log) {
  json lines = json::array();
  for (std::size_t i = 0; i < data.plan.curves.size(); ++i) {
    const PlanCurve& curve = data.plan.curves[i];
    const std::vector<PlanOption>& points = (curve.*which).points;
    if (points.size() < 2) continue;
    json drawn = json::array();
    for (const PlanOption& at : points) {
      const auto& rate = at.prediction.throughput;
      drawn.push_back({{"x", at.nodes},
                       {"mean", finite_or_null(rate.mean.value())},
                       {"low", finite_or_null(rate.ci90_low.value())},
                       {"high", finite_or_null(rate.ci90_high.value())},
                       {"label", one_line(machine_words(curve.machine) + ", " + scaling_words(points.front(), at))}});
      log = log || at.nodes > k_log_axis_nodes;
    }
    // The tint is the machine's, whatever other lines there are.
    lines.push_back({{"name", machine_words(curve.machine)}, {"tint", k_tints[i]}, {"points", std::move(drawn)}});
  }
  return lines;
}

void add_curve(const PlanData& data, const char* key, ScalingLine PlanCurve::*which, json& curves) {
  bool log = false;
  json lines = lines_json(data, which, log);
  if (lines.empty()) return;
  curves.push_back({{"key", key}, {"x_title", "nodes"}, {"log", log}, {"marks", json::array()}, {"lines", lines}});
}

}  // namespace

double share_of_perfect(const PlanOption& first, const PlanOption& point) {
  const auto rate_of_node = [](const PlanOption& o) { return o.prediction.throughput.mean.value() / o.nodes; };
  return rate_of_node(point) / rate_of_node(first);
}

std::string scaling_words(const PlanOption& first, const PlanOption& point) {
  return plural(point.nodes, "node") + ": " + forecast_words(point.prediction) + " samples/s, " +
         percent(share_of_perfect(first, point)) + " of perfect scaling, limited by " + bound_words(point.prediction) +
         (point.upper_bound ? ", an upper bound" : "");
}

std::string plan_chart_json(const PlanData& data) {
  json root{{"stretches", json::array()}, {"timeline", json::array()}, {"distributions", json::array()}};
  root["front"] = front_json(data);
  root["curves"] = json::array();
  add_curve(data, "weak", &PlanCurve::weak, root["curves"]);
  add_curve(data, "strong", &PlanCurve::strong, root["curves"]);
  return script_json(root.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace stallcast::reports
