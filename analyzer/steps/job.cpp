/// Who ran what: job, ranks, data set, and the machine as the replay sees it.
#include "analyzer/steps/job.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "analyzer/load/marks.hpp"
#include "analyzer/statistics/statistics.hpp"
#include "analyzer/steps/constants.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {
namespace {

using nlohmann::json;

Measured<std::int64_t> count_or(std::int64_t value, const char* reason) {
  return value >= 0 ? Measured<std::int64_t>(value) : Measured<std::int64_t>::absent(reason);
}

Measured<bool> flag_or(int value, const char* reason) {
  return value >= 0 ? Measured<bool>(value == 1) : Measured<bool>::absent(reason);
}

void fill_loader(const LoaderFacts& loader, Job& job) {
  constexpr const char* k_unsaid = "the loader does not say";
  job.loader_kind = loader.kind;
  job.composition = loader.composition;
  job.dataset_type = loader.dataset_type;
  job.multiprocessing_context = loader.multiprocessing_context;
  job.batch_size = count_or(loader.batch_size, k_unsaid);
  job.num_workers = count_or(loader.num_workers, k_unsaid);
  job.prefetch_factor = count_or(loader.prefetch_factor,
                                 loader.num_workers == 0 ? "a loader without workers does not prefetch" : k_unsaid);
  job.pin_memory = flag_or(loader.pin_memory, k_unsaid);
  job.persistent_workers = flag_or(loader.persistent_workers, k_unsaid);
  job.in_order = flag_or(loader.in_order, k_unsaid);
  job.drop_last = flag_or(loader.drop_last, k_unsaid);
  job.shuffled = flag_or(loader.shuffled, k_unsaid);
  job.dataset_samples = count_or(loader.dataset_samples,
                                 "the data set does not say how long it is, and no whole pass over it was recorded");
}

/// What the loader behind a queue says of itself, and of the data set where its batches are those of the steps.
void fill_behind(const LoaderFacts& behind, const SteadyWindow& window, Job& job) {
  Job said;
  fill_loader(behind, said);
  job.multiprocessing_context = said.multiprocessing_context;
  job.num_workers = said.num_workers;
  job.prefetch_factor = said.prefetch_factor;
  job.pin_memory = said.pin_memory;
  job.persistent_workers = said.persistent_workers;
  job.in_order = said.in_order;
  job.drop_last = said.drop_last;
  job.shuffled = said.shuffled;
  const auto whole = std::count_if(window.steps.begin(), window.steps.end(), [&](const SteadyStep& step) {
    return step.samples == static_cast<double>(behind.batch_size);
  });
  const bool mostly = whole > 0 && 4 * whole >= 3 * static_cast<std::ptrdiff_t>(window.steps.size());
  if (!mostly || job.batch_size) return;
  job.batch_size = said.batch_size;
  job.dataset_samples = said.dataset_samples;
}

/// Threads that a worker's tensor library uses, as the worker says.
Measured<std::int64_t> worker_threads(Nodes nodes) {
  for (const record::ProcessRecording* process : processes_of(nodes)) {
    for (const record::TextEntry& entry : process->texts) {
      if (entry.kind != record::TextKind::process) continue;
      const json text = json::parse(entry.json, nullptr, false);
      if (!text.is_object() || word(text, "role") != "worker") continue;
      const auto threads = text.find("torch_threads");
      if (threads != text.end() && threads->is_number_integer()) return threads->get<std::int64_t>();
    }
  }
  return Measured<std::int64_t>::absent("no worker process described itself");
}

/// What the consumer's optimizers said of their gradients.
Measured<Bytes> gradient_bytes(const RunData& run, const Consumer& consumer) {
  double sum = 0.0;
  for (const json& mark : marks_of(run, consumer, "gradients")) {
    const auto bytes = mark.find("bytes");
    if (bytes != mark.end() && bytes->is_number_unsigned()) sum += bytes->get<double>();
  }
  return sum > 0.0 ? Measured<Bytes>(Bytes(sum)) : Measured<Bytes>::absent("no step of an optimizer showed any");
}

/// What the first batch of `loader` took.
Measured<BytesPerSample> prepared_bytes(const RunData& run, const Consumer& consumer, std::uint64_t loader) {
  for (const json& mark : marks_of(run, consumer, "prepared")) {
    const auto number = [&](const char* key) {
      const auto found = mark.find(key);
      return found != mark.end() && found->is_number_unsigned() ? found->get<double>() : -1.0;
    };
    const double samples = number("samples");
    if (number("loader_id") != static_cast<double>(loader) || samples < 1.0 || number("bytes") < 0.0) continue;
    return BytesPerSample(number("bytes") / samples);
  }
  return Measured<BytesPerSample>::absent("no batch of tensors or arrays was seen");
}

/// A size that no job has is damage.
int world_of(const Consumer& consumer) {
  return consumer.world_size <= k_most_ranks_of_job ? static_cast<int>(consumer.world_size) : 1;
}

}  // namespace

