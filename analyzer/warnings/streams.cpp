/// Warnings about streams: how their parts (shards, files) are divided among a loader's workers.
#include <algorithm>
#include <map>

#include "analyzer/reads/files_read.hpp"
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
  return rank.window.loader.is_stream() && rank.window.loader.num_workers > 1;
}

bool is_long_enough(const RankView& rank, const Pass& pass) {
  return pass.deliveries.size() >= k_fewest_turns_of_pass * static_cast<std::size_t>(rank.window.loader.num_workers);
}

std::string plural_batches(std::int64_t count) {
  return std::to_string(count) + (count == 1 ? " batch" : " batches");
}

/// Batches of a process, in one pass and in all passes for which it worked.
struct Share {
  double here = 0.0;
  double everywhere = 0.0;
};

/// Workers that are kept work for several passes, and a file that stays open is one record: what they read is divided
/// among the passes by the batches that they made for each.
std::map<std::int64_t, double> shares_of_pass(const std::vector<Pass>& passes, const Pass& pass) {
  std::map<std::int64_t, Share> batches;
  for (const Pass& each : passes) {
    for (const std::int64_t pid : each.worker_pids) {
      const auto made = static_cast<double>(each.deliveries.size()) / static_cast<double>(each.worker_pids.size());
      batches[pid].everywhere += made;
      if (each.iterator_id == pass.iterator_id) batches[pid].here += made;
    }
  }
  std::map<std::int64_t, double> shares;
  for (const auto& [pid, of] : batches) {
    if (of.here > 0.0) shares[pid] = of.here / of.everywhere;
  }
  return shares;
}

/// Files of known size that the workers of a pass read, and of each how much of it each worker did.
struct Readings {
  std::map<std::uint64_t, double> sizes{};
  std::map<std::int64_t, double> by_worker{};
};

Readings readings_of(const RunData& run, const RankView& rank, const Pass& pass,
                     const std::map<std::uint64_t, FileRead>& data) {
  Readings readings;
  const auto shares = shares_of_pass(rank.consumer->passes, pass);
  for (const record::ProcessRecording& process : run.processes) {
    const auto share = shares.find(process.info.pid);
    if (process.info.host != rank.consumer->host || share == shares.end()) continue;
    std::map<std::uint64_t, double> bytes;
    for (const record::FileRecord& file : process.files) {
      const auto known = data.find(file.file_id);
      if (file.read_bytes == 0 || known == data.end() || known->second.path->size_bytes == UINT64_MAX) continue;
      bytes[file.file_id] += share->second * static_cast<double>(file.read_bytes);
      readings.sizes[file.file_id] = static_cast<double>(known->second.path->size_bytes);
    }
    double& own = readings.by_worker[process.info.pid];
    for (const auto& [id, read] : bytes) own += std::min(read, readings.sizes[id]);
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
    std::map<std::uint64_t, FileRead> data;
    for (const Pass* pass : rank.window.passes) {
      if (!pass->is_over || !is_long_enough(rank, *pass)) continue;
      if (data.empty()) data = files_read(*rank.run);
      const auto [sizes, by_worker] = readings_of(*rank.run, rank, *pass, data);
      double all = 0.0;
      for (const auto& [id, size] : sizes) all += size;
      if (by_worker.size() < 2 || sizes.size() < k_fewest_files_to_split || all <= 0.0) continue;
      const bool each = std::all_of(by_worker.begin(), by_worker.end(),
                                    [&](const auto& worker) { return worker.second >= threshold * all; });
      if (!each) continue;
      return "each of " + std::to_string(by_worker.size()) + " workers read all of the " +
             std::to_string(sizes.size()) +
             " files: every sample is read as often in an epoch, and trained on as often unless they leave out what is "
             "others'";
    }
  }
  return {};
}

}  // namespace stallcast::sections
