#include "probes/capture/parts.hpp"

#include "core/clock.hpp"
#include "probes/capture/export.hpp"
#include "stallcast/capture.h"

namespace stallcast::capture {
namespace {

constexpr std::uint32_t k_last_part = 4095;
constexpr int k_stacks = 32;  ///< threads of a process that make samples; further ones are not divided
constexpr int k_rounds = 8;
constexpr int k_calls = 16;            ///< of one round
constexpr double k_most_cost = 0.002;  ///< of making samples
constexpr std::uint32_t k_longest_period = 64;
/// Samples of a thread before it may leave some undivided: until then nobody knows how long they are.
constexpr std::uint64_t k_warm_samples = 128;
constexpr double k_begin_of_whole = 0.5;  ///< calls that begin_of_whole() costs as much as: one CPU clock of two

constinit PartStack g_stacks[k_stacks] = {};

std::uint64_t less(std::uint64_t value, std::uint64_t taken) {
  return value > taken ? value - taken : 0;
}

Moment operator-(const Moment& a, const Moment& b) {
  return {less(a.wall_ns, b.wall_ns), less(a.cpu_ns, b.cpu_ns), less(a.read_ns, b.read_ns)};
}

void add(Moment& sum, const Moment& part) {
  sum.wall_ns += part.wall_ns;
  sum.cpu_ns += part.cpu_ns;
  sum.read_ns += part.read_ns;
}

/// A whole lies in a sample or in a collate, whose reads are the batch's: one of the two stands still meanwhile.
std::uint64_t reading_ns(const Thread& thread) {
  const record::IoTotals& sample = thread.sample.io;
  const record::IoTotals& batch = thread.batch.io;
  return sample.read_ns + sample.meta_ns + batch.read_ns + batch.meta_ns;
}

/// The CPU clock inside, so that what reading it costs falls to both sides alike.
Moment now(const Thread& thread) {
  const std::uint64_t wall_ns = monotonic_ns();
  return {wall_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID), reading_ns(thread)};
}

/// `own`: without the parts inside. Time that the thread did not compute went into reads first: what is left of them
/// they computed, copying from the page cache, and that is not the operator's either.
void write_part(Thread& thread, PartStack& stack, std::uint32_t number, const Moment& own, std::uint32_t undivided) {
  if (stack.dry != 0 || !record::may_record(process().writer)) return;
  const std::uint64_t blocked_ns = less(own.wall_ns, own.cpu_ns);
  auto* part = reserve<record::PartRecord>(thread, record::Kind::part, number);
  if (part == nullptr) return;
  part->whole_ns = stack.whole_ns;
  part->wall_ns = less(own.wall_ns, own.read_ns);
  part->cpu_ns = less(own.cpu_ns, less(own.read_ns, blocked_ns));
  part->read_ns = own.read_ns;
  part->flags = stack.flags;
  part->period = stack.period;
  part->undivided = undivided;
  record::commit(thread.out);
}

/// What a chain has called since its last marked operator, and that could not be marked itself.
void close_gap(Thread& thread, PartStack& stack, std::uint32_t number, const Moment& end) {
  PartFrame& chain = stack.frames[stack.depth - 1];
  const Moment gap = end - chain.last;
  ++stack.records;
  write_part(thread, stack, number, gap - stack.cost_outside, 0);
  add(chain.inside, gap);
  chain.last = end;
}

PartStack* take_stack() {
  for (PartStack& stack : g_stacks) {
    std::uint32_t nobody = 0;
    if (stack.taken.compare_exchange_strong(nobody, 1, std::memory_order_acq_rel)) return &stack;
  }
  return nullptr;
}

/// Marks nothing, many times. The fastest round counts: whatever disturbs only adds.
void measure_cost(Thread& thread, PartStack& stack) {
  stack.dry = 1;
  std::uint64_t fastest = UINT64_MAX;
  Moment inside{};
  Moment whole{};
  for (int round = 0; round < k_rounds; ++round) {
    stack.depth = 1;
    stack.frames[0] = PartFrame{};
    const Moment begin = now(thread);
    for (int call = 0; call < k_calls; ++call) {
      if (begin_part(thread, {record::k_first_named_part, 0, 0, 0}, nullptr)) end_part(thread, 0);
    }
    const Moment taken = now(thread) - begin;
    stack.records = 0;
    if (taken.wall_ns >= fastest) continue;
    fastest = taken.wall_ns;
    whole = taken;
    inside = stack.frames[0].inside;
  }
  stack.depth = 0;
  stack.dry = 0;
  stack.cost_inside = {inside.wall_ns / k_calls, inside.cpu_ns / k_calls, 0};
  stack.cost_outside = {less(whole.wall_ns, inside.wall_ns) / k_calls, less(whole.cpu_ns, inside.cpu_ns) / k_calls, 0};
}

}  // namespace

void prepare_parts(Thread& thread) {
  if (thread.parts != nullptr) return;
  PartStack* stack = take_stack();
  if (stack == nullptr) return;
  stack->cost_inside = stack->cost_outside = Moment{};
  stack->depth = 0;
  stack->period = 1;
  stack->calls = 0;
  thread.parts = stack;
  measure_cost(thread, *stack);
}

