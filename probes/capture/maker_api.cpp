/// The making half of the C API: batches and their samples.
#include "core/clock.hpp"
#include "probes/capture/export.hpp"
#include "probes/capture/helpers.hpp"
#include "probes/capture/parts.hpp"
#include "probes/capture/phases/phase.hpp"
#include "probes/capture/sample.hpp"
#include "probes/capture/sampled_timing.hpp"
#include "probes/capture/touched.hpp"
#include "stallcast/capture.h"

namespace stallcast::capture {
namespace {

bool recording_now() {
  return record::recording(process().writer);
}

/// Whether most of what the batch is made of came over the network.
bool is_received(const Batch& made) {
  const std::uint64_t samples = made.samples > 0 ? made.samples : 1;
  return made.received_bytes >= record::k_received_bytes * samples && 2 * made.received_bytes >= made.io.read_bytes;
}

/// What the schedule plans by: how quickly batches would be made if nothing had to be waited for.
void count_made(std::uint64_t cpu_ns, std::uint64_t delay_ns, std::uint64_t wall_ns) {
  record::ControlBlock* control = process().writer.control;
  if (control == nullptr || control->mode != static_cast<std::uint32_t>(record::RunMode::phased)) return;
  control->made_cpu_ns.fetch_add(cpu_ns, std::memory_order_relaxed);
  const std::uint64_t busy_ns = cpu_ns + delay_ns;
  control->made_blocked_ns.fetch_add(wall_ns > busy_ns ? wall_ns - busy_ns : 0, std::memory_order_relaxed);
  control->made_wall_ns.fetch_add(wall_ns, std::memory_order_relaxed);
  control->made_batches.fetch_add(1, std::memory_order_relaxed);
}

/// Before the batch's own record, which is to be the thread's last: when the batch is handed over is written into it.
void write_received(Thread& thread) {
  const Batch& made = thread.batch;
  if (made.received_bytes == 0) return;
  if (record::ControlBlock* control = process().writer.control; control != nullptr && is_received(made)) {
    control->data_received.store(1, std::memory_order_relaxed);
  }
  auto* received = reserve<record::ReceivedRecord>(thread, record::Kind::received, made.receives);
  if (received == nullptr) return;
  received->iterator_id = made.iterator_id;
  received->batch = made.number;
  received->bytes = made.received_bytes;
  record::commit(thread.out);
}

void write_batch(Thread& thread, std::uint64_t end_ns, std::uint32_t samples) {
  const Batch& made = thread.batch;
  const Usage now = usage_now(thread);
  const std::uint64_t help_ns = take_help(thread, now);
  record::IoTotals io = made.io;
  const std::uint64_t cpu_ns = now.cpu_ns - made.at_begin.cpu_ns + claim_children_ns(made.at_begin, now) + help_ns;
  const bool delay_known = now.run_delay_ns != UINT64_MAX && made.at_begin.run_delay_ns != UINT64_MAX;
  const std::uint64_t delay_ns = delay_known ? now.run_delay_ns - made.at_begin.run_delay_ns : 0;
  const std::uint64_t wall_ns = end_ns - made.begin_ns;
  complete_times(thread, io, wall_ns, wall_ns > cpu_ns + delay_ns ? wall_ns - cpu_ns - delay_ns : 0);
  count_made(cpu_ns, delay_ns, wall_ns);
  write_received(thread);
  auto* batch = reserve<record::BatchRecord>(thread, record::Kind::batch, made.worker);
  if (batch == nullptr) return;
  batch->iterator_id = made.iterator_id;
  batch->batch = made.number;
  batch->asked_ns = made.asked_ns;
  batch->begin_ns = made.begin_ns;
  batch->collate_ns = made.collate_ns;
  batch->end_ns = end_ns;
  batch->put_ns = 0;
  batch->cpu_ns = cpu_ns;
  batch->run_delay_ns = delay_known ? delay_ns : UINT64_MAX;
  batch->io = io;
  batch->io.major_faults = static_cast<std::uint32_t>(now.major_faults - made.at_begin.major_faults);
  batch->samples = samples;
  batch->timed = made.timed;
  batch->system_ns = now.system_ns - made.at_begin.system_ns;
  record::commit(thread.out);
  thread.unput_batch = batch;
}

void write_sample(Thread& thread, std::uint64_t end_ns) {
  const Sample& made = thread.sample;
  const auto batch = static_cast<std::uint32_t>(thread.batch.open != 0 ? thread.batch.number : 0);
  auto* sample = reserve<record::SampleRecord>(thread, record::Kind::sample, batch);
  if (sample == nullptr) return;
  sample->index = made.index;
  sample->begin_ns = made.begin_ns;
  sample->wall_ns = end_ns - made.begin_ns;
  sample->read_ns = made.io.read_ns;
  sample->meta_ns = made.io.meta_ns;
  sample->read_bytes = made.io.read_bytes;
  sample->reads = made.io.reads;
  sample->opens = static_cast<std::uint16_t>(made.io.opens < UINT16_MAX ? made.io.opens : UINT16_MAX);
  sample->period = static_cast<std::uint16_t>(thread.pace.period);
  record::commit(thread.out);
}

}  // namespace
}  // namespace stallcast::capture

