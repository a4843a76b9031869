#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "reports/findings/derived.hpp"
#include "reports/findings/report_data.hpp"

namespace stallcast::reports {
namespace {

/// "58.2 s measured"; of a run in states "12.4 s as found, 40.1 s in states".
std::string measured_words(const Profile& p) {
  const std::string found = duration(Seconds(p.measured_s));
  const double in_states_s = states_s(p);
  if (in_states_s <= 0.0) return found + " measured";
  return found + " as found, " + duration(Seconds(in_states_s)) + " in states";
}

}  // namespace

std::string share_words(const Slice& slice) {
  if (!holds_zero(slice.share)) return percent(slice.share);
  return slice.share.ci95_high > 0.0 ? "0 (up to " + percent(slice.share.ci95_high) + ")" : "0";
}

std::string scenario_words(const Prediction& prediction) {
  std::string text;
  for (const ScenarioItem& item : prediction.scenario) text += (text.empty() ? "" : " ") + item.key + "=" + item.value;
  return text.empty() ? "as profiled" : text;
}

std::string forecast_words(const Prediction& prediction) {
  const auto& f = prediction.throughput;
  return with_interval(f.mean.value(), f.ci90_low.value(), f.ci90_high.value(), {1.0, ""});
}

std::string bound_words(const Prediction& prediction) {
  return prediction.next_bound.empty() ? prediction.bound : prediction.bound + ", then " + prediction.next_bound;
}

std::string bound_legend(std::span<const Prediction> predictions) {
  constexpr std::array<std::pair<std::string_view, const char*>, 6> k_limits{{
      {"fetch", "reading"},
      {"prep", "preparing samples"},
      {"loader", "reading or preparing"},
      {"cpu", "all cores are busy"},
      {"gpu", "the step itself"},
      {"network", "the network between nodes"},
  }};
  std::string text;
  for (const auto& [name, words] : k_limits) {
    const bool named = std::any_of(predictions.begin(), predictions.end(), [&name = name](const Prediction& p) {
      return p.bound == name || p.next_bound == name;
    });
    if (named) text += (text.empty() ? "" : "; ") + std::string(name) + ": " + words;
  }
  return text;
}

std::vector<std::string> prediction_notes(const Prediction& prediction) {
  std::vector<std::string> notes = prediction.notes;
  if (prediction.extrapolated)
    notes.emplace_back("extrapolated: more than twice or less than half of what was measured");
  return notes;
}

std::string subtitle_of(const Profile& p) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (p.measured_s > 0.0) add(measured_words(p));
  if (p.job.ranks_seen > 0)
    add(p.job.ranks_seen == p.job.ranks_expected
            ? plural(p.job.ranks_seen, "rank")
            : fmt::format("{} of {} ranks", p.job.ranks_seen, p.job.ranks_expected));
  if (p.job.num_workers) add(plural(*p.job.num_workers, "worker") + (p.job.ranks_seen > 1 ? " each" : ""));
  if (p.job.batch_size) add("batches of " + count(*p.job.batch_size));
  if (p.job.framework != "unknown")
    add(p.job.framework + (p.job.framework_version.empty() ? "" : " ") + p.job.framework_version);
  return text;
}

}  // namespace stallcast::reports
