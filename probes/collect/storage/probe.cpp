#include "probes/collect/storage/probe.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "core/clock.hpp"
#include "probes/collect/storage/constants.hpp"
#include "probes/collect/storage/in_order.hpp"
#include "probes/collect/system/mounts.hpp"
#include "probes/collect/system/text_file.hpp"

namespace stallcast::collect {
namespace {

using record::StorageRead;
using record::StorageState;
using record::StorageWindow;

constexpr int k_look_up_points = std::bit_width(static_cast<unsigned>(k_most_in_flight));  ///< 1, 2, 4, ... at once

struct Series {
  StorageRead read;
  const char* words;
};
constexpr Series k_series[] = {{StorageRead::small_block, "random 4 KiB blocks"},
                               {StorageRead::whole_file, "whole files"},
                               {StorageRead::large_block, "random 1 MiB blocks"},
                               {StorageRead::sequential, "sequential reads"}};

const char* no_task_reason(StorageRead read) {
  switch (read) {
    case StorageRead::whole_file:
      return "the files are larger than 16 MiB each: they are read in blocks";
    case StorageRead::large_block:
      return "no file that may be read for this holds 1 MiB";
    case StorageRead::sequential:
      return "no file that may be read for this holds 4 MiB";
    case StorageRead::small_block:
    case StorageRead::metadata:
      break;
  }
  return "no file may be read for this";
}

struct Point {
  StorageRead read;
  int in_flight;
};

class Probe {
 public:
  Probe(const StorageOptions& options, StoragePool& pool, record::StorageRecording& recording, std::uint64_t begin_ns)
      : options_(options),
        pool_(pool),
        recording_(recording),
        begin_ns_(begin_ns),
        random_(options.seed),
        reader_(options.brief ? StorageEngine::threads : options.engine) {
    recording_.engine = reader_.engine();
    if (reader_.no_queue_reason().empty()) return;
    add_issue(recording_.issues,
              {"no-io-uring", Severity::info, 1,
               "reads were kept in flight by threads, which a fast storage outruns: " + reader_.no_queue_reason(), ""});
  }

  void run() {
    const double paused_s = options_.brief ? k_paused_windows * k_paused_stretches * k_probe_pause_s : 0.0;
    const double others = options_.brief ? 0.0 : k_resident_share + k_metadata_share;
    const double cold_end_s = options_.budget.value() * (1.0 - others) - paused_s;
    if (pool_.no_cold_reason().empty()) {
      read_cold(cold_end_s);
      if (options_.brief) {
        read_with_pauses();
        recording_.in_order = read_in_order(pool_, k_in_order_s);
      }
    } else {
      gap({StorageRead::whole_file, 0}, StorageState::cold, pool_.no_cold_reason());
      recording_.gaps.back().in_flight = 0;
    }
    if (options_.brief) return;
    look_up();
    read_resident();
  }

 private:
  [[nodiscard]] double now_s() const { return static_cast<double>(monotonic_ns() - begin_ns_) * 1e-9; }

  void gap(const Point& point, StorageState state, const std::string& reason) {
    recording_.gaps.push_back({point.read, state, point.in_flight, reason});
  }

