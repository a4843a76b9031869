/// Data that are read through maps of files, as the cold blocks of a phased run show them.
#include <algorithm>

#include "analyzer/phase_rounds.hpp"
#include "analyzer/sections.hpp"
#include "analyzer/tick_span.hpp"

namespace stallcast::sections {
namespace {

struct ColdReading {
  double samples = 0.0;
  double storage_bytes = 0.0;
  double file_bytes = 0.0;  ///< summed over batches
  double batches = 0.0;
};

ColdReading cold_reading(const PhaseRounds& data) {
  ColdReading sum;
  for (const PhaseBlock& block : data.blocks) {
    const PhaseEvidence& seen = block.evidence;
    if (block.run.phase != record::Phase::cold || !block.rejected.empty() || !is_of_maps(seen)) continue;
    sum.samples += seen.mapped.samples;
    sum.storage_bytes += seen.storage_bytes;
    sum.file_bytes += seen.mapped.file_bytes;
    sum.batches += static_cast<double>(seen.mapped.batches);
  }
  return sum;
}

Measured<BytesPerSample> storage_bytes_as_found(const RunData& run) {
  const TickSpan span = delivering_span(run);
  if (!span.known()) return Measured<BytesPerSample>::absent(k_no_span);
  return BytesPerSample(span.storage_bytes() / span.samples);
}

}  // namespace

bool reads_through_maps(const RunData& run, const std::vector<RankView>& ranks) {
  constexpr double k_much = 1e7;     // bytes, mapped and from storage: more than libraries that are loaded late
  constexpr double k_hardly = 0.10;  // of what came from storage
  double mapped = 0.0;
  for (const record::ProcessRecording& process : run.processes) {
    mapped += static_cast<double>(process.info.mapped_bytes);
  }
  // Of loaders that mark no batch's making, what read() gave is not known here.
  if (ranks.empty() || ranks.front().window.loader.composition != "serial") return false;
  const TickSpan span = delivering_span(run);
  if (mapped < k_much || !span.known() || span.storage_bytes() < k_much) return false;
  return read_per_sample(ranks) * span.samples < k_hardly * span.storage_bytes();
}

bool fill_mapped(const std::vector<Launch>& launches, const PhaseRounds& data, Profile& profile) {
  constexpr double k_all = 0.98;
  const ColdReading cold = cold_reading(data);
  if (cold.samples <= 0.0 || cold.storage_bytes <= 0.0) return false;
  const double stored = cold.storage_bytes / cold.samples;
  profile.dataset.stored_bytes_per_sample = BytesPerSample(stored);
  profile.dataset.bytes_total = Bytes(cold.file_bytes / cold.batches);
  profile.dataset.bytes_per_sample = Measured<BytesPerSample>::absent(
      "the data are read through maps of their files (mmap): what storage gives of a "
      "sample was counted, not what a sample takes");
  const auto found = storage_bytes_as_found(*launches.front().run);
  if (!found) return false;
  profile.resources.bytes_from_storage = std::min(1.0, found->value() / stored);
  return found->value() >= k_all * stored;
}

}  // namespace stallcast::sections
