#include "reports/html/whatif.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "reports/html/sections.hpp"
#include "reports/words/escape.hpp"

namespace stallcast::reports {
namespace {

const char* axis_name(const std::string& key) {
  constexpr std::array<std::pair<std::string_view, const char*>, 6> k_names = {
      {{"cache", "Data in the page cache"},
       {"storage_bandwidth", "Storage bandwidth"},
       {"workers", "Loader workers of a rank"},
       {"cpus", "CPU cores"},
       {"gpu_speedup", "Speed of the accelerator"},
       {"nodes", "Nodes like this one"}}};
  for (const auto& [known, name] : k_names) {
    if (key == known) return name;
  }
  return key.c_str();
}

std::string epoch_words(const Prediction& p) {
  return p.epoch ? duration(*p.epoch) : "not known: " + p.epoch.reason();
}

/// The point at `place` of one axis with every other as profiled.
const Prediction& single(const PredictionGrid& grid, std::size_t axis, std::size_t place) {
  std::size_t combination = 0;
  for (std::size_t i = 0; i < grid.axes.size(); ++i) {
    combination = combination * grid.axes[i].values.size() + (i == axis ? place : grid.axes[i].found);
  }
  return grid.points[grid.index[combination]];
}

Tags single_data(const Prediction& p) {
  Tags row;
  row.set("scenario", scenario_words(p));
  row.set("rate", forecast_words(p));
  row.set("stall", percent(p.stall));
  row.set("epoch", epoch_words(p));
  row.set("bound", bound_words(p));
  return row;
}

Tags singles_data(const PredictionGrid& grid) {
  Tags rows{Tags::type::list};
  if (grid.axes.empty()) return rows;
  rows.push_back(single_data(single(grid, 0, grid.axes.front().found)));
  for (std::size_t i = 0; i < grid.axes.size(); ++i) {
    for (std::size_t place = 0; place < grid.axes[i].values.size(); ++place) {
      if (place != grid.axes[i].found) rows.push_back(single_data(single(grid, i, place)));
    }
  }
  return rows;
}

Tags axes_data(const PredictionGrid& grid) {
  Tags rows{Tags::type::list};
  for (const GridAxis& axis : grid.axes) {
    Tags row;
    row.set("key", axis.key);
    row.set("name", axis_name(axis.key));
    row.set("last", std::to_string(axis.values.size() - 1));
    row.set("found", std::to_string(axis.found));
    row.set("found_label", axis.labels[axis.found]);
    rows.push_back(row);
  }
  return rows;
}

/// Six digits are more than a prediction has, and keep the page small.
double short_number(double value) {
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

std::string gain_words(const Prediction& p, const Prediction& found) {
  const double ratio = p.throughput.mean.value() / found.throughput.mean.value();
  return p.scenario.empty() ? "the same run" : fmt::format("{:.2f} times the rate", ratio);
}

/// Where `text` stands among `known`; it is added if it is new.
std::size_t place_of(const std::string& text, std::vector<std::string>& known) {
  const auto found = std::find(known.begin(), known.end(), text);
  const auto place = static_cast<std::size_t>(found - known.begin());
  if (found == known.end()) known.push_back(text);
  return place;
}

/// One list for each thing that is told of a point: names that are repeated a thousand times make a page large.
void add_point(const Prediction& p, const Prediction& found, std::vector<std::string>& texts, nlohmann::json& columns) {
  nlohmann::json notes = nlohmann::json::array();
  for (const std::string& note : prediction_notes(p)) notes.push_back(place_of(note, texts));
  std::string set;
  for (const ScenarioItem& item : p.scenario) set += (set.empty() ? " --set " : " ") + item.key + "=" + item.value;
  columns["mean"].push_back(short_number(p.throughput.mean.value()));
  columns["low"].push_back(short_number(p.throughput.ci90_low.value()));
  columns["high"].push_back(short_number(p.throughput.ci90_high.value()));
  columns["stall_frac"].push_back(short_number(p.stall));
  columns["rate"].push_back(forecast_words(p));
  columns["gain"].push_back(gain_words(p, found));
  columns["stall"].push_back(percent(p.stall));
  columns["time"].push_back(duration(p.step) + ", " + epoch_words(p));
  columns["bound"].push_back(place_of(bound_words(p), texts));
  columns["set"].push_back(set);
  columns["notes"].push_back(std::move(notes));
}

nlohmann::json lines_json(const std::vector<std::string>& texts) {
  nlohmann::json list = nlohmann::json::array();
  for (const std::string& text : texts) list.push_back(one_line(text));
  return list;
}

}  // namespace

void add_whatif(const ReportData& report, Tags& page) {
  const auto& grid = report.options.grid;
  page.set("has_whatif", grid.has_value() || !report.options.no_grid.empty());
  page.set("has_grid", grid.has_value());
  page.set("no_grid", report.options.no_grid);
  if (!grid) return;
  page.set("axes", axes_data(*grid));
  page.set("singles", singles_data(*grid));
  Tags gaps{Tags::type::list};
  for (const GridGap& gap : grid->gaps) {
    Tags row;
    row.set("key", gap.key);
    row.set("reason", gap.reason);
    gaps.push_back(row);
  }
  page.set("gaps", gaps);
}

nlohmann::json grid_json(const ReportData& report) {
  if (!report.options.grid || report.options.grid->axes.empty()) return nullptr;
  const PredictionGrid& grid = *report.options.grid;
  nlohmann::json axes = nlohmann::json::array();
  for (const GridAxis& axis : grid.axes) {
    axes.push_back({{"key", axis.key},
                    {"values", lines_json(axis.values)},
                    {"labels", lines_json(axis.labels)},
                    {"found", axis.found}});
  }
  std::vector<std::string> texts;
  nlohmann::json points = nlohmann::json::object();
  const Prediction& found = single(grid, 0, grid.axes.front().found);
  for (const Prediction& p : grid.points) add_point(p, found, texts, points);
  const std::string& path = report.options.profile_path;
  return {{"axes", std::move(axes)},
          {"points", std::move(points)},
          {"index", grid.index},
          {"texts", lines_json(texts)},
          {"command", "stallcast whatif " + one_line(shell_words({path.empty() ? "PROFILE" : path}))}};
}

}  // namespace stallcast::reports