  /// One window of a point; what it brought into memory is dropped again if it was a cold one.
  StorageWindow window(const Point& point, StorageState state, double seconds, int round, double pause_s = 0.0,
                       std::uint64_t most_bytes = UINT64_MAX) {
    std::vector<ReadTask> tasks = pool_.tasks(point.read, state);
    for (ReadTask& task : tasks) task.range.bytes = std::min(task.range.bytes, most_bytes);
    if (options_.on_progress) {
      const auto series =
          std::find_if(std::begin(k_series), std::end(k_series), [&](const Series& s) { return s.read == point.read; });
      const bool reads = series != std::end(k_series);
      const char* where = reads && state == StorageState::resident ? " from memory" : "";
      options_.on_progress(
          now_s() / options_.budget.value(),
          fmt::format("{}{}, {} in flight", reads ? series->words : "opening files", where, point.in_flight));
    }
    record::StorageEvidence before;
    const bool cold = state == StorageState::cold;
    // What the kernel was still reading ahead when the window before ended could not be dropped then.
    if (cold && point.read == StorageRead::sequential) pool_.drop(tasks, tasks.size());
    pool_.check(tasks, tasks.size(), before);
    const double begin_s = now_s();
    std::size_t done = 0;
    const double most_s = 4.0 * seconds + 1.0;
    StorageWindow window = reader_.read(
        tasks, {point.read, state, point.in_flight, seconds, most_s, cold && pool_.direct(), pause_s}, done);
    window.round = round;
    window.begin_s = begin_s;
    window.evidence.method = !cold ? "resident" : pool_.direct() ? "direct" : "evicted";
    window.evidence.pages_checked = before.pages_checked;
    window.evidence.pages_resident = before.pages_resident;
    if (cold) pool_.drop(tasks, done);
    return window;
  }

  /// Doubles what is in flight until it brings nothing any more, or there is too little to read.
  void ramp(const Series& series, double window_s, double end_s) {
    const std::size_t tasks = pool_.tasks(series.read, StorageState::cold).size();
    if (tasks == 0) {
      gap({series.read, 0}, StorageState::cold, no_task_reason(series.read));
      return;
    }
    double last_rate = 0.0;
    double read_bytes = 0.0;
    int flat = 0;
    for (int in_flight = 1; in_flight <= k_most_in_flight; in_flight *= 2) {
      const Point point{series.read, in_flight};
      if (in_flight > 1 && tasks < 2 * static_cast<std::size_t>(in_flight)) {
        gap(point, StorageState::cold, fmt::format("there are only {} such reads in the sampled files", tasks));
        continue;
      }
      if (flat >= 2 && in_flight > k_always_tried_in_flight) {
        gap(point, StorageState::cold, "not tried: the rate had stopped rising");
        continue;
      }
      // What is in flight when the window ends must come in as well.
      const double drain_s = last_rate > 0.0 ? read_bytes * in_flight / last_rate : 0.0;
      if (now_s() + std::max(window_s, drain_s) > end_s) {
        gap(point, StorageState::cold, "the budget had ended: give more with --budget");
        continue;
      }
      StorageWindow seen = window(point, StorageState::cold, window_s, 0);
      const double rate = seen.end_s > 0.0 ? seen.bytes / seen.end_s : 0.0;
      flat = flat > 2 || rate < k_still_rises * last_rate ? flat + 1 : 0;
      last_rate = std::max(rate, last_rate);
      if (seen.reads > 0.0) read_bytes = seen.bytes / seen.reads;
      if (flat <= 2) points_.push_back(point);  // beyond the ceiling one window shows whether the rate falls
      recording_.windows.push_back(std::move(seen));
    }
  }

  /// Whole files, where there are any; of shards that are few and take long, blocks, of which there are enough.
  [[nodiscard]] StorageRead brief_read() {
    const std::vector<ReadTask> files = pool_.tasks(StorageRead::whole_file, StorageState::cold);
    const std::size_t blocks = pool_.tasks(StorageRead::large_block, StorageState::cold).size();
    if (files.empty()) return StorageRead::large_block;
    return files.size() < k_few_files && blocks >= k_few_files ? StorageRead::large_block : StorageRead::whole_file;
  }

  void read_cold(double end_s) {
    const double left_s = end_s - now_s();
    const double first_s =
        std::clamp(left_s / (options_.brief ? 12.0 : 60.0), k_least_first_window_s, k_first_window_s);
    for (const Series& series : k_series) {
      if (!options_.brief || series.read == brief_read()) ramp(series, first_s, end_s);
    }
    if (points_.empty()) return;
    // What is left: at least three more rounds, with windows as long as they then can be.
    const double per_point_s = (end_s - now_s()) / static_cast<double>(points_.size());
    const double window_s = std::clamp(per_point_s / 4.0, k_least_window_s, k_most_window_s);
    std::map<std::pair<StorageRead, int>, double> costs_s;  // of a window, with all that is done around it
    for (int round = 1; round <= k_most_rounds; ++round) {
      std::shuffle(points_.begin(), points_.end(), random_);
      for (const Point& point : points_) {
        double& cost_s = costs_s.try_emplace({point.read, point.in_flight}, window_s).first->second;
        const double begin_s = now_s();
        if (begin_s + cost_s > end_s) continue;
        recording_.windows.push_back(window(point, StorageState::cold, window_s, round));
        cost_s = std::max(window_s, now_s() - begin_s);
      }
    }
  }

