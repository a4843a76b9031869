#include "probes/capture/gpu/windows.hpp"

#include <algorithm>

namespace stallcast::gpu {
namespace {

/// A window's least length. Chosen: several of the 2 ms that bins are wide, for each step of the fastest jobs.
constexpr std::uint64_t k_least_ns = 250'000'000;
/// Batches that a window has at least. Chosen: fewer are cut at both its ends for little between.
constexpr std::uint64_t k_least_batches = 8;
/// The length from which a window ends with the next wait, for jobs whose batches take seconds. Chosen: records in
/// memory stay few.
constexpr std::uint64_t k_most_ns = 10'000'000'000;
/// The least rest. Chosen: a short run has several windows.
constexpr std::uint64_t k_least_rest_ns = 500'000'000;
/// The longest. Chosen: a run of minutes has some windows, whatever a kernel costs.
constexpr std::uint64_t k_most_rest_ns = 120'000'000'000;
/// Windows with short rests, beside the first. Chosen: three, for estimates of a run that is soon over.
constexpr int k_soon = 3;
/// Times the window before, the least rest. Chosen: two thirds of the steps are without, and tell the rate.
constexpr std::uint64_t k_least_rest_windows = 2;
/// What recording a kernel costs the thread that launches it, at most: measured on an H200 (docs/gpu.md).
constexpr std::uint64_t k_kernel_cost_ns = 8'000;
/// One over the part of the time that recording may cost. Chosen: of the 0.5 % that a passive recording may take in
/// all.
constexpr std::uint64_t k_rests_of_cost = 250;
/// Turns before a block in which the consumer is left alone, beyond those under way. Chosen: one would do where a
/// window ends between two steps; a few more let what it left in the queues go.
constexpr std::uint64_t k_turns_ahead = 4;

/// Whether a turn is in a block, or soon will be.
bool near_block(const record::ControlBlock& control, const record::PhaseSlot& slot) {
  const std::uint64_t turns = slot.turns.load(std::memory_order_relaxed);
  const std::uint64_t under_way =
      std::uint64_t{slot.workers.load(std::memory_order_relaxed)} * slot.prefetch.load(std::memory_order_relaxed);
  const std::uint64_t until = turns + under_way + k_turns_ahead;
  const std::uint32_t count = std::min(control.segment_count.load(std::memory_order_acquire), record::k_max_segments);
  for (std::uint32_t i = count; i > 0; --i) {  // they are in order: the last ones matter
    const record::Segment& segment = control.segments[i - 1];
    if (segment.first + segment.batches <= turns) return false;
    if (segment.first <= until && segment.phase != static_cast<std::uint32_t>(record::Phase::as_is)) return true;
  }
  return false;
}

}  // namespace

Look look_at(const record::ControlBlock& control, std::uint64_t pid, std::uint64_t now_ns,
             std::optional<std::uint32_t>& slot) {
  Look look{.now_ns = now_ns};
  if (!slot || control.ranks[*slot].pid.load(std::memory_order_relaxed) != pid) {
    slot.reset();
    for (std::uint32_t i = 0; i < record::k_max_ranks && !slot; ++i) {
      if (control.ranks[i].pid.load(std::memory_order_relaxed) == pid) slot = i;
    }
  }
  if (!slot) return look;
  look.batches = control.ranks[*slot].batches.load(std::memory_order_relaxed);
  look.as_found = control.recording.load(std::memory_order_relaxed) == 1 &&
                  control.stop.load(std::memory_order_relaxed) == 0 &&
                  control.let_go.load(std::memory_order_relaxed) == 0 && !near_block(control, control.phases[*slot]);
  return look;
}

bool TraceWindows::has_enough(const Look& look) const {
  const bool batches = look.batches >= changed_.batches + k_least_batches;
  if (often_) return batches;
  const std::uint64_t length = look.now_ns - changed_.now_ns;
  return (batches && length >= k_least_ns) || length >= k_most_ns;
}

/// Worked example: 9,200 kernels in a window can have cost 74 ms, of which 250 are 18.4 s.
std::uint64_t TraceWindows::rest_ns(const Look& look) const {
  if (often_) return 0;
  const std::uint64_t least = std::max(k_least_rest_ns, k_least_rest_windows * length_ns_);
  if (begun_ <= k_soon) return least;
  const std::uint64_t cost = (look.kernels - std::min(kernels_, look.kernels)) * k_kernel_cost_ns;
  return std::max(least, std::min(cost * k_rests_of_cost, k_most_rest_ns));
}

Change TraceWindows::next(const Look& look) {
  if (open_) {
    if (look.as_found && !has_enough(look)) return Change::none;
    open_ = false;
    length_ns_ = look.now_ns - changed_.now_ns;
    changed_ = look;
    return Change::end;
  }
  if (!look.as_found || look.batches == changed_.batches) return Change::none;  // the job rests, or has not begun
  if (begun_ > 0 && look.now_ns < changed_.now_ns + rest_ns(look)) return Change::none;
  open_ = true;
  ++begun_;
  kernels_ = look.kernels;
  changed_ = look;
  return Change::begin;
}

}  // namespace stallcast::gpu
