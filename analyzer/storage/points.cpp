#include "analyzer/storage/points.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "analyzer/statistics/statistics.hpp"
#include "analyzer/storage/constants.hpp"

namespace stallcast {
namespace {

using record::StorageRead;
using record::StorageState;
using record::StorageWindow;

constexpr char k_no_bytes[] = "no bytes are read";

const char* state_name(StorageState state) {
  return state == StorageState::cold ? "cold" : "resident";
}

std::string percent_words(double part, double whole) {
  return fmt::format("{:.1f} %", whole > 0.0 ? 100.0 * part / whole : 0.0);
}

/// How many of a cold window's bytes must have come from storage. A file system that compresses fetches fewer than it
/// gives; where the pages were seen to be absent, some room is left for that.
double least_from_storage(const StorageWindow& window) {
  return window.evidence.pages_checked > 0 ? k_least_stored_if_absent : k_least_stored_if_unseen;
}

struct Evidence {
  bool holds = true;
  std::string reason{};
};

Evidence judge_cold(const StorageWindow& window) {
  const record::StorageEvidence& seen = window.evidence;
  const auto resident = static_cast<double>(seen.pages_resident);
  const auto checked = static_cast<double>(seen.pages_checked);
  if (seen.method == "evicted" && seen.pages_checked > 0 && resident > k_most_pages_back * checked) {
    return {false, fmt::format("{} of the pages were in memory although they had been dropped: others read these files",
                               percent_words(resident, checked))};
  }
  // A count of 0 is that of a file system that does not count (FUSE).
  if (seen.storage_bytes > 0.0 && seen.storage_bytes < least_from_storage(window) * window.bytes) {
    return {false,
            fmt::format("only {} of the bytes came from storage", percent_words(seen.storage_bytes, window.bytes))};
  }
  if (seen.method == "evicted" && seen.pages_checked <= 0 && seen.storage_bytes <= 0.0) {
    return {false, "nothing here proves that the bytes came from storage"};
  }
  return {};
}

Evidence judge_resident(const StorageWindow& window) {
  const record::StorageEvidence& seen = window.evidence;
  if (seen.storage_bytes > k_most_stored_if_resident * window.bytes) {
    return {false, fmt::format("{} of the bytes came from storage: they did not stay in memory",
                               percent_words(seen.storage_bytes, window.bytes))};
  }
  return {};
}

Evidence judge(const StorageWindow& window) {
  if (window.reads <= 0.0 && window.failed_reads > 0) return {false, "every read failed"};
  if (window.reads <= 0.0) return {false, "no read ended in time"};
  if (window.read == StorageRead::metadata) return {};  // no bytes, so nothing to prove of them
  return window.state == StorageState::cold ? judge_cold(window) : judge_resident(window);
}

/// What had ended by `t_s`.
record::StorageProgress progress_at(const StorageWindow& window, double t_s) {
  record::StorageProgress last;
  for (const record::StorageProgress& row : window.progress) {
    if (row.t_s > t_s) break;
    last = row;
  }
  return last;
}

/// Where completions come in bursts: the end of the first and of the last burst between `begin` and `end`.
std::optional<std::pair<record::StorageProgress, record::StorageProgress>> burst_ends(
    const StorageWindow& window, const record::StorageProgress& begin, const record::StorageProgress& end) {
  std::vector<std::pair<double, const record::StorageProgress*>> gaps;  // after a row
  for (std::size_t i = 0; i + 1 < window.progress.size(); ++i) {
    const record::StorageProgress& row = window.progress[i];
    const record::StorageProgress& next = window.progress[i + 1];
    if (row.t_s >= begin.t_s && row.t_s <= end.t_s) gaps.emplace_back(next.t_s - row.t_s, &row);
  }
  if (gaps.size() < k_fewest_gaps_for_bursts) return std::nullopt;
  const double longest_s = std::max_element(gaps.begin(), gaps.end())->first;
  const double mean_s = (end.t_s - begin.t_s) / static_cast<double>(gaps.size());
  if (longest_s < k_burst_gap_s || longest_s < k_burst_gap * mean_s) return std::nullopt;
  std::erase_if(gaps, [&](const auto& gap) { return gap.first < longest_s / 2.0; });
  if (gaps.size() < 2) return std::nullopt;
  return std::pair(*gaps.front().second, *gaps.back().second);
}

/// A window's steady part in pieces: the spread that there is where few windows were had.
void add_segments(const StorageWindow& window, std::vector<SteadyPart>& parts) {
  const double begin_s = lead_seconds(window);
  record::StorageProgress before = progress_at(window, begin_s);
  if (before.reads == 0.0) before.t_s = 0.0;
  for (std::size_t i = 1; i <= k_window_pieces; ++i) {
    const double end_s =
        begin_s + (window.stop_s - begin_s) * static_cast<double>(i) / static_cast<double>(k_window_pieces);
    const record::StorageProgress now = progress_at(window, end_s);
    if (now.t_s > before.t_s && now.reads > before.reads) {
      parts.push_back({now.t_s - before.t_s, now.reads - before.reads, now.bytes - before.bytes});
      before = now;
    }
  }
}

template <class Q>
MeasuredEstimate<Q> rate_of(const std::vector<SteadyPart>& parts, double SteadyPart::*what) {
  std::vector<double> amounts;
  std::vector<double> seconds;
  for (const SteadyPart& part : parts) {
    amounts.push_back(part.*what);
    seconds.push_back(part.seconds);
  }
  if (parts.size() < 2) return MeasuredEstimate<Q>::absent("too few reads ended in time to tell a rate");
  const Estimate<double> rate = ratio_of_sums(amounts, seconds);
  if (!(rate.ci95_low > 0.0)) {
    return MeasuredEstimate<Q>::absent("its stretches of reading differ too much to tell a rate");
  }
  return Estimate<Q>{Q(rate.mean), Q(rate.ci95_low), Q(rate.ci95_high), rate.n};
}

void fill_latency(const std::vector<const StorageWindow*>& windows, StoragePoint& point) {
  std::vector<double> seconds;
  for (const StorageWindow* window : windows) {
    for (const record::StorageSampledRead& read : window->sampled) {
      const bool in_lead = read.end_s < lead_seconds(*window) && window->sampled.size() > k_few_sampled_reads;
      if (in_lead) continue;
      seconds.push_back(read.seconds);
    }
  }
  if (seconds.size() < 2) return;
  const Estimate<double> mean = mean_of(seconds);
  point.latency =
      Estimate<Seconds>{Seconds(mean.mean), Seconds(std::max(0.0, mean.ci95_low)), Seconds(mean.ci95_high), mean.n};
  std::sort(seconds.begin(), seconds.end());
  if (seconds.size() >= 100) {
    point.latency_p99 = Seconds(seconds[seconds.size() * 99 / 100]);
  } else {
    point.latency_p99 = Measured<Seconds>::absent("fewer than 100 reads were timed one by one");
  }
}

void fill_premises(const std::vector<const StorageWindow*>& windows, StoragePoint& point) {
  double checked = 0.0;
  double resident = 0.0;
  double bytes = 0.0;
  double fetched = 0.0;
  bool counted = true;
  for (const StorageWindow* window : windows) {
    if (window->evidence.pages_checked > 0) {
      checked += static_cast<double>(window->evidence.pages_checked);
      resident += static_cast<double>(window->evidence.pages_resident);
    }
    counted = counted && window->evidence.storage_bytes >= 0.0;
    bytes += window->bytes;
    fetched += std::max(0.0, window->evidence.storage_bytes);
  }
  const bool cold = point.state == "cold";
  const bool any_good =
      std::any_of(windows.begin(), windows.end(), [](const StorageWindow* w) { return judge(*w).holds; });
  if (checked > 0.0 && point.method != "direct") {
    point.premises.push_back({point.state, "residency",
                              cold ? "no page in memory before" : "every page in memory before",
                              percent_words(resident, checked) + " of the pages looked at", any_good});
  }
  if (counted) {
    point.premises.push_back({point.state, "storage_bytes",
                              cold ? "the bytes come from storage" : "no byte comes from storage",
                              percent_words(fetched, bytes) + " of the bytes came from storage", any_good});
  }
}

/// The first round is a ramp of short windows; where there are later ones, those count.
std::vector<const StorageWindow*> settled(std::vector<const StorageWindow*> windows) {
  std::vector<const StorageWindow*> later;
  for (const StorageWindow* window : windows) {
    if (window->round > 0) later.push_back(window);
  }
  return later.size() >= 2 ? later : windows;
}

void set_absent(StoragePoint& point, const std::string& reason) {
  point.read_size = Measured<Bytes>::absent(reason);
  point.bandwidth = MeasuredEstimate<BytesPerSecond>::absent(reason);
  point.rate = MeasuredEstimate<PerSecond>::absent(reason);
  point.latency = MeasuredEstimate<Seconds>::absent(reason);
  point.latency_p99 = Measured<Seconds>::absent(reason);
  point.cpu_cores = Measured<double>::absent(reason);
}

double seconds_of(const std::vector<SteadyPart>& parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0,
                         [](double sum, const SteadyPart& part) { return sum + part.seconds; });
}

std::string too_short_words(double seconds) {
  return fmt::format(
      "only {:.0f} ms of cold reading were had: too short to tell a rate from a burst (a longer --budget or more "
      "files)",
      1e3 * seconds);
}

void fill_point(const std::vector<const StorageWindow*>& all, StoragePointData& data) {
  StoragePoint& point = data.point;
  point.method = all.front()->evidence.method;
  set_absent(point, "too few reads ended in time");
  std::string reason;
  for (const StorageWindow* window : all) {
    point.failed_reads += window->failed_reads;
    const Evidence evidence = judge(*window);
    if (evidence.holds)
      data.windows.push_back(window);
    else
      reason = evidence.reason;
  }
  if (data.read != StorageRead::metadata) fill_premises(all, point);
  if (data.windows.empty()) return set_absent(point, reason);
  data.windows = settled(std::move(data.windows));
  std::vector<SteadyPart> parts;
  for (const StorageWindow* window : data.windows) parts.push_back(steady_part(*window));
  if (data.state == StorageState::cold && seconds_of(parts) < k_least_cold_s) {
    data.windows.clear();
    return set_absent(point, too_short_words(seconds_of(parts)));
  }
  if (parts.size() < k_fewest_windows_for_spread) {
    parts.clear();
    for (const StorageWindow* window : data.windows) add_segments(*window, parts);
  }
  point.bandwidth = rate_of<BytesPerSecond>(parts, &SteadyPart::bytes);
  point.rate = rate_of<PerSecond>(parts, &SteadyPart::reads);
  double cpu_s = 0.0;
  double wall_s = 0.0;
  double reads = 0.0;
  double bytes = 0.0;
  for (const StorageWindow* window : data.windows) {
    cpu_s += window->cpu_s;
    wall_s += window->end_s;
    reads += window->reads;
    bytes += window->bytes;
  }
  point.read_size = Bytes(bytes / reads);
  if (data.read == StorageRead::metadata) {
    point.bandwidth = MeasuredEstimate<BytesPerSecond>::absent(k_no_bytes);
    point.read_size = Measured<Bytes>::absent(k_no_bytes);
  }
  if (wall_s > 0.0) point.cpu_cores = cpu_s / wall_s;
  fill_latency(data.windows, point);
}

}  // namespace

