#include "analyzer/reads/stock.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "analyzer/reads/constants.hpp"
#include "analyzer/reads/files_read.hpp"
#include "analyzer/reads/from_storage.hpp"

namespace stallcast::sections {
namespace {

/// What the first batches of a process read, one of each pass: a buffer that is filled before it gives anything takes
/// as much from then on as it gives.
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

std::string kilobytes(double bytes) {
  return std::to_string(std::lround(bytes / 1e3)) + " kB";
}

}  // namespace

std::optional<Stock> stock_of(const RunData& run, const std::vector<RankView>& ranks) {
  if (ranks.empty() || ranks.front().window.loader.kind != "iterable") return std::nullopt;
  double bytes = 0.0;
  double samples = 0.0;
  double as_found = 0.0;
  std::size_t batches = 0;
  for (const auto& [id, file] : files_read(run)) bytes += file.read_bytes;
  for (const record::ProcessRecording& process : run.processes) {
    bytes -= read_at_first(process);
    batches += process.batches.size();
    for (const record::BatchRecord& batch : process.batches) samples += static_cast<double>(batch.samples);
  }
  for (const RankView& rank : ranks) {
    for (const SteadyStep& step : rank.window.steps) as_found += step.samples;
  }
  if (batches < k_fewest_batches_of_stock || samples <= 0.0) return std::nullopt;
  const Stock stock{read_per_sample(ranks), bytes / samples, as_found / samples};
  if (stock.all < static_cast<double>(record::k_hardly_read_bytes)) return std::nullopt;
  return stock.found < k_most_read_from_stock * stock.all ? std::optional<Stock>(stock) : std::nullopt;
}

void tell_stock(const RunData& run, const std::vector<RankView>& ranks, Profile& profile) {
  const auto stock = stock_of(run, ranks);
  if (!stock) return;
  Dataset& dataset = profile.dataset;
  if (stock->share_as_found >= k_most_of_run) {
    dataset.bytes_per_sample = BytesPerSample(stock->all);
    const auto& samples = profile.job.dataset_samples;
    if (samples) dataset.bytes_total = Bytes(stock->all * static_cast<double>(*samples));
    return;
  }
  const char* const why =
      "its readers read far ahead, and the steps as found lived on what they had: that is not the job's own pace";
  profile.rates.as_is = MeasuredEstimate<SamplesPerSecond>::absent(why);
  Stalls& stalls = profile.stalls;
  for (auto* stall : {&stalls.as_is_wait, &stalls.as_is_fetch, &stalls.as_is_prep, &stalls.as_is_receive,
                      &stalls.as_is_sampler, &stalls.as_is_interference}) {
    *stall = MeasuredEstimate<Fraction>::absent(why);
  }
  dataset.bytes_per_sample = Measured<BytesPerSample>::absent(why);
  dataset.bytes_total = Measured<Bytes>::absent(why);
  add_issue(profile.issues,
            {"read-far-ahead", Severity::warning, 1,
             "batches as found read " + kilobytes(stock->found) +
                 " for a sample while they were made, and all of "
                 "the run took " +
                 kilobytes(stock->all) +
                 ": the loader's readers read far ahead, and what they had "
                 "read lasted longer than was measured as found",
             "record for as long as several files last: stallcast profile --phases as_is --budget 10m; or have "
             "it read less ahead (of pyarrow's datasets: pre_buffer=False, smaller row groups)"});
}

}  // namespace stallcast::sections