std::string milliseconds(double seconds) {
  char text[32] = "";
  std::snprintf(text, sizeof text, "%.3g ms", 1e3 * seconds);
  return text;
}

bool uses_cuda(const RankView& rank) {
  for (const GpuRecording& gpu : rank.run->gpus) {
    const bool looked = gpu.pid == rank.consumer->pid && gpu.absent.empty() && (gpu.always || gpu.opened > 0);
    if (looked && !gpu.library.empty() && gpu.records == 0 && gpu.dropped == 0) return false;
  }
  return rank.consumer->description.find("\"cuda\": true") != std::string::npos ||
         rank.consumer->description.find("\"cuda\":true") != std::string::npos;
}

Job job_of(Nodes nodes, const std::vector<RankView>& ranks) {
  Job job;
  for (const Launch& node : nodes) job.ranks_expected = std::max(job.ranks_expected, node.run->log.ranks_expected);
  for (const RankView& rank : ranks) job.ranks_expected = std::max(job.ranks_expected, world_of(*rank.consumer));
  if (ranks.empty()) {
    job.loader_kind = "none";
    for (const Launch& node : nodes) {
      for (const Consumer& consumer : node.run->consumers) {
        job.loaders_seen = std::max(job.loaders_seen, static_cast<int>(consumer.loaders.size()));
      }
    }
    return job;
  }
  const RankView& first = ranks.front();
  const json text = json::parse(first.consumer->description, nullptr, false);
  if (text.is_object()) {
    job.framework = word(text, "framework");
    job.framework_version = word(text, text.contains("framework_version") ? "framework_version" : "torch");
    job.python_version = word(text, "python");
  } else {
    job.framework = "c_api";
  }
  fill_loader(first.window.loader, job);
  if (first.consumer->behind) fill_behind(first.consumer->behind->facts, first.window, job);
  job.threads_per_worker = worker_threads(nodes);
  const double steps = first.window.optimizer_steps_per_batch;
  if (steps > 0.0) {
    job.batches_per_step = std::max<std::int64_t>(1, std::llround(1.0 / steps));
  } else {
    job.batches_per_step = Measured<std::int64_t>::absent("no optimizer step was seen; a batch is taken for a step");
  }
  job.gradient_bytes = gradient_bytes(*first.run, *first.consumer);
  job.prepared = prepared_bytes(*first.run, *first.consumer, first.window.loader.loader_id);
  job.loaders_seen = first.window.loaders_seen;
  job.ranks_seen = static_cast<int>(ranks.size());
  job.ranks_expected = std::max(job.ranks_expected, job.ranks_seen);
  job.ranks_together = ranks.size() < 2 || std::any_of(ranks.begin(), ranks.end(), [](const RankView& rank) {
                         return rank.consumer->world_size > 1;
                       });
  return job;
}

std::vector<Rank> ranks_of(const std::vector<RankView>& ranks) {
  std::vector<Rank> rows;
  for (const RankView& view : ranks) {
    Rank row;
    row.rank = view.consumer->rank >= 0 ? static_cast<int>(view.consumer->rank) : static_cast<int>(rows.size());
    row.host = view.consumer->host;
    row.pid = view.consumer->pid;
    row.batches = view.window.deliveries;
    std::vector<double> lengths;
    std::vector<double> waits;
    std::vector<double> samples;
    for (const SteadyStep& step : view.window.steps) {
      lengths.push_back(step.step_s());
      waits.push_back(step.wait_s);
      samples.push_back(step.samples);
    }
    const Estimate<double> rate = ratio_of_sums(samples, lengths);
    const Estimate<double> wait = ratio_of_sums(waits, lengths);
    if (rate.mean > 0.0) {
      row.rate = Estimate<SamplesPerSecond>{SamplesPerSecond(rate.mean), SamplesPerSecond(rate.ci95_low),
                                            SamplesPerSecond(rate.ci95_high), rate.n};
    } else {
      row.rate = MeasuredEstimate<SamplesPerSecond>::absent("the loader does not say how many samples a batch has");
    }
    row.wait = Estimate<Fraction>{wait.mean, std::max(0.0, wait.ci95_low), std::min(1.0, wait.ci95_high), wait.n};
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace stallcast::sections
