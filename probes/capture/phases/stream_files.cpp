#include "probes/capture/phases/stream_files.hpp"

#include "core/clock.hpp"
#include "probes/capture/account.hpp"
#include "probes/capture/paths.hpp"
#include "probes/capture/thread.hpp"
#include "probes/capture/touched.hpp"

namespace stallcast::capture {
namespace {

constexpr auto k_relaxed = std::memory_order_relaxed;

/// Another process has read the file just now, and this one goes on reading it. One that only comes to it, as a worker
/// of the next epoch does, takes no turns with the other.
void note_reader(record::ControlBlock& control, std::uint64_t key, std::uint64_t pid, bool has_read_it) {
  constexpr std::uint64_t k_at_a_time_ns = 1'000'000'000;
  record::StreamReader& last = control.stream_readers[key % record::k_stream_readers];
  const std::uint64_t now_ns = monotonic_ns();
  const bool is_shared = has_read_it && last.file.load(k_relaxed) == key && last.pid.load(k_relaxed) != pid &&
                         now_ns < last.at_ns.load(k_relaxed) + k_at_a_time_ns;
  if (is_shared) control.shared_reads.fetch_add(1, k_relaxed);
  last.file.store(key, k_relaxed);
  last.pid.store(pid, k_relaxed);
  last.at_ns.store(now_ns, k_relaxed);
}

/// Once a file and process; a collision of keys writes it again.
void tell_tool(PhaseState& state, int fd, std::uint64_t key) {
  std::atomic<std::uint64_t>& told = state.told[key % k_told_slots];
  Thread& thread = t_thread;
  if (told.load(k_relaxed) == key || !record::recording(process().writer)) return;
  const std::uint64_t file_id = file_of(thread, fd);
  if (file_id == 0) return;
  if (!knows_path(file_id)) adopt_path(thread, fd, file_id);
  if (tell_whole_file(thread, file_id)) told.store(key, k_relaxed);
}

}  // namespace

void read_in_stream(PhaseState& state, int fd, std::uint64_t key) {
  Process& self = process();
  if (self.writer.control == nullptr) return;
  const bool has_read_it = state.told[key % k_told_slots].load(k_relaxed) == key;
  note_reader(*self.writer.control, key, static_cast<std::uint64_t>(self.pid), has_read_it);
  tell_tool(state, fd, key);
}

bool files_are_shared() {
  const record::ControlBlock* control = process().writer.control;
  return control != nullptr && control->shared_reads.load(k_relaxed) >= record::k_files_shared;
}

}  // namespace stallcast::capture
