/// Warnings about streams: how their parts (shards, files) are divided among a loader's workers.
#include <algorithm>
#include <map>
#include <set>

#include "analyzer/warnings/constants.hpp"
#include "analyzer/warnings/warnings.hpp"

namespace stallcast::sections {
namespace {

/// Batches of a pass by the number of their worker; empty where the makers of too many are not known.
std::map<std::uint32_t, std::int64_t> batches_by_worker(const Pass& pass) {
  std::map<std::uint32_t, std::int64_t> batches;
  std::size_t known = 0;
  for (const Delivery& delivery : pass.deliveries) {
    if (!delivery.made_known || delivery.made.header.aux == UINT32_MAX) continue;
    ++known;
    ++batches[delivery.made.header.aux];
  }
  if (static_cast<double>(known) < k_known_makers * static_cast<double>(pass.deliveries.size())) batches.clear();
  return batches;
}

bool is_stream(const RankView& rank) {
  return rank.window.loader.kind == "iterable" && rank.window.loader.num_workers > 1;
}

bool is_long_enough(const RankView& rank, const Pass& pass) {
  return pass.deliveries.size() >= k_fewest_turns_of_pass * static_cast<std::size_t>(rank.window.loader.num_workers);
}

std::string plural_batches(std::int64_t count) {
  return std::to_string(count) + (count == 1 ? " batch" : " batches");
}

/// Bytes of each file that the workers of a pass read, by worker.
using Readings = std::map<std::int64_t, std::map<std::uint64_t, double>>;

Readings readings_of(const RunData& run, const RankView& rank, const Pass& pass) {
  Readings readings;
  for (const record::ProcessRecording& process : run.processes) {
    const auto& pids = pass.worker_pids;
    if (process.info.host != rank.consumer->host ||
        std::find(pids.begin(), pids.end(), process.info.pid) == pids.end()) {
      continue;
    }
    auto& files = readings[process.info.pid];
    for (const record::FileRecord& file : process.files) {
      if (file.read_bytes > 0) files[file.file_id] += static_cast<double>(file.read_bytes);
    }
  }
  return readings;
}

}  // namespace

std::string worker_without_data(const Evidence& e, double threshold) {
  for (const RankView& rank : e.ranks) {
    if (!is_stream(rank)) continue;
    for (const Pass* pass : rank.window.passes) {
      if (!is_long_enough(rank, *pass)) continue;
      const auto batches = batches_by_worker(*pass);
      const std::int64_t without = rank.window.loader.num_workers - static_cast<std::int64_t>(batches.size());
      if (batches.empty() || static_cast<double>(without) < threshold) continue;
      return std::to_string(without) + " of " + std::to_string(rank.window.loader.num_workers) +
             " workers made no batch, while the others made " +
             plural_batches(static_cast<std::int64_t>(pass->deliveries.size()));
    }
  }
  return {};
}

std::string uneven_workers(const Evidence& e, double threshold) {
  for (const RankView& rank : e.ranks) {
    if (!is_stream(rank)) continue;
    for (const Pass* pass : rank.window.passes) {
      if (!pass->is_over || !is_long_enough(rank, *pass)) continue;
      const auto batches = batches_by_worker(*pass);
      if (batches.size() < 2) continue;
      const auto by_count = [](const auto& a, const auto& b) { return a.second < b.second; };
      const std::int64_t most = std::max_element(batches.begin(), batches.end(), by_count)->second;
      const std::int64_t least = std::min_element(batches.begin(), batches.end(), by_count)->second;
      const double mean = static_cast<double>(pass->deliveries.size()) / static_cast<double>(batches.size());
      if (static_cast<double>(most) < threshold * mean) continue;
      return "in one epoch a worker made " + plural_batches(most) + ", another " + std::to_string(least) +
             ": towards its end the epoch goes at the pace of those that have some left";
    }
  }
  return {};
}

std::string all_read_everything(const Evidence& e, double threshold) {
  for (const RankView& rank : e.ranks) {
    if (!is_stream(rank)) continue;
    for (const Pass* pass : rank.window.passes) {
      if (!pass->is_over || !is_long_enough(rank, *pass)) continue;
      const Readings readings = readings_of(*rank.run, rank, *pass);
      std::map<std::uint64_t, double> largest;  // what one worker read of each file, at most
      for (const auto& [pid, files] : readings) {
        for (const auto& [id, bytes] : files) largest[id] = std::max(largest[id], bytes);
      }
      double all = 0.0;
      for (const auto& [id, bytes] : largest) all += bytes;
      if (readings.size() < 2 || largest.size() < k_fewest_files_to_split || all <= 0.0) continue;
      const bool each = std::all_of(readings.begin(), readings.end(), [&](const auto& worker) {
        double own = 0.0;
        for (const auto& [id, bytes] : worker.second) own += bytes;
        return own >= threshold * all;
      });
      if (!each) continue;
      return "each of " + std::to_string(readings.size()) + " workers read all of the " +
             std::to_string(largest.size()) +
             " files: every sample is read as often in an epoch, and trained on as often unless they leave out what is "
             "others'";
    }
  }
  return {};
}

}  // namespace stallcast::sections
