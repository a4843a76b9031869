#include "reports/html/curves.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "reports/html/sections.hpp"
#include "reports/words/escape.hpp"
#include "reports/words/finite_json.hpp"

namespace stallcast::reports {
namespace {

struct Axis {
  const char* key;
  const char* title;    ///< of the figure
  const char* x_title;  ///< with its unit
  double factor;        ///< shown = x * factor
};

constexpr std::array k_axes = {
    Axis{"workers", "Loader workers of a rank", "workers of a rank", 1.0},
    Axis{"cache", "Cache, by what it keeps", "% of the data set that the cache holds", 100.0}};
constexpr std::array k_line_tints = {"fetch", "prep", "other"};

const Axis& axis_of(const PredictionCurve& curve) {
  return curve.key == k_axes[1].key ? k_axes[1] : k_axes[0];
}

std::string x_words(const PredictionCurve& curve, double x) {
  return curve.key == "cache" ? percent(x) : number(x);
}

/// "as profiled", "recommended", both, or nothing.
std::string mark_words(const PredictionCurve& curve, double x) {
  std::string words = curve.found == x ? "as profiled" : "";
  if (curve.recommended == x) words += words.empty() ? "recommended" : ", recommended";
  return words;
}

Tags rows_of(const PredictionCurve& curve) {
  Tags rows{Tags::type::list};
  for (const CurveLine& line : curve.lines) {
    for (std::size_t i = 0; i < line.x.size() && i < line.y.size(); ++i) {
      Tags row;
      row.set("x", x_words(curve, line.x[i]));
      row.set("line", line.name);
      row.set("rate", forecast_words(line.y[i]));
      row.set("bound", bound_words(line.y[i]));
      row.set("mark", mark_words(curve, line.x[i]) + (line.y[i].extrapolated ? " (extrapolated)" : ""));
      rows.push_back(row);
    }
  }
  return rows;
}

nlohmann::json points_json(const PredictionCurve& curve, const CurveLine& line) {
  nlohmann::json points = nlohmann::json::array();
  for (std::size_t i = 0; i < line.x.size() && i < line.y.size(); ++i) {
    const Prediction& p = line.y[i];
    points.push_back(
        {{"x", finite_or_null(line.x[i] * axis_of(curve).factor)},
         {"mean", finite_or_null(p.throughput.mean.value())},
         {"low", finite_or_null(p.throughput.ci90_low.value())},
         {"high", finite_or_null(p.throughput.ci90_high.value())},
         {"label", one_line(line.name + ": " + forecast_words(p) + " samples/s, limited by " + bound_words(p))}});
  }
  return points;
}

nlohmann::json marks_json(const PredictionCurve& curve) {
  nlohmann::json marks = nlohmann::json::array();
  const double factor = axis_of(curve).factor;
  if (curve.found)
    marks.push_back({{"x", finite_or_null(*curve.found * factor)}, {"words", mark_words(curve, *curve.found)}});
  if (curve.recommended && curve.recommended != curve.found) {
    marks.push_back({{"x", finite_or_null(*curve.recommended * factor)}, {"words", "recommended"}});
  }
  return marks;
}

}  // namespace

void add_curves(const ReportData& report, Tags& page) {
  Tags curves{Tags::type::list};
  for (const PredictionCurve& curve : report.options.curves) {
    const Axis& axis = axis_of(curve);
    Tags one;
    one.set("key", std::string(axis.key));
    one.set("title", std::string(axis.title));
    one.set("x_title", std::string(axis.x_title));
    one.set("has_points", curve.absent.empty());
    one.set("reason", curve.absent);
    one.set("rows", rows_of(curve));
    curves.push_back(one);
  }
  set_list(page, "curves", curves);
}

nlohmann::json curves_json(const ReportData& report) {
  nlohmann::json curves = nlohmann::json::array();
  for (const PredictionCurve& curve : report.options.curves) {
    if (!curve.absent.empty()) continue;
    nlohmann::json lines = nlohmann::json::array();
    for (const CurveLine& line : curve.lines) {
      lines.push_back({{"name", one_line(line.name)},
                       {"tint", k_line_tints[lines.size() % k_line_tints.size()]},
                       {"points", points_json(curve, line)}});
    }
    curves.push_back({{"key", axis_of(curve).key},
                      {"x_title", axis_of(curve).x_title},
                      {"marks", marks_json(curve)},
                      {"lines", std::move(lines)}});
  }
  return curves;
}

}  // namespace stallcast::reports
