/// The consuming half of the C API: texts, waits, steps.
#include <atomic>
#include <cstring>

#include "core/clock.hpp"
#include "probes/capture/export.hpp"
#include "probes/capture/thread.hpp"
#include "stallcast/capture.h"

namespace stallcast::capture {
namespace {

void write_text(Thread& thread, std::uint32_t kind, const char* json) {
  record::Writer& writer = process().writer;
  // A pass or a worker that begins while the recording is switched off must be known when it is on again.
  if (writer.header == nullptr || writer.control->stop.load(std::memory_order_relaxed) != 0) return;
  if (writer.ended.load(std::memory_order_relaxed) != 0) return record::count_drop(writer);
  const std::size_t length = strnlen(json, record::k_max_text_bytes + 1);
  if (length > record::k_max_text_bytes) return record::count_drop(writer);
  const auto padded = static_cast<std::uint32_t>((length + 7) / 8 * 8);
  auto* text = reserve<record::RecordHeader>(thread, record::Kind::text, kind, padded);
  if (text == nullptr) return;
  char* body = reinterpret_cast<char*>(text + 1);
  memcpy(body, json, length);
  memset(body + length, 0, padded - length);
  record::commit(thread.out);
}

struct Delivery {
  std::uint64_t iterator_id;
  std::uint64_t batch;
  std::uint64_t begin_ns;
  std::uint64_t end_ns;
  std::uint32_t samples;
  std::uint32_t ready;
  std::uint32_t flags;
};

void count_delivery(record::RankSlot& slot, const Delivery& delivery) {
  slot.waited_ns.fetch_add(delivery.end_ns - delivery.begin_ns, std::memory_order_relaxed);
  if ((delivery.flags & record::k_wait_end_of_epoch) != 0) {
    slot.state.store(static_cast<std::uint32_t>(record::RankState::finished), std::memory_order_relaxed);
    return;
  }
  slot.samples.fetch_add(delivery.samples, std::memory_order_relaxed);
  slot.delivered_ns.store(delivery.end_ns, std::memory_order_relaxed);
  slot.state.store(static_cast<std::uint32_t>(record::RankState::iterating), std::memory_order_relaxed);
  slot.batches.fetch_add(1, std::memory_order_release);
}

void write_wait(Thread& thread, const Delivery& delivery) {
  auto* wait = reserve<record::WaitRecord>(thread, record::Kind::wait, delivery.flags);
  if (wait == nullptr) return;
  wait->iterator_id = delivery.iterator_id;
  wait->batch = delivery.batch;
  wait->begin_ns = delivery.begin_ns;
  wait->end_ns = delivery.end_ns;
  wait->samples = delivery.samples;
  wait->ready = delivery.ready;
  wait->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  record::commit(thread.out);
  thread.open_wait = wait;
}

/// What the GPU probe, a library of its own, has called where a wait begins.
std::atomic<void (*)()> g_at_wait{nullptr};

/// A tool that was killed must not silence the rest of the run (it may have had the recording off, in an overhead
/// pair), nor have states made for nobody. It beats ten times a second; where it has not for 5 s, and not a second
/// later either (it may have been stopped with the job, and have gone on with it), the consumer who gets a batch then
/// switches the recording on and lets go, for all.
void outlive_tool(record::ControlBlock* control, std::uint64_t now_ns) {
  constexpr std::uint64_t k_dead_after_ns = 5'000'000'000ULL, k_second_look_ns = 1'000'000'000ULL;
  static std::atomic<std::uint64_t> missed_beat_ns{0}, missed_since_ns{0};
  if (control == nullptr) return;
  const std::uint64_t heartbeat_ns = control->heartbeat_ns.load(std::memory_order_relaxed);
  if (heartbeat_ns == 0 || now_ns <= heartbeat_ns + k_dead_after_ns) return;
  if (missed_beat_ns.exchange(heartbeat_ns, std::memory_order_relaxed) != heartbeat_ns) {
    missed_since_ns.store(now_ns, std::memory_order_relaxed);
    return;
  }
  if (now_ns <= missed_since_ns.load(std::memory_order_relaxed) + k_second_look_ns) return;
  control->recording.store(1, std::memory_order_relaxed);
  control->let_go.store(1, std::memory_order_relaxed);
}

}  // namespace
}  // namespace stallcast::capture

using namespace stallcast;           // NOLINT(google-build-using-namespace): the C API is outside of it
using namespace stallcast::capture;  // NOLINT(google-build-using-namespace)

STALLCAST_EXPORT int stallcast_active(void) {
  if (mode() == Mode::off || mode() == Mode::broken) return 0;
  return process().writer.ended.load(std::memory_order_relaxed) == 0 ? 1 : 0;
}

STALLCAST_EXPORT void stallcast_text(uint32_t kind, const char* json) {
  Thread* thread = enter_api();
  if (thread == nullptr || json == nullptr) return;
  const Busy busy(*thread);
  write_text(*thread, kind, json);
}

STALLCAST_EXPORT void stallcast_wait_begin(void) {
  Thread* thread = enter_api();
  if (thread == nullptr) return;
  thread->open_wait = nullptr;
  if (record::RankSlot* slot = rank_slot(process()); slot != nullptr) {
    auto idle = static_cast<std::uint32_t>(record::RankState::idle);
    slot->state.compare_exchange_strong(idle, static_cast<std::uint32_t>(record::RankState::opening),
                                        std::memory_order_relaxed);
  }
  if (void (*at_wait)() = g_at_wait.load(std::memory_order_relaxed); at_wait != nullptr) at_wait();
  thread->wait_begin_ns = monotonic_ns();
}

STALLCAST_EXPORT void stallcast_at_wait(void (*function)(void)) {
  g_at_wait.store(function, std::memory_order_relaxed);
}

STALLCAST_EXPORT void stallcast_wait_end(uint64_t iterator_id, uint64_t batch, uint32_t samples, uint32_t ready,
                                         uint32_t flags) {
  Thread* thread = enter_api();
  if (thread == nullptr) return;
  const std::uint64_t end_ns = monotonic_ns();
  const Busy busy(*thread);
  const std::uint64_t begin_ns = thread->wait_begin_ns != 0 ? thread->wait_begin_ns : end_ns;
  thread->wait_begin_ns = 0;
  const Delivery delivery{iterator_id, batch, begin_ns, end_ns, samples, ready, flags};
  Process& self = process();
  if (record::RankSlot* slot = rank_slot(self); slot != nullptr) count_delivery(*slot, delivery);
  outlive_tool(self.writer.control, end_ns);
  if (record::may_keep(self.writer)) write_wait(*thread, delivery);
}

STALLCAST_EXPORT void stallcast_step(void) {
  Thread* thread = enter_api();
  if (thread == nullptr) return;
  const Busy busy(*thread);
  Process& self = process();
  const std::uint64_t number = self.steps.fetch_add(1, std::memory_order_relaxed);
  if (record::RankSlot* slot = rank_slot(self); slot != nullptr) {
    slot->steps.fetch_add(1, std::memory_order_relaxed);
  }
  if (!record::may_keep(self.writer)) return;
  auto* step = reserve<record::StepRecord>(*thread, record::Kind::step, 0);
  if (step == nullptr) return;
  step->step = number;
  step->time_ns = monotonic_ns();
  record::commit(thread->out);
}