  /// The fewest in flight that bring nearly the most, with pauses between stretches of reading.
  void read_with_pauses() {
    double best = 0.0;
    std::map<int, double> rates;
    for (const StorageWindow& seen : recording_.windows) {
      if (seen.end_s <= 0.0) continue;
      double& rate = rates[seen.in_flight];
      rate = std::max(rate, seen.bytes / seen.end_s);
      best = std::max(best, rate);
    }
    const auto enough = std::find_if(rates.begin(), rates.end(),
                                     [&](const auto& item) { return item.second >= k_nearly_most_rate * best; });
    if (enough == rates.end()) return;
    Point point{brief_read(), enough->first};
    // Of blocks that take most of a stretch, parts are read instead, no more of them at once than a part of it.
    std::uint64_t most_bytes = UINT64_MAX;
    const double block_s = static_cast<double>(k_large_block_bytes) * point.in_flight / best;
    if (point.read == StorageRead::large_block && block_s > k_long_block_of_stretch * k_probe_pause_s) {
      most_bytes = k_large_block_bytes / k_parts_of_block;
      const double in_flight = k_long_block_of_stretch * k_probe_pause_s * best / static_cast<double>(most_bytes);
      point.in_flight = std::clamp(static_cast<int>(std::lround(in_flight)), 1, k_most_in_flight);
    }
    for (int i = 0; i < k_paused_windows; ++i) {
      recording_.windows.push_back(window(point, StorageState::cold, k_paused_stretches * k_probe_pause_s,
                                          k_most_rounds + 1 + i, k_probe_pause_s, most_bytes));
    }
  }

  /// Reads the resident tasks once, untimed, so that they are what their name says; where the time does not reach,
  /// fewer of them serve. False if too few do.
  bool warm(StorageRead read, double seconds) {
    const std::vector<ReadTask> tasks = pool_.tasks(read, StorageState::resident);
    std::size_t done = 0;
    if (tasks.empty()) return false;
    reader_.read(tasks, {read, StorageState::cold, 4, seconds, seconds, false}, done);
    return done == tasks.size() || pool_.keep_resident() >= k_fewest_resident_tasks;
  }

  /// Opens the sampled files again and again, more and more at once. They were all opened before: what the client
  /// still knows of them is its own affair, as it is from a job's second epoch on.
  void look_up() {
    const double window_s = options_.budget.value() * k_metadata_share / (k_look_up_rounds * k_look_up_points);
    for (int round = 1; round <= k_look_up_rounds; ++round) {
      for (int in_flight = 1; in_flight <= k_most_in_flight; in_flight *= 2) {
        recording_.windows.push_back(
            window({StorageRead::metadata, in_flight}, StorageState::resident, window_s, round));
      }
    }
  }

  void read_resident() {
    const double left_s = std::max(options_.budget.value() - now_s(), options_.budget.value() * k_resident_share / 2.0);
    std::vector<Point> points{{StorageRead::small_block, 1}};
    const bool whole = !pool_.tasks(StorageRead::whole_file, StorageState::resident).empty();
    const StorageRead large = whole ? StorageRead::whole_file : StorageRead::large_block;
    for (int streams = 1; streams <= k_most_in_flight && streams < 2.0 * options_.usable_cpus; streams *= 2) {
      points.push_back({large, streams});
    }
    if (!warm(large, left_s / 3.0)) {
      gap({large, 0}, StorageState::resident, "bringing some of the files into memory took too long");
      pool_.drop_resident();
      return;
    }
    const double window_s = std::clamp(left_s / 2.0 / (3.0 * static_cast<double>(points.size())),
                                       k_least_resident_window_s, k_most_resident_window_s);
    for (int round = 0; round < 3; ++round) {
      for (const Point& point : points) {
        if (pool_.tasks(point.read, StorageState::resident).empty()) continue;
        recording_.windows.push_back(window(point, StorageState::resident, window_s, round));
      }
    }
    pool_.drop_resident();
  }

