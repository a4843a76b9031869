/// What storage gives of a sample, as the cold blocks of a phased run show it: more than the sample reads where the
/// kernel reads ahead in large files, and all that is known of it where the data are read through maps of files.
#include <algorithm>

#include "analyzer/blocks/constants.hpp"
#include "analyzer/blocks/rounds.hpp"
#include "analyzer/load/tick_span.hpp"
#include "analyzer/profile/dataset_bytes.hpp"
#include "analyzer/reads/from_storage.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {
namespace {

struct ColdReading {
  double samples = 0.0;
  double storage_bytes = 0.0;
  double file_bytes = 0.0;  ///< of maps, summed over batches
  double batches = 0.0;     ///< that were made of maps

  [[nodiscard]] bool known() const { return samples > 0.0 && storage_bytes > 0.0; }
  [[nodiscard]] double stored() const { return storage_bytes / samples; }
};

ColdReading cold_reading(const PhaseRounds& data, bool of_maps) {
  ColdReading sum;
  for (const PhaseBlock& block : data.blocks) {
    const PhaseEvidence& seen = block.evidence;
    if (block.run.phase != record::Phase::cold || !block.rejected.empty() || is_of_maps(seen) != of_maps) continue;
    if (!seen.storage_known) continue;
    sum.samples += of_maps ? seen.mapped.samples : seen.samples;
    sum.storage_bytes += seen.storage_bytes;
    sum.file_bytes += seen.mapped.file_bytes;
    sum.batches += static_cast<double>(seen.mapped.batches);
  }
  return sum;
}

Measured<BytesPerSample> storage_bytes_as_found(const RunData& run) {
  const TickSpan span = delivering_span(run);
  if (!span.known()) return Measured<BytesPerSample>::absent(why_no_span(run));
  return BytesPerSample(span.storage_bytes() / span.samples);
}

}  // namespace

void fill_stored(const RunData& run, const PhaseRounds& data, Profile& profile) {
  const ColdReading cold = cold_reading(data, false);
  if (!cold.known() || !profile.dataset.bytes_per_sample || storage_is_emulated(run)) return;
  profile.dataset.stored_bytes_per_sample = BytesPerSample(cold.stored());
  const auto found = storage_bytes_as_found(run);
  if (!found || !more_than_needed(profile.dataset, profile.job.dataset_samples)) return;
  // What was read ahead for one sample and served another did not come from storage for that one.
  profile.resources.bytes_from_storage = std::min(1.0, found->value() / cold.stored());
}

bool fill_mapped(const std::vector<Launch>& launches, const PhaseRounds& data, Profile& profile) {
  const ColdReading cold = cold_reading(data, true);
  if (!cold.known()) return false;
  const double stored = cold.stored();
  profile.dataset.stored_bytes_per_sample = BytesPerSample(stored);
  profile.dataset.bytes_total = Bytes(cold.file_bytes / cold.batches);
  profile.dataset.bytes_per_sample = Measured<BytesPerSample>::absent(
      "the data are read through maps of their files (mmap): what storage gives of a "
      "sample was counted, not what a sample takes");
  const auto found = storage_bytes_as_found(*launches.front().run);
  if (!found) return false;
  profile.resources.bytes_from_storage = std::min(1.0, found->value() / stored);
  return found->value() >= k_all_stored_as_found * stored;
}

}  // namespace stallcast::sections