using namespace stallcast;           // NOLINT(google-build-using-namespace): the C API is outside of it
using namespace stallcast::capture;  // NOLINT(google-build-using-namespace)

STALLCAST_EXPORT void stallcast_batch_asked(void) {
  Thread* thread = enter_api();
  if (thread == nullptr) return;
  thread->batch.asked_ns = recording_now() ? monotonic_ns() : 0;
}

STALLCAST_EXPORT void stallcast_batch_begin(uint64_t iterator_id, uint64_t batch, uint32_t worker) {
  Thread* thread = enter_api();
  if (thread == nullptr) return;
  const Busy busy(*thread);
  const std::uint64_t asked_ns = thread->batch.asked_ns;
  help_end(*thread);
  thread->batch = Batch{};
  thread->sample.depth = 0;
  thread->sample.touches = 0;
  thread->sample.untimed = 0;
  if (thread->parts != nullptr) thread->parts->depth = 0;
  thread->unput_batch = nullptr;
  thread->batch.open = 1;
  thread->batch.worker = worker;
  thread->batch.iterator_id = iterator_id;
  thread->batch.number = batch;
  at_batch_begin();
  if (!recording_now()) return;
  thread->batch.recorded = 1;
  thread->batch.asked_ns = asked_ns;
  thread->batch.begin_ns = monotonic_ns();
  thread->batch.at_begin = usage_now(*thread);
  if (worker != UINT32_MAX) help_begin(*thread);
  set_period(*thread);
  set_part_period(*thread);
}

STALLCAST_EXPORT void stallcast_collate_begin(void) {
  Thread* thread = enter_api();
  if (thread == nullptr || !in_batch(*thread)) return;
  const Busy busy(*thread);
  prepare_parts(*thread);
  thread->batch.collate_begin_ns = begin_of_whole();
  open_whole(*thread, record::k_part_collate, thread->batch.collate_begin_ns, record::k_part_in_collate);
}

STALLCAST_EXPORT void stallcast_collate_end(void) {
  Thread* thread = enter_api();
  if (thread == nullptr || thread->batch.collate_begin_ns == 0) return;
  const Busy busy(*thread);
  const std::uint64_t closed_ns = close_whole(*thread, record::k_part_collate);
  thread->batch.collate_ns += (closed_ns != 0 ? closed_ns : monotonic_ns()) - thread->batch.collate_begin_ns;
  thread->batch.collate_begin_ns = 0;
}

