/// Warnings about streams: how their parts (shards, files) are divided among a loader's workers.
#include <algorithm>
#include <map>
#include <optional>

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
  return rank.window.loader.kind == "iterable" && rank.window.loader.num_workers > 1;
}

bool is_long_enough(const RankView& rank, const Pass& pass) {
  return pass.deliveries.size() >= k_fewest_turns_of_pass * static_cast<std::size_t>(rank.window.loader.num_workers);
}

std::string plural_batches(std::int64_t count) {
  return std::to_string(count) + (count == 1 ? " batch" : " batches");
}

/// Bytes of the data set's files that each worker of a pass read.
std::map<std::int64_t, double> bytes_by_worker(const RunData& run, const RankView& rank, const Pass& pass,
                                               const std::map<std::uint64_t, FileRead>& data) {
  std::map<std::int64_t, double> bytes;
  for (const record::ProcessRecording& process : run.processes) {
    const auto& pids = pass.worker_pids;
    if (process.info.host != rank.consumer->host ||
        std::find(pids.begin(), pids.end(), process.info.pid) == pids.end()) {
      continue;
    }
    double& own = bytes[process.info.pid];
    for (const record::FileRecord& file : process.files) {
      if (data.contains(file.file_id)) own += static_cast<double>(file.read_bytes);
    }
  }
  return bytes;
}

/// What all of these files hold; absent where the size of one is not known.
std::optional<double> size_of(const std::map<std::uint64_t, FileRead>& files) {
  double all = 0.0;
  for (const auto& [id, file] : files) {
    if (file.path->size_bytes == UINT64_MAX) return std::nullopt;
    all += static_cast<double>(file.path->size_bytes);
  }
  return all;
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
    const auto data = files_read(*rank.run);
    const auto all = size_of(data);
    if (data.size() < k_fewest_files_to_split || all.value_or(0.0) <= 0.0) continue;
    for (const Pass* pass : rank.window.passes) {
      if (!pass->is_over || !is_long_enough(rank, *pass)) continue;
      const auto bytes = bytes_by_worker(*rank.run, rank, *pass, data);
      const bool each = std::all_of(bytes.begin(), bytes.end(),
                                    [&](const auto& worker) { return worker.second >= threshold * *all; });
      if (bytes.size() < 2 || !each) continue;
      return "each of " + std::to_string(bytes.size()) + " workers read all of the " + std::to_string(data.size()) +
             " files: every sample is read as often in an epoch, and trained on as often unless they leave out what is "
             "others'";
    }
  }
  return {};
}

}  // namespace stallcast::sections
