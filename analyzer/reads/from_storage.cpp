#include "analyzer/reads/from_storage.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "analyzer/load/tick_span.hpp"
#include "analyzer/reads/constants.hpp"
#include "analyzer/reads/network.hpp"
#include "analyzer/reads/unseen.hpp"

namespace stallcast::sections {
namespace {

/// Bytes that the consuming processes read from files which they began with their first batch or later, for one sample.
double file_bytes_per_sample(const RunData& run, const std::vector<RankView>& ranks) {
  double bytes = 0.0;
  double samples = 0.0;
  for (const RankView& rank : ranks) {
    std::uint64_t begin_ns = UINT64_MAX;
    for (const Pass* pass : rank.window.passes) {
      for (const Delivery& delivery : pass->deliveries) {
        begin_ns = std::min(begin_ns, delivery.wait.begin_ns);
        samples += delivery.wait.samples;
      }
    }
    for (const record::ProcessRecording& process : run.processes) {
      if (process.info.pid != rank.consumer->pid || process.info.host != rank.consumer->host) continue;
      for (const record::FileRecord& file : process.files) {
        if (file.begin_ns >= begin_ns) bytes += static_cast<double>(file.read_bytes);
      }
    }
  }
  return samples > 0.0 ? bytes / samples : 0.0;
}

/// Of loaders that mark no batch's making: all that the consuming processes read from storage meanwhile, over all that
/// they read. What they read through maps is part of the former alone, so where that may be much there is no share; nor
/// where hardly a file was read: what comes over the network is in neither.
Measured<Fraction> share_of_processes(const RunData& run, const TickSpan& span, const std::vector<RankView>& ranks) {
  if (file_bytes_per_sample(run, ranks) < k_least_file_bytes_of_sample) {
    return Measured<Fraction>::absent("hardly a file was seen being read: maps and the network are read unseen");
  }
  double read = 0.0;
  double stored = 0.0;
  double mapped = 0.0;
  for (const RankView& rank : ranks) {
    const auto of_rank = [&](const ProcessTick& process) { return process.pid == rank.consumer->pid; };
    const auto first = std::find_if(span.first->processes.begin(), span.first->processes.end(), of_rank);
    const auto last = std::find_if(span.last->processes.begin(), span.last->processes.end(), of_rank);
    if (first == span.first->processes.end() || last == span.last->processes.end() || first->rchar < 0 ||
        first->read_bytes < 0 || last->rchar < first->rchar || last->read_bytes < first->read_bytes) {
      return Measured<Fraction>::absent("/proc/PID/io of a process that trains could not be read");
    }
    read += static_cast<double>(last->rchar - first->rchar);
    stored += static_cast<double>(last->read_bytes - first->read_bytes);
  }
  for (const record::ProcessRecording& process : run.processes) {
    mapped += static_cast<double>(process.info.mapped_bytes);
  }
  if (read <= 0.0 && stored <= 0.0) return Measured<Fraction>::absent("no read of a file was seen");
  if (mapped > k_hardly_mapped * read && stored > k_hardly_mapped * std::min(read, mapped)) {
    return Measured<Fraction>::absent("the job maps its files: how much of them it reads is not seen");
  }
  return read > 0.0 ? std::min(1.0, stored / read) : 1.0;
}

}  // namespace

double read_per_sample(const std::vector<RankView>& ranks) {
  double read = 0.0;
  double samples = 0.0;
  for (const RankView& rank : ranks) {
    for (const SteadyStep& step : rank.window.steps) {
      if (!step.delivery->made_known) continue;
      read += static_cast<double>(step.delivery->made.io.read_bytes);
      samples += step.samples;
    }
  }
  return samples > 0.0 ? read / samples : 0.0;
}

/// By the interposer: what the kernel limits is real storage, and /proc says what came from it.
bool storage_is_emulated(const RunData& run) {
  if (run.log.emulation.with == "kernel") return false;
  const auto& settings = run.log.emulation.settings;
  return std::any_of(settings.begin(), settings.end(),
                     [](const auto& item) { return item.first.starts_with("storage_"); });
}

Measured<Fraction> storage_share(const RunData& run, const std::vector<RankView>& ranks) {
  const double read = read_per_sample(ranks);
  const double received = received_per_sample(ranks);
  if (received > 0.0 && received >= k_all_received * read) return 1.0;
  if (storage_is_emulated(run)) {
    const auto& hit = run.log.emulation.hit_bytes;
    if (!hit) return Measured<Fraction>::absent(hit.reason());
    return read > 0.0 ? 1.0 - *hit * (read - received) / read : 1.0 - *hit;
  }
  const TickSpan span = delivering_span(run);
  if (!span.known()) return Measured<Fraction>::absent(why_no_span(run));
  const std::string unseen = unseen_reading(run, ranks);
  if (!unseen.empty()) return Measured<Fraction>::absent(unseen);
  const bool by_process = !ranks.empty() && ranks.front().window.loader.composition != "serial";
  if (read <= 0.0 && by_process) return share_of_processes(run, span, ranks);
  if (read <= 0.0) return Measured<Fraction>::absent("no read of a file was seen while batches were made");
  return std::min(1.0, (span.storage_bytes() / span.samples + received) / read);
}

}  // namespace stallcast::sections
