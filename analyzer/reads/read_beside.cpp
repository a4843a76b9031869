#include "analyzer/reads/read_beside.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "analyzer/reads/constants.hpp"
#include "analyzer/reads/files_read.hpp"
#include "analyzer/reads/from_storage.hpp"
#include "analyzer/reads/unseen.hpp"

namespace stallcast::sections {
namespace {

constexpr const char* k_read_beside =
    "its readers read far ahead, beside the making of batches: what a sample takes was not seen";

/// Of the workers of the loader, in the whole run.
struct Makers {
  double bytes = 0.0;  ///< of the data's files, but for what was read for the first batch of each pass
  double samples = 0.0;
  std::size_t batches = 0;
  std::size_t counted = 0;  ///< of them, those whose samples are known
};

/// A buffer that is filled before it gives anything takes as much from then on as it gives: what the first batch of a
/// pass read.
double read_at_first(const record::ProcessRecording& process) {
  std::map<std::uint64_t, const record::BatchRecord*> first;  // by pass
  for (const record::BatchRecord& batch : process.batches) {
    const record::BatchRecord*& known = first[batch.iterator_id];
    if (known == nullptr || batch.begin_ns < known->begin_ns) known = &batch;
  }
  double bytes = 0.0;
  for (const auto& [pass, batch] : first) bytes += static_cast<double>(batch->io.read_bytes);
  return bytes;
}

/// What a worker reads before it makes its first batch (a position to resume from, a table of shards) is of no sample.
Makers makers_of(const RunData& run, const Consumer& consumer) {
  std::set<std::int64_t> pids;
  for (const Pass& pass : consumer.passes) pids.insert(pass.worker_pids.begin(), pass.worker_pids.end());
  const auto data = files_read(run);
  Makers makers;
  for (const record::ProcessRecording& process : run.processes) {
    if (process.batches.empty() || !pids.contains(process.info.pid)) continue;
    const auto earlier = [](const record::BatchRecord& a, const record::BatchRecord& b) {
      return a.begin_ns < b.begin_ns;
    };
    const std::uint64_t begin_ns = std::min_element(process.batches.begin(), process.batches.end(), earlier)->begin_ns;
    for (const record::FileRecord& file : process.files) {
      if (file.begin_ns >= begin_ns && data.contains(file.file_id))
        makers.bytes += static_cast<double>(file.read_bytes);
    }
    makers.bytes -= read_at_first(process);
    makers.batches += process.batches.size();
    for (const record::BatchRecord& batch : process.batches) {
      makers.samples += static_cast<double>(batch.samples);
      makers.counted += batch.samples > 0 ? 1 : 0;
    }
  }
  return makers;
}

/// What a sample takes is not known where many batches do not say how many they hold.
bool tell_enough(const Makers& makers) {
  return makers.batches >= k_fewest_batches_read_beside &&
         static_cast<double>(makers.counted) >= k_most_batches_counted * static_cast<double>(makers.batches);
}

std::string kilobytes(double bytes) {
  return std::to_string(std::lround(bytes / 1e3)) + " kB";
}

}  // namespace

std::optional<ReadBeside> read_beside(const std::vector<RankView>& ranks) {
  if (ranks.empty() || !ranks.front().window.loader.is_stream()) return std::nullopt;
  const RunData& run = *ranks.front().run;
  const double made = read_per_sample(ranks);
  if (made <= 0.0 || !unseen_reading(run, ranks).empty()) return std::nullopt;
  const Makers makers = makers_of(run, *ranks.front().consumer);
  if (!tell_enough(makers)) return std::nullopt;
  const ReadBeside seen{made, makers.bytes / makers.samples};
  const bool much = seen.takes >= static_cast<double>(record::k_hardly_read_bytes);
  return much && made < k_most_read_beside * seen.takes ? std::optional<ReadBeside>(seen) : std::nullopt;
}

void note_read_beside(const ReadBeside& seen, Profile& profile) {
  profile.job.composition = "overlapped";
  profile.dataset.bytes_per_sample = Measured<BytesPerSample>::absent(k_read_beside);
  profile.dataset.bytes_total = Measured<Bytes>::absent(k_read_beside);
  profile.dataset.stored_bytes_per_sample = Measured<BytesPerSample>::absent(k_read_beside);
  add_issue(profile.issues,
            {"read-far-ahead", Severity::warning, 1,
             "of " + kilobytes(seen.takes) + " that a sample takes, " + kilobytes(seen.made) +
                 " were read while its batch was made: the loader's readers read far ahead. While what "
                 "they had read before the first step lasts, steps are quicker than later",
             "record for as long as several files last: stallcast profile --phases as_is --budget 10m; or "
             "have it read less ahead (of pyarrow's datasets: pre_buffer=False, smaller row groups)"});
}

void leave_out_shares(Profile& profile) {
  profile.resources.bytes_from_storage = Measured<Fraction>::absent(k_read_beside);
  profile.page_cache.hit = MeasuredEstimate<Fraction>::absent(k_read_beside);
  profile.page_cache.epochs.clear();
}

}  // namespace stallcast::sections