  const StorageOptions& options_;
  StoragePool& pool_;
  record::StorageRecording& recording_;
  std::uint64_t begin_ns_;
  std::mt19937_64 random_;
  StorageReader reader_;
  std::vector<Point> points_{};
};

void name_filesystem(record::StorageFiles& files) {
  const std::string text = read_text("/proc/self/mountinfo", 16U << 20U).value_or("");
  const auto mount = mount_of(parse_mountinfo(text), files.path);
  if (!mount) return;
  files.filesystem = mount->type;
  files.device = mount->source;
}

void note_sample(const FileSample& sample, const StoragePool& pool, record::StorageRecording& recording) {
  std::set<std::uint64_t> devices;
  for (const SampledFile& file : sample.files) devices.insert(file.device);
  if (devices.size() > 1) {
    add_issue(recording.issues, {"storage-many-devices", Severity::warning, static_cast<std::int64_t>(devices.size()),
                                 fmt::format("the files lie on {} file systems; the figures mix them", devices.size()),
                                 "name the folders one by one"});
  }
  if (!recording.files.complete) {
    add_issue(
        recording.issues,
        {"storage-sampled", Severity::info, 1,
         fmt::format("more files than could be listed in time: {} were seen in {} folders, of which {} were read from",
                     recording.files.seen, recording.files.folders, pool.opened()),
         ""});
  }
  if (pool.unreadable() > 0) {
    add_issue(recording.issues, {"storage-unreadable", Severity::warning, pool.unreadable(),
                                 fmt::format("{} of {} sampled files could not be opened: {}", pool.unreadable(),
                                             pool.unreadable() + pool.opened(), pool.unreadable_reason()),
                                 ""});
  }
}

}  // namespace

Result<record::StorageRecording> probe_storage(const StorageOptions& options) {
  const std::uint64_t begin_ns = monotonic_ns();
  const auto after_ns = [&](double share) {
    return monotonic_ns() + static_cast<std::uint64_t>(share * options.budget.value() * 1e9);
  };
  if (options.on_progress) options.on_progress(0.0, "looking for files");
  SampleOptions sampling;
  sampling.seed = options.seed;
  sampling.files = options.files;
  sampling.most_time = options.budget * k_walk_share;
  const auto sample = sample_files(options.path, sampling);
  if (!sample) return sample.error();
  StoragePool pool(sample.value(), options.evict, options.own, options.seed, after_ns(k_open_share));
  if (pool.opened() == 0) {
    return Error{ErrorCode::not_enough_data,
                 fmt::format("none of {} files in {} can be opened: {}", pool.unreadable(), options.path,
                             pool.unreadable_reason()),
                 "run as a user who may read them"};
  }
  record::StorageRecording recording;
  recording.files = sample.value().facts;
  recording.files.unreadable = pool.unreadable();
  recording.files.open_s = pool.open_s();
  recording.files.resident_share = pool.resident_share();
  name_filesystem(recording.files);
  recording.evict = options.evict == StorageEvict::own ? "own" : "all";
  recording.budget_s = options.budget.value();
  recording.usable_cpus = options.usable_cpus;
  recording.cold_pool_bytes = pool.no_cold_reason().empty() ? pool.cold_bytes() : 0.0;
  note_sample(sample.value(), pool, recording);
  Probe(options, pool, recording, begin_ns).run();
  recording.elapsed_s = static_cast<double>(monotonic_ns() - begin_ns) * 1e-9;
  return recording;
}

}  // namespace stallcast::collect