STALLCAST_EXPORT void stallcast_batch_end(uint32_t samples) {
  Thread* thread = enter_api();
  if (thread == nullptr) return;
  const Busy busy(*thread);
  // A batch across a switch of the tool's has only half of its times: it is left out, not written wrong.
  const bool due = record::may_record(process().writer);
  if (due && in_batch(*thread)) write_batch(*thread, monotonic_ns(), samples);
  help_end(*thread);
  thread->batch.open = 0;
  thread->batch.asked_ns = 0;
  thread->pace.period = 1;  // a sample outside batches has no others to stand for it
  if (thread->parts != nullptr) thread->parts->period = 1;
}

STALLCAST_EXPORT void stallcast_batch_put(void) {
  Thread* thread = enter_api();
  if (thread == nullptr || thread->unput_batch == nullptr) return;
  // Into the record that is committed already: a process killed between end and put loses put_ns only.
  __atomic_store_n(&thread->unput_batch->put_ns, monotonic_ns(), __ATOMIC_RELAXED);
  thread->unput_batch = nullptr;
}

STALLCAST_EXPORT void stallcast_sample_begin(int64_t index) {
  Thread* thread = enter_api();
  if (thread == nullptr) return;
  const Busy busy(*thread);
  if (thread->sample.depth++ != 0) return;
  thread->sample.recorded = recording_now() ? 1 : 0;
  if (thread->sample.recorded == 0) return;
  thread->sample.index = index;
  thread->sample.io = record::IoTotals{};
  thread->sample.unseen = 0;
  if (!touches_at_once(*thread)) begin_touched(*thread, index < 0 ? -1 : index);
  thread->sample.untimed = is_sample_timed(*thread, index) ? 0 : 1;
  for (auto& file : thread->sample.files) file.file_id = 0;
  if (!is_timing(*thread)) return;
  prepare_parts(*thread);
  const bool divided = is_divided(*thread, index);
  thread->sample.begin_ns = divided ? begin_of_whole() : monotonic_ns();
  if (!divided) return;
  open_whole(*thread, record::k_part_sample, thread->sample.begin_ns, 0);
}

STALLCAST_EXPORT void stallcast_at_once_begin(const int64_t* indices, uint32_t count) {
  Thread* thread = enter_api();
  if (thread == nullptr) return;
  const Busy busy(*thread);
  if (thread->sample.depth != 0 || !recording_now()) return;
  record::AtOnceIndex index;
  for (uint32_t i = 0; i < count; ++i) index.add(indices[i]);
  begin_touched(*thread, index.value());
}

STALLCAST_EXPORT void stallcast_at_once_end(void) {
  Thread* thread = enter_api();
  if (thread == nullptr) return;
  const Busy busy(*thread);
  if (thread->sample.depth == 0) end_touched(*thread);
}

STALLCAST_EXPORT void stallcast_sample_end(void) {
  Thread* thread = enter_api();
  if (thread == nullptr) return;
  const Busy busy(*thread);
  if (thread->sample.depth == 0 || --thread->sample.depth != 0) return;
  const bool timed = is_timing(*thread);
  const std::uint64_t closed_ns = close_whole(*thread, record::k_part_sample);
  thread->sample.untimed = 0;
  if (!touches_at_once(*thread)) end_touched(*thread);
  if (in_phase()) at_sample_end();
  if (!record::may_record(process().writer) || thread->sample.recorded == 0) return;
  const bool ended_at_close = closed_ns != 0 && !in_phase();  // a phase may have made it longer since
  const std::uint64_t end_ns = !timed ? 0 : ended_at_close ? closed_ns : monotonic_ns();
  for (auto& file : thread->sample.files) {
    if (file.file_id != 0) write_file(*thread, file);
  }
  if (timed) write_sample(*thread, end_ns);
  if (!in_batch(*thread)) return;
  add_io(thread->batch.io, thread->sample.io);
  thread->batch.samples += 1;
  if (timed) note_timed(*thread, end_ns - thread->sample.begin_ns);
}
