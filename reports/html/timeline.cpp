#include "reports/html/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "reports/html/constants.hpp"
#include "reports/html/sections.hpp"
#include "reports/words/escape.hpp"
#include "reports/words/format.hpp"

namespace stallcast::reports {
namespace {

TimelineRow joined(const TimelineRow& a, const TimelineRow& b, bool keep_phase) {
  return {a.begin_s,
          b.end_s,
          a.steps + b.steps,
          a.wait_s + b.wait_s,
          std::max(a.longest_wait_s, b.longest_wait_s),
          keep_phase || a.phase == b.phase ? a.phase : "several",
          std::max(a.longest_step_s, b.longest_step_s)};
}

std::vector<TimelineRow> grouped(const std::vector<TimelineRow>& rows, std::size_t most, bool keep_phases) {
  std::vector<TimelineRow> result;
  const std::size_t group = (rows.size() + most - 1) / std::max<std::size_t>(1, most);
  std::size_t in_group = 0;
  for (const TimelineRow& row : rows) {
    if (in_group > 0 && in_group < group && (!keep_phases || result.back().phase == row.phase)) {
      result.back() = joined(result.back(), row, keep_phases);
      ++in_group;
    } else {
      result.push_back(row);
      in_group = 1;
    }
  }
  return result;
}

bool drawable(const TimelineRow& row) {
  return std::isfinite(row.begin_s) && std::isfinite(row.end_s) && row.end_s >= row.begin_s;
}

/// Mean time of a step of the row, in seconds.
double step_s(const TimelineRow& row) {
  return (row.end_s - row.begin_s) / static_cast<double>(std::max<std::int64_t>(1, row.steps));
}

double longest_s(const TimelineRow& row) {
  return std::max(step_s(row), std::isfinite(row.longest_step_s) ? row.longest_step_s : 0.0);
}

std::vector<TimelineRow> drawn_rows(const Profile& p) {
  std::vector<TimelineRow> rows;
  std::copy_if(p.timeline.begin(), p.timeline.end(), std::back_inserter(rows), drawable);
  return rows.size() > k_timeline_chart_rows ? coarse_timeline(rows, k_timeline_chart_rows) : rows;
}

/// Seconds at which the chart ends: above nearly all steps, and not so far that a single one flattens the rest.
double top_s(const std::vector<TimelineRow>& rows) {
  std::vector<double> steps;
  double longest = 0.0;
  for (const TimelineRow& row : rows) {
    steps.push_back(step_s(row));
    longest = std::max(longest, longest_s(row));
  }
  if (steps.empty()) return 0.0;
  const auto place = static_cast<std::ptrdiff_t>(k_most_of_steps * static_cast<double>(steps.size() - 1));
  std::nth_element(steps.begin(), steps.begin() + place, steps.end());
  const double usual = steps[static_cast<std::size_t>(place)];
  return 1.05 * (usual > 0.0 ? std::min(longest, k_chart_headroom * usual) : longest);
}

/// The stretches of the profile; for one that has none but knows of phases, runs of rows of one phase.
std::vector<PhaseStretch> stretches_of(const Profile& p, const std::vector<TimelineRow>& rows) {
  std::vector<PhaseStretch> result;
  for (const PhaseStretch& stretch : p.phases) {
    if (std::isfinite(stretch.begin_s) && std::isfinite(stretch.end_s)) result.push_back(stretch);
  }
  if (!result.empty()) return result;
  for (const TimelineRow& row : rows) {
    if (!result.empty() && result.back().phase == row.phase) {
      result.back().end_s = row.end_s;
    } else {
      result.push_back({row.phase, 0, row.begin_s, row.end_s, ""});
    }
  }
  if (result.size() < 2) result.clear();
  return result;
}

const char* tint_of(std::string_view phase) {
  if (phase.ends_with("cold")) return "fetch";
  if (phase.ends_with("half_cached")) return "other";
  if (phase.ends_with("cached")) return "prep";
  if (phase == "synthetic") return "compute";
  return phase == "as_is" ? "none" : "other";
}

nlohmann::json row_json(const TimelineRow& row, const Scale& scale) {
  const Fraction share = wait_share(row);
  const std::string steps = row.steps > 1 ? fmt::format(" a step on average of {}, the longest {}", row.steps,
                                                        duration(Seconds(longest_s(row))))
                                          : std::string(" a step");
  return {{"from", row.begin_s},
          {"to", row.end_s},
          {"step", step_s(row) * scale.factor},
          {"longest", longest_s(row) * scale.factor},
          {"wait", step_s(row) * share * scale.factor},
          {"percent", share * percent_scale().factor},
          {"phase", one_line(row.phase)},
          {"title", fmt::format("{} to {}", duration(Seconds(row.begin_s)), duration(Seconds(row.end_s)))},
          {"label", fmt::format("{}{}; {} of it waiting, longest wait {}", duration(Seconds(step_s(row))), steps,
                                percent(share), duration(Seconds(row.longest_wait_s)))}};
}

Tags table_data(const Profile& p) {
  Tags rows{Tags::type::list};
  for (const TimelineRow& row : coarse_timeline(p.timeline, k_timeline_table_rows)) {
    Tags one;
    one.set("from", duration(Seconds(row.begin_s)));
    one.set("to", duration(Seconds(row.end_s)));
    one.set("phase", row.phase);
    one.set("steps", count(row.steps));
    one.set("step", drawable(row) ? duration(Seconds(step_s(row))) : "n/a");
    one.set("wait", percent(wait_share(row)));
    one.set("longest", duration(Seconds(row.longest_wait_s)));
    rows.push_back(one);
  }
  return rows;
}

Tags stretches_data(const Profile& p) {
  Tags rows{Tags::type::list};
  for (std::size_t i = 0; i < std::min(p.phases.size(), k_listed_stretches); ++i) {
    const PhaseStretch& stretch = p.phases[i];
    Tags one;
    one.set("phase", stretch.phase);
    one.set("round", count(stretch.round));
    one.set("from", duration(Seconds(stretch.begin_s)));
    one.set("to", duration(Seconds(stretch.end_s)));
    one.set("counts", stretch.left_out.empty() ? "yes" : "no: " + stretch.left_out);
    rows.push_back(one);
  }
  return rows;
}

/// A swatch for each phase that is shaded.
Tags legend_data(const std::vector<PhaseStretch>& stretches) {
  Tags rows{Tags::type::list};
  std::vector<std::string> seen;
  for (const PhaseStretch& stretch : stretches) {
    const bool known = std::find(seen.begin(), seen.end(), stretch.phase) != seen.end();
    if (known || seen.size() >= 12 || std::string_view(tint_of(stretch.phase)) == "none") continue;
    seen.push_back(stretch.phase);
    Tags one;
    one.set("tint", std::string(tint_of(stretch.phase)));
    one.set("phase", stretch.phase);
    rows.push_back(one);
  }
  return rows;
}

}  // namespace

Fraction wait_share(const TimelineRow& row) {
  const double length = row.end_s - row.begin_s;
  return length > 0.0 && std::isfinite(length) && std::isfinite(row.wait_s) ? std::clamp(row.wait_s / length, 0.0, 1.0)
                                                                            : 0.0;
}

std::vector<TimelineRow> coarse_timeline(const std::vector<TimelineRow>& rows, std::size_t most) {
  std::vector<TimelineRow> result = grouped(rows, most, true);
  return result.size() > 4 * most ? grouped(rows, most, false) : result;
}

void add_timeline(const Profile& p, Tags& page) {
  const std::vector<TimelineRow> rows = drawn_rows(p);
  set_list(page, "timeline", table_data(p));
  set_list(page, "stretches", stretches_data(p));
  set_list(page, "tints", legend_data(stretches_of(p, rows)));
  const std::size_t left = p.phases.size() > k_listed_stretches ? p.phases.size() - k_listed_stretches : 0;
  page.set("more_stretches", left > 0 ? fmt::format("and {} more", left) : "");
  double longest = 0.0;
  for (const TimelineRow& row : rows) longest = std::max(longest, longest_s(row));
  const bool cut = longest > top_s(rows);
  page.set("has_timeline_note", cut);
  page.set(
      "timeline_note",
      cut ? "The longest step took " + duration(Seconds(longest)) + ": beyond the top of the chart." : std::string());
}

nlohmann::json timeline_json(const Profile& p) {
  const std::vector<TimelineRow> drawn = drawn_rows(p);
  const double top = top_s(drawn);
  const Scale scale = time_scale(top);
  nlohmann::json rows = nlohmann::json::array();
  for (const TimelineRow& row : drawn) rows.push_back(row_json(row, scale));
  nlohmann::json stretches = nlohmann::json::array();
  for (const PhaseStretch& stretch : stretches_of(p, drawn)) {
    if (stretches.size() >= k_most_drawn_stretches) break;
    stretches.push_back({{"from", stretch.begin_s},
                         {"to", stretch.end_s},
                         {"phase", one_line(stretch.phase)},
                         {"counts", stretch.left_out.empty()},
                         {"tint", tint_of(stretch.phase)}});
  }
  return {{"timeline", std::move(rows)},
          {"timeline_top", top * scale.factor},
          {"timeline_unit", scale.unit},
          {"stretches", std::move(stretches)}};
}

}  // namespace stallcast::reports
