/// The phase calls of the C API: the schedule, the consumer's line of the control block, begin and end of a batch.
#include "probes/capture/phases/phase.h"

#include <cstring>

#include "core/clock.hpp"
#include "probes/capture/export.hpp"
#include "probes/capture/phases/maps.hpp"
#include "probes/capture/phases/phase.hpp"
#include "probes/capture/phases/storage.hpp"
#include "probes/capture/phases/system_calls.hpp"
#include "probes/capture/thread.hpp"

namespace stallcast::capture {
namespace {

using record::Phase;

constexpr auto k_relaxed = std::memory_order_relaxed;
constexpr std::uint32_t k_no_segment = UINT32_MAX;

/// What the segment asks for.
struct Begin {
  Phase phase;
  std::uint32_t segment;
  std::uint64_t argument;
  std::uint32_t seed;
  std::uint64_t iterator_id;
  std::uint64_t batch;
  bool is_stream;
};

/// Whether states are still made in this run. What comes after the last of them is recorded and left alone.
bool measures(const record::ControlBlock& control) {
  return control.mode == static_cast<std::uint32_t>(record::RunMode::phased) && control.let_go.load(k_relaxed) == 0;
}

record::ControlBlock* phased_control() {
  if (enter_api() == nullptr) return nullptr;
  record::ControlBlock* control = process().writer.control;
  return control != nullptr && measures(*control) ? control : nullptr;
}

Treatment treatment_of(Phase phase) {
  switch (phase) {
    case Phase::cold:
    case Phase::supply_cold:
      return Treatment::cold;
    case Phase::cached:
    case Phase::supply_cached:
    case Phase::perturb_read:
    case Phase::perturb_cpu:
      return Treatment::cached;
    case Phase::half_cached:
      return Treatment::half;
    default:
      return Treatment::look;
  }
}

/// Sparse: only what is used of it costs memory. A fork child starts without it.
PhaseState* map_state(Process& self) {
  PhaseState* state = self.phase.load(std::memory_order_acquire);
  if (state != nullptr) return state;
  void* mapped =
      raw::map(sizeof(PhaseState), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == nullptr) return nullptr;
  raw::advise(mapped, sizeof(PhaseState), MADV_DONTFORK);
  if (self.phase.compare_exchange_strong(state, static_cast<PhaseState*>(mapped)))
    return static_cast<PhaseState*>(mapped);
  raw::unmap(mapped, sizeof(PhaseState));
  return state;
}

void clear(PhaseSeen& seen) {
  seen.opens.store(0, k_relaxed);
  seen.unknown_opens.store(0, k_relaxed);
  seen.opened_bytes.store(0, k_relaxed);
  seen.resident_bytes.store(0, k_relaxed);
  seen.evicted_bytes.store(0, k_relaxed);
  seen.foreign_bytes.store(0, k_relaxed);
  seen.page_bytes.store(0, k_relaxed);
  seen.largest_file.store(0, k_relaxed);
}

void begin_batch(PhaseState& state, const Begin& begin) {
  const bool is_planned = begin.segment != k_no_segment;
  const Treatment treatment = is_planned ? treatment_of(begin.phase) : Treatment::look;
  state.phase = static_cast<std::uint32_t>(begin.phase);
  const bool goes_on = begin.is_stream && state.is_stream.load(k_relaxed) != 0 && state.segment == begin.segment;
  state.is_stream.store(begin.is_stream ? 1 : 0, k_relaxed);
  state.segment = begin.segment;
  state.iterator_id = begin.iterator_id;
  state.batch = begin.batch;
  state.treatment.store(treatment, k_relaxed);
  state.seed.store(begin.seed, k_relaxed);
  state.read_delay_ns.store(begin.phase == Phase::perturb_read ? begin.argument : 0, k_relaxed);
  state.sample_work_ns.store(begin.phase == Phase::perturb_cpu ? begin.argument : 0, k_relaxed);
  const std::uint32_t serial = state.serial.load(k_relaxed) + 1;
  state.serial.store(serial != 0 ? serial : 1, k_relaxed);
  if (!goes_on) state.marks.store(state.serial.load(k_relaxed), k_relaxed);
  clear(state.seen);
  begin_maps(state, treatment == Treatment::cold);
  state.storage_begin = is_planned ? storage_bytes(state) : k_storage_unknown;
}

void begin_phase(const Begin& begin) {
  Process& self = process();
  PhaseState* state = map_state(self);
  if (state == nullptr || state->changing.exchange(1, std::memory_order_acquire) != 0) return;
  // A batch that was begun and never ended was not made (its sample raised): it leaves no evidence.
  self.in_phase.store(0, k_relaxed);
  begin_batch(*state, begin);
  self.in_phase.store(1, std::memory_order_release);
  state->changing.store(0, std::memory_order_release);
}

void write_phase(Thread& thread, PhaseState& state) {
  const std::uint64_t storage_end = storage_bytes(state);
  auto* found = reserve<record::PhaseRecord>(thread, record::Kind::phase, state.segment);
  if (found == nullptr) return;
  const PhaseSeen& seen = state.seen;
  found->iterator_id = state.iterator_id;
  found->batch = state.batch;
  found->phase = state.phase;
  found->opens = seen.opens.load(k_relaxed);
  found->unused_opens = 0;
  found->unknown_opens = seen.unknown_opens.load(k_relaxed);
  found->opened_bytes = seen.opened_bytes.load(k_relaxed);
  found->resident_bytes = seen.resident_bytes.load(k_relaxed);
  found->evicted_bytes = seen.evicted_bytes.load(k_relaxed);
  found->foreign_bytes = seen.foreign_bytes.load(k_relaxed);
  const bool known = state.storage_begin != k_storage_unknown && storage_end != k_storage_unknown;
  found->storage_bytes = known ? storage_end - state.storage_begin : k_storage_unknown;
  found->largest_file = seen.largest_file.load(k_relaxed);
  found->page_bytes = seen.page_bytes.load(k_relaxed);
  record::commit(thread.out);
}

/// What a batch found of the files that this process has mapped.
void write_mapped(Thread& thread, const PhaseState& state) {
  const MapsSeen& seen = state.maps;
  auto* found = seen.files > 0 ? reserve<record::MappedRecord>(thread, record::Kind::mapped, state.segment) : nullptr;
  if (found == nullptr) return;
  found->iterator_id = state.iterator_id;
  found->batch = state.batch;
  found->files = seen.files;
  found->unknown_files = seen.unknown;
  found->file_bytes = seen.file_bytes;
  found->resident_bytes = seen.resident_bytes;
  found->evicted_bytes = seen.evicted_bytes;
  found->foreign_bytes = seen.foreign_bytes;
  found->major_faults = major_faults() - seen.faults_begin;
  record::commit(thread.out);
}

/// Whether maps can be emptied at all shows in the first cold batches: the schedule need not wait for the analysis.
/// With a worker's first one, others still have mapped what they found before.
void count_cold_maps(const PhaseState& state, record::ControlBlock& control) {
  if (state.evicts_maps.load(k_relaxed) == 0 || state.maps.unknown > 0 || state.maps.is_first) return;
  control.cold_map_bytes.fetch_add(state.maps.file_bytes, k_relaxed);
  control.cold_map_resident_bytes.fetch_add(state.maps.resident_bytes, k_relaxed);
  control.cold_map_batches.fetch_add(1, std::memory_order_release);
}

/// A batch for which hardly anything was read while large files were mapped is made of these: cold ones are made
/// accordingly, and the schedule gives cached ones the time to come in.
void tell_of_maps(Thread& thread, PhaseState& state, record::ControlBlock& control) {
  constexpr std::uint64_t k_much = 10ULL << 20;
  if (state.maps.file_bytes < k_much || thread.batch.recorded == 0) return;
  if (thread.batch.io.read_bytes > record::k_hardly_read_bytes * (1 + thread.batch.samples)) return;
  control.maps_read.store(1, k_relaxed);
  tell_maps(thread, state);
}

/// This process's line, claimed if need be; nullptr: this run has no phases, or there are too many consumers.
record::PhaseSlot* own_slot() {
  record::ControlBlock* control = phased_control();
  if (control == nullptr) return nullptr;
  const Busy busy(t_thread);
  const record::RankSlot* rank = rank_slot(process());
  return rank != nullptr ? &control->phases[rank - control->ranks] : nullptr;
}

}  // namespace

void at_batch_begin() {
  Process& self = process();
  const record::ControlBlock* control = self.writer.control;
  if (control == nullptr || !measures(*control)) {
    self.in_phase.store(0, k_relaxed);
    return;
  }
  if (in_phase() && phase_state()->segment != k_no_segment) return;
  const raw::ErrnoKeeper keeper;
  const PhaseState* state = phase_state();
  const bool is_stream = state != nullptr && state->is_stream.load(k_relaxed) != 0;
  begin_phase({Phase::as_is, k_no_segment, 0, 0, 0, 0, is_stream});
}

}  // namespace stallcast::capture

