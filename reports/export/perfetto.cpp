/// A Chrome trace (https://ui.perfetto.dev opens it): the steps of each timeline row, and its waiting.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/utf8.hpp"
#include "reports/findings/report_data.hpp"

namespace stallcast::reports {
namespace {

constexpr int k_pid = 1;
constexpr int k_step_track = 1;
constexpr int k_wait_track = 2;
constexpr double k_us = 1e6;  ///< the format counts in microseconds

nlohmann::json named(const char* what, int track, const std::string& name) {
  return {{"ph", "M"}, {"pid", k_pid}, {"tid", track}, {"name", what}, {"args", {{"name", name}}}};
}

nlohmann::json slice(const std::string& name, int track, double begin_s, double length_s,
                     const nlohmann::json& arguments) {
  return {{"ph", "X"},        {"pid", k_pid},         {"tid", track},
          {"name", name},     {"ts", begin_s * k_us}, {"dur", length_s * k_us},
          {"args", arguments}};
}

void add_row(const TimelineRow& row, nlohmann::json& events) {
  const double length = row.end_s - row.begin_s;
  if (!std::isfinite(row.begin_s) || !(length > 0.0) || !std::isfinite(length)) return;
  const double wait = std::clamp(row.wait_s, 0.0, length);
  const std::string phase = valid_utf8(row.phase);
  events.push_back(slice(plural(row.steps, "step") + " " + phase, k_step_track, row.begin_s, length,
                         {{"steps", row.steps}, {"phase", phase}, {"wait_s", row.wait_s}}));
  if (wait > 0.0) {
    // Where in the row the waits lay is not kept: their sum is drawn from its beginning.
    events.push_back(slice("waiting, summed over the row", k_wait_track, row.begin_s, wait,
                           {{"wait_s", row.wait_s}, {"longest_wait_s", row.longest_wait_s}}));
  }
  events.push_back({{"ph", "C"},
                    {"pid", k_pid},
                    {"name", "share of time waiting for data"},
                    {"ts", row.begin_s * k_us},
                    {"args", {{"frac", wait / length}}}});
}

nlohmann::json summary(const ReportData& data) {
  nlohmann::json result = {{"verdict", valid_utf8(data.findings.verdict)}, {"level", level_name(data.findings.level)}};
  if (const auto* wait = usable(data.profile.stalls.as_is_wait)) result["as_is_wait_frac"] = wait->mean;
  if (const auto* speed = usable(data.profile.rates.as_is)) result["as_is_samples_per_s"] = speed->mean.value();
  return result;
}

}  // namespace

std::string render_perfetto(const ReportData& data) {
  nlohmann::json events = nlohmann::json::array();
  events.push_back(named("process_name", 0, "stallcast"));
  events.push_back(named("thread_name", k_step_track, "steps"));
  events.push_back(named("thread_name", k_wait_track, "waiting for data"));
  for (const TimelineRow& row : data.profile.timeline) add_row(row, events);
  const nlohmann::json root = {
      {"displayTimeUnit", "ms"}, {"otherData", summary(data)}, {"traceEvents", std::move(events)}};
  return root.dump() + "\n";
}

}  // namespace stallcast::reports
