/// What the evidence of a block says about the claim that its phase makes.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

#include "analyzer/blocks/blocks.hpp"
#include "analyzer/blocks/constants.hpp"
#include "analyzer/load/constants.hpp"
#include "analyzer/load/phase_name.hpp"

namespace stallcast {
namespace {

using record::Phase;

bool is_cached(Phase phase) {
  return phase == Phase::cached || phase == Phase::supply_cached || phase == Phase::perturb_cpu ||
         phase == Phase::perturb_read;
}

bool is_cold(Phase phase) {
  return phase == Phase::cold || phase == Phase::supply_cold;
}

std::string percent(double part, double whole) {
  const double share = whole > 0.0 ? 100.0 * part / whole : 0.0;
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %%", share);
  return text;
}

std::string of_samples(const MappedEvidence& mapped) {
  return percent(static_cast<double>(mapped.major_faults), mapped.samples) +
         " as many page faults that waited for storage as samples";
}

/// Page faults tell which pages a sample needs only when it has them: what is mapped must be out of memory as a whole.
Premise cold_of_maps(const PhaseEvidence& seen, Premise premise) {
  const MappedEvidence& mapped = seen.mapped;
  premise.expected = "at most 2 % of the mapped files resident when a batch begins, bytes from storage";
  premise.check = "residency, storage_bytes, page faults";
  const bool asked = mapped.unknown_files == 0 && mapped.file_bytes > 0.0;
  premise.seen = asked ? percent(mapped.resident_bytes, mapped.file_bytes) + " of the mapped files resident"
                       : "residency of mapped files cannot be asked";
  if (mapped.foreign_bytes > 0.0)
    premise.seen += " (" + percent(mapped.foreign_bytes, mapped.file_bytes) + " not ours to evict)";
  premise.seen += ", " + of_samples(mapped);
  const bool stored = seen.storage_known && seen.storage_bytes > 0.0 && mapped.major_faults > 0;
  premise.holds = asked && stored && mapped.resident_bytes <= k_most_resident_if_cold * mapped.file_bytes;
  return premise;
}

Premise cached_of_maps(const PhaseEvidence& seen, Premise premise) {
  premise.expected = "a page fault that waited for storage in at most 2 % of the samples of mapped files";
  premise.check = seen.storage_known ? "page faults, storage_bytes" : "page faults";
  premise.seen = of_samples(seen.mapped);
  const double few = k_most_stored_if_cached * seen.mapped.samples;
  const bool quiet = !seen.storage_known || seen.storage_bytes <= few * k_read_around_fault;
  if (!quiet) premise.seen += ", more bytes from storage than these would bring";
  premise.holds = static_cast<double>(seen.mapped.major_faults) <= few && quiet;
  return premise;
}

Premise half_of_maps(Premise premise) {
  premise.check = "page faults";
  premise.expected = "half of the files out of memory";
  premise.seen = "the data are read through maps of their files, of which no half is evicted";
  premise.holds = false;
  return premise;
}

Premise cold_premise(const PhaseBlock& block, Premise premise) {
  const PhaseEvidence& seen = block.evidence;
  premise.expected = "at most 2 % of the opened bytes resident, at least 90 % of the read bytes from storage";
  // What is read twice is fetched once.
  const double once = seen.page_bytes > 0.0 ? seen.page_bytes : seen.opened_bytes;
  const double fetchable = once > 0.0 ? std::min(seen.read_bytes, once) : seen.read_bytes;
  const bool asked = seen.unknown_opens == 0 && seen.opened_bytes > 0.0;
  const bool evicted = !asked || seen.resident_bytes <= k_most_resident_if_cold * seen.opened_bytes;
  const bool stored = !seen.storage_known || seen.storage_bytes >= k_least_stored_if_cold * fetchable;
  premise.check = seen.storage_known ? (asked ? "residency, storage_bytes" : "storage_bytes") : "residency";
  premise.seen = (asked ? percent(seen.resident_bytes, seen.opened_bytes) + " resident" : "residency cannot be asked");
  if (seen.foreign_bytes > 0.0)
    premise.seen += " (" + percent(seen.foreign_bytes, seen.opened_bytes) + " not ours to evict)";
  premise.seen += seen.storage_known ? ", " + percent(seen.storage_bytes, fetchable) + " from storage"
                                     : ", bytes from storage not known";
  if (block.first_reads >= 0.0) {
    premise.seen += block.first_reads >= k_first_reads_of_block ? ", metadata as found" : ", metadata warm";
  }
  premise.holds = evicted && stored && (asked || seen.storage_known) && seen.read_bytes > 0.0;
  // What is made in a hold is little: in a stream the kernel may have read more ahead for it, or for what follows.
  const bool in_hold = block.run.iterable && block.run.phase == Phase::supply_cold && !block.produced;
  if (in_hold && premise.holds) {
    const double room = k_read_ahead_of_hold * fetchable;
    const double last_pages =
        std::min(k_page_bytes * static_cast<double>(seen.opens), k_last_pages_of_hold * fetchable);
    premise.holds = seen.storage_known && seen.storage_bytes >= fetchable - room &&
                    seen.storage_bytes <= fetchable + room + last_pages;
  }
  return premise;
}

/// Of ranges of large files, which are opened as a whole, only what was read has to be in memory.
bool reads_ranges(const PhaseEvidence& seen) {
  if (!(seen.page_bytes > 0.0)) return false;
  const bool as_many = seen.resident_bytes >= (1.0 - k_most_resident_if_cold) * seen.page_bytes;
  const double most = as_many ? k_most_read_of_granules : k_most_read_of_ranges;
  return seen.page_bytes < most * seen.opened_bytes;
}

Premise without_files(const PhaseEvidence& seen, Premise premise) {
  premise.expected = "no file to be read";
  premise.check = seen.storage_known ? "reads, storage_bytes" : "reads";
  const double bytes = std::max(seen.read_bytes, seen.storage_known ? seen.storage_bytes : 0.0) + seen.received_bytes;
  const double of_sample = seen.samples > 0.0 ? bytes / seen.samples : bytes;
  char text[48];
  std::snprintf(text, sizeof text, "%.0f bytes read for a sample", of_sample);
  premise.seen = text;
  premise.holds = of_sample <= k_no_file_bytes_of_sample;
  return premise;
}

Premise cached_premise(const PhaseBlock& block, Premise premise) {
  const PhaseEvidence& seen = block.evidence;
  if (block.without_files) return without_files(seen, std::move(premise));
  premise.expected = "at least 98 % of the opened bytes resident, at most 2 % of the read bytes from storage";
  const bool asked = seen.unknown_opens == 0 && seen.opened_bytes > 0.0;
  const bool resident = asked && seen.resident_bytes >= (1.0 - k_most_resident_if_cold) * seen.opened_bytes;
  const double fetched = (seen.storage_known ? seen.storage_bytes : 0.0) + seen.received_bytes;
  const bool quiet = fetched <= k_most_stored_if_cached * seen.read_bytes;
  const bool by_storage = (!asked || reads_ranges(seen)) && seen.storage_known && seen.read_bytes > 0.0;
  premise.check = !seen.storage_known ? "residency" : asked ? "residency, storage_bytes" : "storage_bytes";
  premise.seen = asked ? percent(seen.resident_bytes, seen.opened_bytes) + " of the opened bytes resident"
                       : "residency cannot be asked";
  if (seen.storage_known) premise.seen += ", " + percent(seen.storage_bytes, seen.read_bytes) + " from storage";
  if (seen.received_bytes > 0.0) {
    premise.seen += ", " + percent(seen.received_bytes, seen.read_bytes) + " over the network";
  }
  premise.holds = quiet && (resident || by_storage);
  return premise;
}

}  // namespace

bool is_of_maps(const PhaseEvidence& seen) {
  return seen.mapped.batches > 0 &&
         seen.read_bytes < static_cast<double>(record::k_hardly_read_bytes) * seen.mapped.samples;
}

Premise check_premise(const PhaseBlock& block) {
  Premise premise;
  premise.phase = phase_name(block.run.phase);
  if (is_of_maps(block.evidence)) {
    if (is_cold(block.run.phase)) return cold_of_maps(block.evidence, premise);
    if (is_cached(block.run.phase)) return cached_of_maps(block.evidence, premise);
    if (block.run.phase == Phase::half_cached) return half_of_maps(premise);
  }
  if (is_cold(block.run.phase)) return cold_premise(block, premise);
  if (is_cached(block.run.phase)) return cached_premise(block, premise);
  premise.check = "none";
  premise.expected = premise.seen = "nothing to prove";
  premise.holds = true;
  return premise;
}

namespace {

/// Of a stream nothing was evicted and no sample carries an index: where the bytes came from says it.
Premise read_from_storage(const PhaseBlock& block) {
  const PhaseEvidence& seen = block.evidence;
  Premise premise;
  premise.phase = phase_name(Phase::first_touch);
  premise.check = "storage_bytes";
  premise.expected = "at least 90 % of the read bytes from storage";
  premise.seen = seen.storage_known ? percent(seen.storage_bytes, seen.read_bytes) + " from storage"
                                    : "bytes from storage not known";
  premise.holds =
      seen.storage_known && seen.read_bytes > 0.0 && seen.storage_bytes >= k_least_stored_if_cold * seen.read_bytes;
  return premise;
}

}  // namespace

Premise check_first_touch(const PhaseBlock& block) {
  if (!block.run.stream.empty()) return read_from_storage(block);
  const PhaseEvidence& seen = block.evidence;
  Premise premise;
  premise.phase = phase_name(Phase::first_touch);
  premise.check = "sample indices, residency";
  premise.expected =
      "at most 2 % of the samples read before by this run, at most 2 % of the opened bytes known as resident";
  const bool resident = seen.resident_bytes + seen.evicted_bytes > k_most_resident_if_cold * seen.opened_bytes;
  premise.seen = block.first_reads < 0.0 ? "the samples carry no index"
                                         : percent(1.0 - block.first_reads, 1.0) + " of the samples read before";
  premise.seen += ", " + percent(seen.resident_bytes + seen.evicted_bytes, seen.opened_bytes) + " known as resident";
  premise.holds = block.first_reads >= 1.0 - k_most_read_before && !resident && seen.read_bytes > 0.0;
  return premise;
}

}  // namespace stallcast
