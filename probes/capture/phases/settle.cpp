#include "probes/capture/phases/settle.hpp"

#include <algorithm>

#include "probes/capture/emulation/emulate.hpp"
#include "probes/capture/hooks/hook.hpp"
#include "probes/capture/paths.hpp"
#include "probes/capture/phases/phase.hpp"
#include "probes/capture/phases/populated.hpp"
#include "probes/capture/phases/stream_files.hpp"

namespace stallcast::capture {
namespace {

constexpr auto k_relaxed = std::memory_order_relaxed;
/// The kernel caches files in blocks of up to this size and alignment, and drops only whole ones.
constexpr std::uint64_t k_block = 2ULL << 20;

record::Evict permission() {
  return static_cast<record::Evict>(process().writer.control->evict);
}

/// Drops the part's pages and says how many bytes are left. The second try takes along the blocks that the part begins
/// and ends in the middle of, and finds what was under way the first time.
std::uint64_t evict(const FilePart& part) {
  drop_pages(part.fd, part.range);
  std::uint64_t left = resident_in(part.fd, *part.file, part.range).bytes;
  if (left == 0) return 0;
  const std::uint64_t first = part.range.offset / k_block * k_block;
  const std::uint64_t end = (part.range.offset + part.range.bytes + k_block - 1) / k_block * k_block;
  drop_pages(part.fd, {first, end - first});
  return resident_in(part.fd, *part.file, part.range).bytes;
}

}  // namespace

bool is_own(const FilePart& part) {
  return is_populated_by_run(part.key) || is_populated_by_run(file_key(*part.file));
}

void settle(PhaseSeen& seen, const FilePart& part) {
  seen.opened_bytes.fetch_add(part.range.bytes, k_relaxed);
  if (emulating()) {
    // The emulated storage says what counts as cached, wherever the bytes really are: nothing is evicted.
    const bool cached = !part.is_cold && phase_state()->treatment.load(k_relaxed) != Treatment::look;
    if (cached) seen.resident_bytes.fetch_add(part.range.bytes, k_relaxed);
    return;
  }
  const Resident found = resident_in(part.fd, *part.file, part.range);
  const record::Evict may = permission();
  if (!found.known) {
    seen.unknown_opens.fetch_add(1, k_relaxed);
    if (part.is_cold && may == record::Evict::all) drop_pages(part.fd, part.range);
    return;
  }
  if (found.bytes == 0) {
    claim_populated(part.key);
    return;
  }
  std::uint64_t left = found.bytes;
  if (part.is_cold) {
    const bool own = is_own(part);
    if (!own && may != record::Evict::all) seen.foreign_bytes.fetch_add(found.bytes, k_relaxed);
    if (may == record::Evict::all || (may == record::Evict::own && own)) left = evict(part);
    seen.evicted_bytes.fetch_add(found.bytes - std::min(left, found.bytes), k_relaxed);
  }
  seen.resident_bytes.fetch_add(left, k_relaxed);
}

bool clear_pages(const FilePart& part) {
  if (emulating()) return false;
  const Resident found = resident_in(part.fd, *part.file, part.range);
  if (!found.known) return false;
  if (found.bytes == 0) {
    claim_populated(part.key);
    return true;
  }
  const record::Evict may = permission();
  const bool allowed = may == record::Evict::all || (may == record::Evict::own && is_own(part));
  return allowed && evict(part) == 0;
}

bool is_cold(const PhaseState& state, std::uint64_t id) {
  const Treatment treatment = state.treatment.load(k_relaxed);
  if (state.is_stream.load(k_relaxed) != 0 && files_are_shared()) return false;
  if (treatment == Treatment::half) return record::is_cold_half(id, state.seed.load(k_relaxed));
  return treatment == Treatment::cold;
}

PhaseState* looking_state() {
  PhaseState* state = phase_state();
  return state != nullptr && process().writer.control != nullptr && owns_memory(t_thread) ? state : nullptr;
}

}  // namespace stallcast::capture