bool state_is_proven(const StorageWindow& window) {
  return judge(window).holds;
}

double lead_seconds(const StorageWindow& window) {
  return std::min(k_lead_s, k_lead_share * window.stop_s);
}

SteadyPart steady_part(const StorageWindow& window) {
  record::StorageProgress begin = progress_at(window, lead_seconds(window));
  record::StorageProgress end = progress_at(window, window.stop_s);
  if (const auto bursts = burst_ends(window, begin, end)) std::tie(begin, end) = *bursts;
  if (end.reads - begin.reads >= k_fewest_steady_reads && end.t_s > begin.t_s) {
    return {end.t_s - begin.t_s, end.reads - begin.reads, end.bytes - begin.bytes};
  }
  return {window.end_s, window.reads, window.bytes};
}

const char* storage_read_name(StorageRead read) {
  switch (read) {
    case StorageRead::whole_file:
      return "whole_file";
    case StorageRead::small_block:
      return "small_block";
    case StorageRead::large_block:
      return "large_block";
    case StorageRead::sequential:
      return "sequential";
    case StorageRead::metadata:
      return "metadata";
  }
  return "whole_file";
}

std::vector<StoragePointData> storage_points(const record::StorageRecording& recording) {
  using Key = std::tuple<StorageState, StorageRead, int>;
  std::map<Key, std::vector<const StorageWindow*>> windows;
  std::map<Key, std::string> gaps;
  for (const StorageWindow& window : recording.windows) {
    if (window.pause_s > 0.0) continue;  // of another rate
    windows[{window.state, window.read, window.in_flight}].push_back(&window);
  }
  for (const record::StorageGap& gap : recording.gaps) {
    const Key key{gap.state, gap.read, gap.in_flight};
    if (!windows.contains(key)) {
      windows[key];
      gaps[key] = gap.reason;
    }
  }
  std::vector<StoragePointData> points;
  for (const auto& [key, seen] : windows) {
    StoragePointData& data = points.emplace_back();
    std::tie(data.state, data.read, data.in_flight) = key;
    data.point.read = storage_read_name(data.read);
    data.point.state = state_name(data.state);
    data.point.in_flight = data.in_flight;
    if (seen.empty()) {
      set_absent(data.point, gaps[key]);
    } else {
      fill_point(seen, data);
    }
  }
  return points;
}

}  // namespace stallcast
