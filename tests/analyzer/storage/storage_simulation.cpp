#include "tests/analyzer/storage/storage_simulation.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <random>
#include <vector>

namespace stallcast::testing {
namespace {

using record::StorageRead;

/// Lets through `rate` a second, and up to `burst_s` of it at once after a pause.
class Bucket {
 public:
  Bucket(double rate, double burst_s, double tick_s) : rate_(rate), burst_s_(burst_s), tick_s_(tick_s) {}
  /// When `amount`, asked for at `now_s`, is through.
  double pass(double now_s, double amount) {
    free_s_ = std::max(free_s_, now_s - burst_s_) + amount / rate_;
    const double through_s = tick_s_ > 0.0 ? std::ceil(free_s_ / tick_s_) * tick_s_ : free_s_;
    return std::max(through_s, now_s);
  }

 private:
  double rate_;
  double burst_s_;
  double tick_s_;
  double free_s_ = -1e9;
};

class Simulation {
 public:
  Simulation(const SimulatedStorage& storage, double file_bytes)
      : storage_(storage), file_bytes_(file_bytes), random_(storage.seed) {}

  record::StorageWindow window(StorageRead read, int in_flight, int round, double window_s, double pause_s = 0.0) {
    Bucket bytes(storage_.ceiling_bytes_per_s, storage_.bucket_s, storage_.tick_s);
    Bucket reads(storage_.ceiling_reads_per_s, storage_.bucket_s, storage_.tick_s);
    record::StorageWindow window;
    window.read = read;
    window.in_flight = in_flight;
    window.round = round;
    window.stop_s = window_s;
    window.pause_s = pause_s;
    std::priority_queue<double, std::vector<double>, std::greater<>> streams;  // when each is free
    for (int i = 0; i < in_flight; ++i) streams.push(0.0);
    std::vector<record::StorageSampledRead> done;
    while (streams.top() < window_s) {
      double begin_s = streams.top();
      streams.pop();
      const double stretch = pause_s > 0.0 ? std::floor(begin_s / pause_s) : 0.0;
      if (std::fmod(stretch, 2.0) == 1.0) begin_s = (stretch + 1.0) * pause_s;
      if (begin_s >= window_s) break;
      const double size = size_of(read);
      const double own_s = latency() + size / storage_.stream_bandwidth_bytes_per_s;
      const double end_s = std::max({begin_s + own_s, bytes.pass(begin_s, size), reads.pass(begin_s, 1.0)});
      done.push_back({end_s, size, end_s - begin_s});
      streams.push(end_s);
    }
    std::sort(done.begin(), done.end(), [](const auto& a, const auto& b) { return a.end_s < b.end_s; });
    for (const auto& one : done) {
      window.reads += 1.0;
      window.bytes += one.bytes;
      window.progress.push_back({one.end_s, window.reads, window.bytes});
    }
    window.end_s = done.back().end_s;
    window.evidence = {"evicted", 1000, 0, window.bytes};
    window.sampled = std::move(done);
    return window;
  }

 private:
  double size_of(StorageRead read) {
    if (read == StorageRead::small_block) return 4096.0;
    if (read == StorageRead::large_block) return 1048576.0;
    return file_bytes_ * std::uniform_real_distribution<double>(0.5, 1.5)(random_);
  }
  double latency() {
    if (storage_.noise == 0.0) return storage_.latency_s;
    const double sigma = storage_.noise;
    return storage_.latency_s * std::lognormal_distribution<double>(-sigma * sigma / 2.0, sigma)(random_);
  }

  const SimulatedStorage& storage_;
  double file_bytes_;
  std::mt19937 random_;
};

}  // namespace

record::StorageRecording simulate_probe(const SimulatedStorage& storage, double file_bytes, bool large, int rounds,
                                        double window_s) {
  record::StorageRecording recording;
  recording.usable_cpus = 4.0;
  recording.files.seen = 100;
  recording.files.sizes_bytes.assign(100, file_bytes);
  recording.files.open_s.assign(100, 1e-6);
  recording.files.stat_s.assign(100, 1e-6);
  Simulation simulation(storage, file_bytes);
  double now_s = 0.0;
  for (int round = 1; round <= rounds; ++round) {
    for (const StorageRead read : {StorageRead::small_block, StorageRead::whole_file, StorageRead::large_block}) {
      if (read == StorageRead::large_block && !large) continue;
      for (int in_flight = 1; in_flight <= 32; in_flight *= 2) {
        recording.windows.push_back(simulation.window(read, in_flight, round, window_s));
        recording.windows.back().begin_s = now_s;
        now_s += window_s;
      }
    }
  }
  return recording;
}

void add_pauses(const SimulatedStorage& storage, double file_bytes, int in_flight, double pause_s,
                record::StorageRecording& recording) {
  Simulation simulation(storage, file_bytes);
  recording.windows.push_back(simulation.window(StorageRead::whole_file, in_flight, 9, 10.0 * pause_s, pause_s));
}

}  // namespace stallcast::testing
