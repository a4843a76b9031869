#include "analyzer/blocks/sums.hpp"

#include <algorithm>

namespace stallcast {
namespace {

void count_mapped(const record::MappedRecord& seen, double samples, MappedEvidence& sum) {
  ++sum.batches;
  sum.samples += samples;
  sum.file_bytes += static_cast<double>(seen.file_bytes);
  sum.resident_bytes += static_cast<double>(seen.resident_bytes);
  sum.foreign_bytes += static_cast<double>(seen.foreign_bytes);
  sum.unknown_files += seen.unknown_files;
  sum.major_faults += seen.major_faults;
}

void count_phase(const record::PhaseRecord& seen, double samples, PhaseEvidence& sum) {
  sum.storage_known = (sum.batches == 0 || sum.storage_known) && seen.storage_bytes != UINT64_MAX;
  ++sum.batches;
  sum.opens += seen.opens;
  sum.unknown_opens += seen.unknown_opens;
  sum.opened_bytes += static_cast<double>(seen.opened_bytes);
  sum.resident_bytes += static_cast<double>(seen.resident_bytes);
  sum.evicted_bytes += static_cast<double>(seen.evicted_bytes);
  sum.foreign_bytes += static_cast<double>(seen.foreign_bytes);
  sum.page_bytes += static_cast<double>(seen.page_bytes);
  sum.samples += samples;
  if (seen.storage_bytes == UINT64_MAX) return;
  sum.storage_bytes += static_cast<double>(seen.storage_bytes);
}

double waiting_s(const Delivery& delivery) {
  return static_cast<double>(delivery.wait.end_ns - delivery.wait.begin_ns) * 1e-9;
}

}  // namespace

BlockEvidence::BlockEvidence(const Consumer& consumer, const Pass& pass,
                             const std::vector<record::ProcessRecording>& processes) {
  for (const record::ProcessRecording& process : processes) {
    const auto& pids = pass.worker_pids;
    const bool made_here =
        process.info.pid == consumer.pid || std::find(pids.begin(), pids.end(), process.info.pid) != pids.end();
    if (!made_here) continue;
    for (const record::PhaseRecord& phase : process.phases) found_[{phase.iterator_id, phase.batch}].phase = &phase;
    for (const record::MappedRecord& maps : process.mapped) found_[{maps.iterator_id, maps.batch}].mapped = &maps;
  }
}

const BatchEvidence* BlockEvidence::of(const Delivery& delivery) const {
  if (!delivery.made_known) return nullptr;
  const auto found = found_.find({delivery.made.iterator_id, delivery.wait.batch});
  return found != found_.end() ? &found->second : nullptr;
}

std::span<const Delivery> deliveries_of(const Pass& pass, std::uint64_t first, std::uint64_t batches) {
  const auto by_number = [](const Delivery& delivery, std::uint64_t number) { return delivery.wait.batch < number; };
  const auto begin = std::lower_bound(pass.deliveries.begin(), pass.deliveries.end(), first, by_number);
  const auto end = std::lower_bound(begin, pass.deliveries.end(), first + batches, by_number);
  return {begin, end};
}

double samples_of(const Delivery& delivery, const LoaderFacts& loader) {
  if (delivery.wait.samples > 0) return delivery.wait.samples;
  return loader.batch_size > 0 ? static_cast<double>(loader.batch_size) : 1.0;
}

bool samples_are_known(const Delivery& delivery, const LoaderFacts& loader) {
  return delivery.wait.samples > 0 || loader.batch_size > 0;
}

double making_s(const Delivery& delivery) {
  return static_cast<double>(handed_over_ns(delivery.made) - delivery.made.begin_ns) * 1e-9;
}

double cpu_between(const Delivery& before, const Delivery& after) {
  if (before.wait.cpu_ns == 0 || after.wait.cpu_ns < before.wait.cpu_ns) return -1.0;
  return static_cast<double>(after.wait.cpu_ns - before.wait.cpu_ns) * 1e-9;
}

void count_making(const Delivery& delivery, PhaseBlock& block) {
  const double cpu_s = static_cast<double>(delivery.made.cpu_ns) * 1e-9;
  block.made_cpu_s = delivery.made_known && block.made_cpu_s >= 0.0 ? block.made_cpu_s + cpu_s : -1.0;
  block.made_wall_s = delivery.made_known && block.made_wall_s >= 0.0 ? block.made_wall_s + making_s(delivery) : -1.0;
}

void count_delivery(const Delivery& before, const Delivery& delivery, const LoaderFacts& loader, PhaseBlock& block) {
  block.samples += samples_of(delivery, loader);
  block.in_batches = block.in_batches || !samples_are_known(delivery, loader);
  block.wait_seconds += waiting_s(delivery);
  block.late_seconds += seconds_until_made(delivery);
  const double cpu = cpu_between(before, delivery);
  block.cpu_seconds = cpu < 0.0 || block.cpu_seconds < 0.0 ? -1.0 : block.cpu_seconds + cpu;
  count_making(delivery, block);
  ++block.batches;
}

void discount_delivery(const Delivery& before, const Delivery& delivery, const LoaderFacts& loader, PhaseBlock& block) {
  block.samples -= samples_of(delivery, loader);
  block.seconds -= static_cast<double>(delivery.wait.end_ns - before.wait.end_ns) * 1e-9;
  block.wait_seconds -= waiting_s(delivery);
  block.late_seconds -= seconds_until_made(delivery);
  block.cpu_seconds -= std::max(0.0, cpu_between(before, delivery));
  if (block.made_cpu_s >= 0.0) block.made_cpu_s -= static_cast<double>(delivery.made.cpu_ns) * 1e-9;
  if (block.made_wall_s >= 0.0) block.made_wall_s -= making_s(delivery);
  --block.batches;
  ++block.left_out;
}

void count_evidence(const Delivery& delivery, const LoaderFacts& loader, const BlockEvidence& evidence,
                    std::uint32_t segment, PhaseBlock& block) {
  if (delivery.made_known) block.evidence.read_bytes += static_cast<double>(delivery.made.io.read_bytes);
  block.evidence.received_bytes += static_cast<double>(delivery.received_bytes);
  const BatchEvidence* found = evidence.of(delivery);
  if (found == nullptr) return;
  const double samples = samples_of(delivery, loader);
  const auto speaks_of = [&](const record::RecordHeader& header) { return header.aux == segment; };
  if (found->mapped != nullptr && speaks_of(found->mapped->header)) {
    count_mapped(*found->mapped, samples, block.evidence.mapped);
  }
  if (found->phase != nullptr && speaks_of(found->phase->header)) count_phase(*found->phase, samples, block.evidence);
}

}  // namespace stallcast
