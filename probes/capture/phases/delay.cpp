/// Perturbations: a known delay for each read, a known amount of work for each sample. How much slower the job gets
/// shows how reading and preparing are composed.
#include "core/clock.hpp"
#include "probes/capture/phases/maps.hpp"
#include "probes/capture/phases/phase.hpp"
#include "probes/capture/phases/state.hpp"
#include "probes/capture/sleep.hpp"
#include "probes/capture/thread.hpp"

namespace stallcast::capture {
namespace {

/// What the sleeps so far were too long is taken off the next, so that the sum of the delays is right.
thread_local constinit std::int64_t t_overslept_ns __attribute__((tls_model("initial-exec"))) = 0;

}  // namespace

void after_read() {
  const PhaseState* state = phase_state();
  const Thread& thread = t_thread;
  if (state == nullptr || thread.sample.depth == 0) return;
  const auto delay_ns = static_cast<std::int64_t>(state->read_delay_ns.load(std::memory_order_relaxed));
  if (delay_ns == 0) return;
  const record::raw::ErrnoKeeper keeper;
  const std::uint64_t begin_ns = monotonic_ns();
  const std::int64_t wanted_ns = delay_ns - t_overslept_ns;
  if (wanted_ns > 0) sleep_until(begin_ns + static_cast<std::uint64_t>(wanted_ns));
  t_overslept_ns = static_cast<std::int64_t>(monotonic_ns() - begin_ns) - wanted_ns;
}

void at_sample_end() {
  PhaseState* state = phase_state();
  if (state == nullptr) return;
  maps_at_sample_end(*state);
  const std::uint64_t work_ns = state->sample_work_ns.load(std::memory_order_relaxed);
  if (work_ns == 0) return;
  const std::uint64_t end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + work_ns;
  while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns) {
  }
}

}  // namespace stallcast::capture