using namespace stallcast;           // NOLINT(google-build-using-namespace): the C API is outside of it
using namespace stallcast::capture;  // NOLINT(google-build-using-namespace)

STALLCAST_EXPORT int stallcast_phased(void) {
  return phased_control() != nullptr ? 1 : 0;
}

STALLCAST_EXPORT int stallcast_segment(uint32_t index, uint64_t* out) {
  const record::ControlBlock* control = phased_control();
  if (control == nullptr || index >= record::k_max_segments) return 0;
  if (index >= control->segment_count.load(std::memory_order_acquire)) return 0;
  const record::Segment& segment = control->segments[index];
  const std::uint64_t fields[8] = {segment.first,   segment.batches,  segment.phase, segment.round,
                                   segment.at_once, segment.argument, segment.seed,  segment.made_as};
  memcpy(out, fields, sizeof(fields));
  return 1;
}

STALLCAST_EXPORT uint32_t stallcast_segments(void) {
  const record::ControlBlock* control = phased_control();
  return control != nullptr ? control->segment_count.load(std::memory_order_acquire) : 0;
}

STALLCAST_EXPORT int stallcast_data_received(void) {
  const record::ControlBlock* control = phased_control();
  return control != nullptr && control->data_received.load(k_relaxed) != 0 ? 1 : 0;
}

