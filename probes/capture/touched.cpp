#include "probes/capture/touched.hpp"

#include <algorithm>

#include "probes/capture/account.hpp"
#include "probes/capture/paths.hpp"
#include "probes/capture/phases/pages.hpp"

namespace stallcast::capture {
namespace {

/// A sample of which more parts are read is not worth the records: what is missing is found not to be in memory.
constexpr std::uint32_t k_most_records = 256;
constexpr std::uint32_t k_most_records_at_once = 2048;

/// The calling thread if it is in a sample whose index is known, or in a batch that is made at once, and records are
/// on.
Thread* touching_thread() {
  Thread& thread = t_thread;
  if (thread.sample.touches == 0) return nullptr;
  const Process& self = process();
  const bool is_own = thread.generation == self.generation.load(std::memory_order_acquire);
  return is_own && record::recording(self.writer) ? &thread : nullptr;
}

void write_touched(Thread& thread, std::uint64_t file_id, std::uint64_t offset, std::uint64_t bytes) {
  const std::uint32_t most = record::is_at_once(thread.sample.touched_index) ? k_most_records_at_once : k_most_records;
  if (thread.sample.touched >= most || !record::recording(process().writer)) return;
  thread.sample.touched += 1;
  auto* touched = reserve<record::TouchedRecord>(thread, record::Kind::touched, 0);
  if (touched == nullptr) return;
  touched->index = thread.sample.touched_index;
  touched->file_id = file_id;
  touched->offset = offset;
  touched->bytes = bytes;
  record::commit(thread.out);
}

void write_range(Thread& thread, TouchedRange& range) {
  if (range.file_id != 0) write_touched(thread, range.file_id, range.begin, range.end - range.begin);
  range.file_id = 0;
}

bool is_whole(const Sample& sample, std::uint64_t file_id) {
  for (const std::uint64_t whole : sample.whole_files) {
    if (whole == file_id) return true;
  }
  return false;
}

bool meets(const TouchedRange& range, const TouchedRange& other) {
  return range.file_id == other.file_id && range.begin <= other.end && other.begin <= range.end;
}

}  // namespace

bool tell_whole_file(Thread& thread, std::uint64_t file_id) {
  auto* touched = reserve<record::TouchedRecord>(thread, record::Kind::touched, 0);
  if (touched == nullptr) return false;
  touched->index = -1;
  touched->file_id = file_id;
  touched->offset = 0;
  touched->bytes = UINT64_MAX;
  record::commit(thread.out);
  return true;
}

bool touches_at_once(const Thread& thread) {
  return thread.sample.touches != 0 && record::is_at_once(thread.sample.touched_index);
}

void begin_touched(Thread& thread, std::int64_t index) {
  Sample& sample = thread.sample;
  sample.touched_index = index;
  sample.touches = index >= 0 || record::is_at_once(index) ? 1 : 0;
  sample.touched = sample.wholes = sample.next_range = 0;
  for (std::uint64_t& file : sample.whole_files) file = 0;
  for (TouchedRange& range : sample.ranges) range.file_id = 0;
}

void touch_file(int fd, std::uint64_t file_id) {
  Thread* thread = touching_thread();
  if (thread == nullptr || is_whole(thread->sample, file_id)) return;
  Sample& sample = thread->sample;
  sample.whole_files[sample.wholes++ % k_touched_at_once] = file_id;
  if (!knows_path(file_id)) adopt_path(*thread, fd, file_id);
  write_touched(*thread, file_id, 0, UINT64_MAX);
}

void touch_range(int fd, std::uint64_t offset, std::uint64_t bytes) {
  Thread* thread = touching_thread();
  const std::uint64_t file_id = thread != nullptr && bytes > 0 ? file_of(*thread, fd) : 0;
  if (file_id == 0) return;
  const std::uint64_t page = page_bytes();
  TouchedRange range{file_id, offset / page * page, (offset + bytes + page - 1) / page * page};
  TouchedRange* place = nullptr;
  for (TouchedRange& other : thread->sample.ranges) {
    if (meets(range, other)) {
      range = {file_id, std::min(range.begin, other.begin), std::max(range.end, other.end)};
      place = &other;
      break;
    }
    if (other.file_id == 0 && place == nullptr) place = &other;
  }
  if (place == nullptr) {
    place = &thread->sample.ranges[thread->sample.next_range++ % k_touched_at_once];
    write_range(*thread, *place);
  }
  *place = range;
}

bool touches_others_file(int fd) {
  const Thread* thread = touching_thread();
  const FdEntry* entry = thread != nullptr ? fd_entry(fd) : nullptr;
  if (entry == nullptr || entry->code.load(std::memory_order_relaxed) != 0) return false;
  return !is_whole(thread->sample, entry->file_id.load(std::memory_order_relaxed));
}

void end_touched(Thread& thread) {
  if (thread.sample.touches == 0) return;
  for (TouchedRange& range : thread.sample.ranges) write_range(thread, range);
  thread.sample.touches = 0;
}

}  // namespace stallcast::capture
