#include "reports/html_charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/escape.hpp"
#include "reports/html_whatif.hpp"

namespace stallcast::reports {
namespace {

constexpr std::size_t k_most_histograms = 12;

struct Known {
  const char* key;
  const char* title;
};
constexpr std::array k_known = {Known{"sample_read_s", "Reading one sample"},
                                Known{"sample_prep_s", "Preparing one sample"},
                                Known{"batch_make_s", "Making one batch"}, Known{"step_s", "One step of the consumer"}};

nlohmann::json row_json(const TimelineRow& row) {
  const Fraction share = wait_share(row);
  return {{"from", row.begin_s},
          {"to", row.end_s},
          {"percent", share * percent_scale().factor},
          {"phase", one_line(row.phase)},
          {"title", fmt::format("{} to {}", duration(Seconds(row.begin_s)), duration(Seconds(row.end_s)))},
          {"label", fmt::format("{} waiting, {}, longest wait {}", percent(share), plural(row.steps, "step"),
                                duration(Seconds(row.longest_wait_s)))}};
}

nlohmann::json histogram_json(const NamedDistribution& named) {
  const Distribution& d = *named.distribution;
  nlohmann::json labels = nlohmann::json::array();
  for (std::size_t i = 0; i < d.counts.size(); ++i) {
    const double edge =
        std::exp2((static_cast<double>(d.first_bin) + static_cast<double>(i)) / Distribution::k_bins_per_octave);
    labels.push_back(scaled(edge, named.scale));
  }
  const bool read = named.title == k_known[0].title;
  const bool prep = named.title == k_known[1].title;
  return {{"labels", std::move(labels)}, {"counts", d.counts}, {"tint", read ? "fetch" : prep ? "prep" : "compute"}};
}

TimelineRow joined(const TimelineRow& a, const TimelineRow& b) {
  return {a.begin_s, b.end_s, a.steps + b.steps, a.wait_s + b.wait_s, std::max(a.longest_wait_s, b.longest_wait_s),
          a.phase};
}

}  // namespace

Fraction wait_share(const TimelineRow& row) {
  const double length = row.end_s - row.begin_s;
  return length > 0.0 && std::isfinite(length) && std::isfinite(row.wait_s) ? std::clamp(row.wait_s / length, 0.0, 1.0)
                                                                            : 0.0;
}

std::vector<NamedDistribution> distributions_of(const Profile& p) {
  std::vector<NamedDistribution> result;
  const auto add = [&](const std::string& title, const Distribution& d, bool in_bytes) {
    if (d.n < 1 || d.counts.empty() || result.size() >= k_most_histograms) return;
    const double middle = d.quantile(0.5);
    result.push_back({title, &d, in_bytes ? bytes_scale(middle) : time_scale(middle)});
  };
  const auto& all = p.resources.distributions;
  for (const Known& known : k_known) {
    if (const auto found = all.find(known.key); found != all.end()) add(known.title, found->second, false);
  }
  if (p.dataset.file_size_bytes) add("File sizes", *p.dataset.file_size_bytes, true);
  for (const auto& [key, distribution] : all) {
    const bool seen =
        std::any_of(k_known.begin(), k_known.end(), [&key = key](const Known& k) { return key == k.key; });
    if (!seen) add(key, distribution, key.ends_with("_bytes"));
  }
  return result;
}

std::vector<TimelineRow> coarse_timeline(const std::vector<TimelineRow>& rows, std::size_t most) {
  std::vector<TimelineRow> result;
  const std::size_t group = (rows.size() + most - 1) / std::max<std::size_t>(1, most);
  std::size_t in_group = 0;
  for (const TimelineRow& row : rows) {
    if (in_group > 0 && in_group < group && result.back().phase == row.phase) {
      result.back() = joined(result.back(), row);
      ++in_group;
    } else {
      result.push_back(row);
      in_group = 1;
    }
  }
  return result;
}

std::string chart_json(const ReportData& data) {
  nlohmann::json rows = nlohmann::json::array();
  double top = 0.0;
  for (const TimelineRow& row : data.profile.timeline) {
    if (!std::isfinite(row.begin_s) || !std::isfinite(row.end_s)) continue;
    rows.push_back(row_json(row));
    top = std::max(top, wait_share(row));
  }
  nlohmann::json histograms = nlohmann::json::array();
  for (const NamedDistribution& named : distributions_of(data.profile)) histograms.push_back(histogram_json(named));
  const double ceiling = std::min(100.0, std::ceil(top * 11.0 + 0.5) * 10.0);
  const nlohmann::json root = {{"timeline", std::move(rows)},
                               {"timeline_top", ceiling},
                               {"distributions", std::move(histograms)},
                               {"grid", grid_json(data)}};
  return script_json(root.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace stallcast::reports