STALLCAST_EXPORT int stallcast_tool_alive(void) {
  constexpr std::uint64_t k_silent_ns = 3'000'000'000ULL;
  const record::ControlBlock* control = phased_control();
  return control != nullptr && monotonic_ns() < control->heartbeat_ns.load(k_relaxed) + k_silent_ns ? 1 : 0;
}

STALLCAST_EXPORT uint32_t stallcast_ahead(uint64_t* out) {
  const record::ControlBlock* control = phased_control();
  if (control == nullptr) return 0;
  const std::uint32_t serial = control->ahead_serial.load(std::memory_order_acquire);
  out[0] = control->ahead_first.load(k_relaxed);
  out[1] = control->ahead_batches.load(k_relaxed);
  return serial;
}

STALLCAST_EXPORT void stallcast_phase_slot(uint64_t turns, uint64_t pass_first, uint64_t pass_end, uint32_t passes,
                                           uint32_t workers, uint32_t prefetch, uint32_t missed, uint32_t support) {
  record::PhaseSlot* own = own_slot();
  if (own == nullptr) return;
  record::PhaseSlot& slot = *own;
  slot.pass_first.store(pass_first, k_relaxed);
  slot.pass_end.store(pass_end, k_relaxed);
  slot.passes.store(passes, k_relaxed);
  slot.workers.store(workers, k_relaxed);
  slot.prefetch.store(prefetch, k_relaxed);
  slot.missed.store(missed, k_relaxed);
  slot.support.store(support, k_relaxed);
  slot.turns.store(turns, k_relaxed);
  const bool armed = static_cast<record::PhaseSupport>(support) != record::PhaseSupport::none;
  slot.armed.store(armed ? 1 : 0, std::memory_order_release);
}

STALLCAST_EXPORT void stallcast_phase_turn(uint64_t turns) {
  if (record::PhaseSlot* slot = own_slot()) slot->turns.store(turns, std::memory_order_release);
}

STALLCAST_EXPORT int stallcast_phase_ready(uint32_t segment) {
  record::PhaseSlot* own = own_slot();
  if (own == nullptr) return 1;
  own->ready.store(segment + 1, std::memory_order_release);
  const record::ControlBlock* control = phased_control();
  if (control == nullptr) return 1;
  for (std::uint32_t rank = 0; rank < record::k_max_ranks; ++rank) {
    const record::PhaseSlot& slot = control->phases[rank];
    const bool counts = slot.armed.load(std::memory_order_acquire) != 0 && slot.at_end.load(k_relaxed) == 0;
    if (counts && slot.ready.load(std::memory_order_acquire) < segment + 1) return 0;
  }
  return 1;
}

STALLCAST_EXPORT void stallcast_phase_held(uint64_t nanoseconds) {
  if (record::PhaseSlot* slot = own_slot()) slot->held_ns.fetch_add(nanoseconds, k_relaxed);
}

STALLCAST_EXPORT void stallcast_phase_at_end(uint32_t how) {
  if (record::PhaseSlot* slot = own_slot()) slot->at_end.store(how, std::memory_order_release);
}

STALLCAST_EXPORT void stallcast_phase_begin(uint32_t phase, uint32_t segment, uint32_t stream, uint64_t argument,
                                            uint32_t seed, uint64_t iterator_id, uint64_t batch) {
  if (phased_control() == nullptr) return;
  const raw::ErrnoKeeper keeper;
  const Busy busy(t_thread);
  begin_phase({static_cast<Phase>(phase), segment, argument, seed, iterator_id, batch, stream != 0});
}

STALLCAST_EXPORT void stallcast_phase_end(void) {
  Thread* thread = enter_api();
  if (thread == nullptr) return;
  Process& self = process();
  PhaseState* state = self.phase.load(std::memory_order_acquire);
  if (state == nullptr || self.in_phase.exchange(0, std::memory_order_acquire) == 0) return;
  const raw::ErrnoKeeper keeper;
  const Busy busy(*thread);
  tell_of_maps(*thread, *state, *self.writer.control);
  if (state->segment == k_no_segment || !record::recording(self.writer)) return;
  write_phase(*thread, *state);
  write_mapped(*thread, *state);
  count_cold_maps(*state, *self.writer.control);
}
