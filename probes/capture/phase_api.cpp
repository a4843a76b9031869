/// The phase calls of the C API: the schedule, the consumer's line of the control block, begin and end of a batch.
#include "probes/capture/phase.h"

#include <cstring>

#include "probes/capture/emulate.hpp"
#include "probes/capture/export.hpp"
#include "probes/capture/kept_fd.hpp"
#include "probes/capture/phase.hpp"
#include "probes/capture/phase_calls.hpp"
#include "probes/capture/phase_stage.hpp"
#include "probes/capture/thread.hpp"

namespace stallcast::capture {
namespace {

using record::Phase;

constexpr auto k_relaxed = std::memory_order_relaxed;
constexpr std::uint32_t k_no_segment = UINT32_MAX;
constexpr std::uint64_t k_unknown = UINT64_MAX;

// Outlives a fork, so that a child can close what it inherited.
constinit std::atomic<int> g_io_fd{0};
constinit std::atomic<std::uint64_t> g_io_owner{0};

/// What the segment asks for.
struct Begin {
  Phase phase;
  std::uint32_t segment;
  std::uint32_t round;
  std::uint64_t argument;
  std::uint32_t seed;
  std::uint64_t iterator_id;
  std::uint64_t batch;
};

record::ControlBlock* phased_control() {
  if (enter_api() == nullptr) return nullptr;
  record::ControlBlock* control = process().writer.control;
  if (control == nullptr || control->mode != static_cast<std::uint32_t>(record::RunMode::phased)) return nullptr;
  return control;
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

/// "read_bytes: N" of /proc/self/io: what storage was asked for on behalf of all threads of this process.
std::uint64_t storage_bytes(PhaseState& state) {
  if (emulating()) return emulated_miss_bytes();  // what the emulated storage gave is what came from storage
  if (state.io_fd == 0) {
    close_kept(g_io_fd.load(k_relaxed), g_io_owner.load(k_relaxed));
    state.io_owner = k_unknown - process().generation.load(k_relaxed);  // apart from the thread ids of other kept ones
    state.io_fd = open_kept("/proc/self/io", state.io_owner);
    g_io_fd.store(state.io_fd, k_relaxed);
    g_io_owner.store(state.io_owner, k_relaxed);
  }
  if (state.io_fd < 0 || !is_kept(state.io_fd, state.io_owner)) return k_unknown;
  char text[256];
  const ssize_t bytes = raw::read_at(state.io_fd, text, sizeof(text) - 1, 0);
  if (bytes <= 0) return k_unknown;
  text[bytes] = '\0';
  const char* at = strstr(text, "\nread_bytes: ");
  if (at == nullptr) return k_unknown;
  std::uint64_t value = 0;
  for (at += strlen("\nread_bytes: "); *at >= '0' && *at <= '9'; ++at) {
    value = value * 10 + static_cast<std::uint64_t>(*at - '0');
  }
  return value;
}

void clear(PhaseSeen& seen) {
  seen.opens.store(0, k_relaxed);
  seen.staged_opens.store(0, k_relaxed);
  seen.unknown_opens.store(0, k_relaxed);
  seen.opened_bytes.store(0, k_relaxed);
  seen.resident_bytes.store(0, k_relaxed);
  seen.evicted_bytes.store(0, k_relaxed);
  seen.foreign_bytes.store(0, k_relaxed);
}

/// Rounds concern the phases that evict or redirect; what lies between their segments has none.
void enter_round(PhaseState& state, std::uint32_t round) {
  if (state.round_known.load(k_relaxed) != 0 && state.round.load(k_relaxed) == round) return;
  forget_files(state.files);
  state.round.store(round, k_relaxed);
  state.round_known.store(1, k_relaxed);
}

void begin_batch(PhaseState& state, const Begin& begin, record::ControlBlock& control) {
  const bool is_planned = begin.segment != k_no_segment;
  const Treatment treatment = is_planned ? treatment_of(begin.phase) : Treatment::look;
  const bool warms = is_planned && begin.phase == Phase::as_is;  // a block as found, for the cached ones after it
  if (treatment != Treatment::look || warms) enter_round(state, begin.round);
  state.stage_ns = 0;
  if (treatment == Treatment::cached || treatment == Treatment::half) {
    state.stage_ns = stage_files(state.files, begin.round, control);
  }
  state.phase = static_cast<std::uint32_t>(begin.phase);
  state.segment = begin.segment;
  state.iterator_id = begin.iterator_id;
  state.batch = begin.batch;
  state.treatment.store(treatment, k_relaxed);
  state.seed.store(begin.seed, k_relaxed);
  state.remembers.store(treatment == Treatment::cold || warms ? 1 : 0, k_relaxed);
  state.read_delay_ns.store(begin.phase == Phase::perturb_read ? begin.argument : 0, k_relaxed);
  state.sample_work_ns.store(begin.phase == Phase::perturb_cpu ? begin.argument : 0, k_relaxed);
  const std::uint32_t serial = state.serial.load(k_relaxed) + 1;
  state.serial.store(serial != 0 ? serial : 1, k_relaxed);
  clear(state.seen);
  state.storage_begin = is_planned ? storage_bytes(state) : k_unknown;
}

void begin_phase(const Begin& begin, record::ControlBlock& control, bool is_implied) {
  Process& self = process();
  PhaseState* state = map_state(self);
  if (state == nullptr || state->changing.exchange(1, std::memory_order_acquire) != 0) return;
  // A batch that was begun and never ended was not made (its sample raised): it leaves no evidence.
  self.in_phase.store(0, k_relaxed);
  begin_batch(*state, begin, control);
  state->is_implied.store(is_implied ? 1 : 0, k_relaxed);
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
  found->staged_opens = seen.staged_opens.load(k_relaxed);
  found->unknown_opens = seen.unknown_opens.load(k_relaxed);
  found->opened_bytes = seen.opened_bytes.load(k_relaxed);
  found->resident_bytes = seen.resident_bytes.load(k_relaxed);
  found->evicted_bytes = seen.evicted_bytes.load(k_relaxed);
  found->foreign_bytes = seen.foreign_bytes.load(k_relaxed);
  const bool known = state.storage_begin != k_unknown && storage_end != k_unknown;
  found->storage_bytes = known ? storage_end - state.storage_begin : k_unknown;
  found->stage_ns = state.stage_ns;
  record::commit(thread.out);
}

}  // namespace

void at_batch_begin() {
  record::ControlBlock* control = process().writer.control;
  if (control == nullptr || control->mode != static_cast<std::uint32_t>(record::RunMode::phased) || in_phase()) return;
  const raw::ErrnoKeeper keeper;
  begin_phase({Phase::as_is, k_no_segment, 0, 0, 0, 0, 0}, *control, true);
}

void at_batch_end() {
  const PhaseState* state = phase_state();
  if (state != nullptr && state->is_implied.load(k_relaxed) != 0) process().in_phase.store(0, k_relaxed);
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
                                   segment.workers, segment.argument, segment.seed,  0};
  memcpy(out, fields, sizeof(fields));
  return 1;
}

STALLCAST_EXPORT uint32_t stallcast_segments(void) {
  const record::ControlBlock* control = phased_control();
  return control != nullptr ? control->segment_count.load(std::memory_order_acquire) : 0;
}

STALLCAST_EXPORT void stallcast_phase_slot(uint64_t armed, uint64_t turns, uint64_t pass_first, uint64_t pass_end,
                                           uint32_t workers, uint32_t prefetch, uint64_t missed, uint32_t support) {
  record::ControlBlock* control = phased_control();
  if (control == nullptr) return;
  const Busy busy(t_thread);
  const record::RankSlot* rank = rank_slot(process());
  if (rank == nullptr) return;
  record::PhaseSlot& slot = control->phases[rank - control->ranks];
  slot.pass_first.store(pass_first, k_relaxed);
  slot.pass_end.store(pass_end, k_relaxed);
  slot.workers.store(workers, k_relaxed);
  slot.prefetch.store(prefetch, k_relaxed);
  slot.missed.store(missed, k_relaxed);
  slot.support.store(support, k_relaxed);
  slot.turns.store(turns, k_relaxed);
  slot.left.store(0, k_relaxed);
  slot.armed.store(armed, std::memory_order_release);
}

STALLCAST_EXPORT void stallcast_phase_turn(uint64_t turns) {
  record::ControlBlock* control = phased_control();
  if (control == nullptr) return;
  const Busy busy(t_thread);
  const record::RankSlot* rank = rank_slot(process());
  if (rank == nullptr) return;
  control->phases[rank - control->ranks].turns.store(turns, std::memory_order_release);
}

STALLCAST_EXPORT void stallcast_phase_left(void) {
  record::ControlBlock* control = phased_control();
  if (control == nullptr) return;
  const Busy busy(t_thread);
  const record::RankSlot* rank = rank_slot(process());
  if (rank == nullptr) return;
  control->phases[rank - control->ranks].left.store(1, std::memory_order_release);
}

STALLCAST_EXPORT void stallcast_phase_begin(uint32_t phase, uint32_t segment, uint32_t round, uint64_t argument,
                                            uint32_t seed, uint64_t iterator_id, uint64_t batch) {
  record::ControlBlock* control = phased_control();
  if (control == nullptr) return;
  const raw::ErrnoKeeper keeper;
  const Busy busy(t_thread);
  begin_phase({static_cast<Phase>(phase), segment, round, argument, seed, iterator_id, batch}, *control, false);
}

STALLCAST_EXPORT void stallcast_phase_end(void) {
  Thread* thread = enter_api();
  if (thread == nullptr) return;
  Process& self = process();
  PhaseState* state = self.phase.load(std::memory_order_acquire);
  if (state == nullptr || self.in_phase.exchange(0, std::memory_order_acquire) == 0) return;
  const raw::ErrnoKeeper keeper;
  const Busy busy(*thread);
  if (state->segment != k_no_segment && record::recording(self.writer)) write_phase(*thread, *state);
}