void set_part_period(Thread& thread) {
  if (thread.parts == nullptr) return;
  PartStack& stack = *thread.parts;
  std::uint32_t period = thread.pace.period > 1 ? thread.pace.period : 1;
  const auto call_ns = static_cast<double>(stack.cost_inside.wall_ns + stack.cost_outside.wall_ns);
  const double cost_ns = call_ns * (stack.calls + k_begin_of_whole);
  while (period < k_longest_period && cost_ns > k_most_cost * thread.pace.sample_ns * period) period *= 2;
  stack.period = static_cast<std::uint16_t>(thread.pace.timed >= k_warm_samples ? period : 1);
}

bool is_divided(Thread& thread, std::int64_t index) {
  if (thread.parts == nullptr) return false;
  PartStack& stack = *thread.parts;
  if (stack.period <= 1) return true;
  // One without an index was chosen by count already: one in pace.period is timed.
  const std::uint32_t timed = thread.pace.period > 1 ? thread.pace.period : 1;
  if (index < 0) return stack.without_index++ % (stack.period / timed) == 0;
  return record::sample_hash(index) % stack.period == 0;
}

std::uint64_t begin_of_whole() {
  clock_ns(CLOCK_THREAD_CPUTIME_ID);
  return monotonic_ns();
}

void open_whole(Thread& thread, std::uint32_t number, std::uint64_t begin_ns, std::uint16_t flags) {
  if (thread.parts == nullptr || thread.parts->depth != 0) return;
  PartStack& stack = *thread.parts;
  stack.records = 1;
  stack.undivided = 0;
  stack.skipped = 0;
  stack.flags = flags;
  stack.whole_ns = begin_ns;
  PartFrame& whole = stack.frames[0];
  whole = PartFrame{};
  whole.number = number;
  whole.begin = {begin_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID), reading_ns(thread)};
  whole.last = whole.begin;
  stack.depth = 1;
}

std::uint64_t close_whole(Thread& thread, std::uint32_t number) {
  if (!divides(thread) || thread.parts->frames[0].number != number) return 0;
  PartStack& stack = *thread.parts;
  while (stack.depth > 1) end_part(thread, 0);
  const Moment end = now(thread);
  const PartFrame& whole = stack.frames[0];
  write_part(thread, stack, whole.number, end - whole.begin - whole.inside, stack.undivided);
  stack.depth = 0;
  if (number == record::k_part_sample) stack.calls = stack.records + stack.undivided;
  return end.wall_ns;
}

bool begin_part(Thread& thread, const Part& part, const void* object) {
  if (!divides(thread) || thread.generation != process().generation.load(std::memory_order_acquire)) return false;
  PartStack& stack = *thread.parts;
  PartFrame& outer = stack.frames[stack.depth - 1];
  if (object != nullptr && outer.object == object) return false;  // its base's __call__, called by its own
  if (stack.depth == k_deepest_part || stack.records + 2 > k_most_parts) {
    ++stack.undivided;
    return false;
  }
  const Busy busy(thread);
  if (part.before != 0 && outer.number == part.chain) close_gap(thread, stack, part.before, now(thread));
  ++stack.records;
  PartFrame& frame = stack.frames[stack.depth++];
  frame.number = part.number;
  frame.object = object;
  frame.inside = Moment{};
  frame.begin = frame.last = now(thread);
  return true;
}

void end_part(Thread& thread, std::uint32_t after) {
  if (!divides(thread) || thread.parts->depth < 2) return;
  const Busy busy(thread);
  PartStack& stack = *thread.parts;
  const Moment end = now(thread);
  if (after != 0) close_gap(thread, stack, after, end);
  const PartFrame& frame = stack.frames[--stack.depth];
  PartFrame& outer = stack.frames[stack.depth - 1];
  const Moment whole = end - frame.begin;
  write_part(thread, stack, frame.number, whole - frame.inside - stack.cost_inside, 0);
  add(outer.inside, whole);
  add(outer.inside, stack.cost_outside);
  outer.last = end;
}

void leave_parts(Thread& thread) {
  if (thread.parts == nullptr) return;
  thread.parts->depth = 0;
  thread.parts->taken.store(0, std::memory_order_release);
  thread.parts = nullptr;
}

}  // namespace stallcast::capture

using namespace stallcast;           // NOLINT(google-build-using-namespace): the C API is outside of it
using namespace stallcast::capture;  // NOLINT(google-build-using-namespace)

STALLCAST_EXPORT void stallcast_part_begin(uint32_t part) {
  Thread& thread = t_thread;
  if (!divides(thread)) return;
  const bool is_ours = part < record::k_first_named_part || part > k_last_part;
  if (is_ours || !begin_part(thread, {part, 0, 0, 0}, nullptr)) ++thread.parts->skipped;
}

STALLCAST_EXPORT void stallcast_part_end(void) {
  Thread& thread = t_thread;
  if (!divides(thread)) return;
  if (thread.parts->skipped > 0) {
    --thread.parts->skipped;
  } else {
    end_part(thread, 0);
  }
}
