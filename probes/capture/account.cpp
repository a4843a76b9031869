#include "probes/capture/account.hpp"

#include "probes/capture/helpers.hpp"
#include "probes/capture/paths.hpp"
#include "probes/capture/sample.hpp"
#include "probes/capture/sampled_timing.hpp"
#include "probes/record/raw.hpp"

namespace stallcast::capture {
namespace {

constexpr auto k_relaxed = std::memory_order_relaxed;

/// First read through a descriptor that this process did not see being opened: older than the recording, inherited, or
/// opened by something that is not interposed.
void adopt(Thread& thread, int fd, FdEntry& entry) {
  entry.reads.store(0, k_relaxed);
  entry.read_ns.store(0, k_relaxed);
  entry.read_bytes.store(0, k_relaxed);
  entry.generation.store(thread.generation, k_relaxed);
  if (entry.unlisted.load(k_relaxed) != 0) return;
  entry.file_id.store(adopt_path(thread, fd, entry.file_id.load(k_relaxed)), k_relaxed);
}

void add_read(record::IoTotals& totals, const ReadEvent& event) {
  totals.read_ns += event.ns;
  totals.read_bytes += event.bytes;
  totals.reads += event.reads;
}

void add_outside_sample(FdEntry& entry, const ReadEvent& event) {
  if (entry.reads.fetch_add(event.reads, k_relaxed) == 0) entry.begin_ns.store(event.begin_ns, k_relaxed);
  entry.read_ns.fetch_add(event.ns, k_relaxed);
  entry.read_bytes.fetch_add(event.bytes, k_relaxed);
}

void count_stream(record::FileHeader& header, const ReadEvent& event) {
  header.stream_read_bytes.fetch_add(event.bytes, k_relaxed);
  header.stream_read_ns.fetch_add(event.ns, k_relaxed);
  header.stream_reads.fetch_add(event.reads, k_relaxed);
}

/// What comes over the network while a batch is made is what it is made of. What comes at other times may be gradients.
void count_received(Thread& thread, record::FileHeader& header, const ReadEvent& event) {
  count_stream(header, event);
  if (in_sample(thread) || in_batch(thread)) {
    add_read(in_sample(thread) ? thread.sample.io : thread.batch.io, event);
    thread.batch.received_bytes += event.bytes;
    thread.batch.receives += event.reads;
  } else if (helps_a_batch()) {
    help_receive(event);
  }
}

void count_elsewhere(record::FileHeader& header, const ReadEvent& event) {
  header.other_read_bytes.fetch_add(event.bytes, k_relaxed);
  if (event.reads == 0) return;
  header.other_read_ns.fetch_add(event.ns, k_relaxed);
  header.other_reads.fetch_add(event.reads, k_relaxed);
}

}  // namespace

void learn(int fd, std::uint32_t mode, std::uint64_t size_bytes, std::uint64_t device) {
  const FdEntry* entry = fd_entry(fd);
  if (entry == nullptr || !owns_memory(t_thread)) return;
  if (entry->kind.load(k_relaxed) == FdKind::unknown) set_kind(fd, kind_of_mode(fd, mode));
  if (Thread* thread = recording_thread(); thread != nullptr) note_size(*thread, fd, size_bytes, device);
}

FdKind classify(int fd) {
  const record::raw::ErrnoKeeper keeper;
  struct stat status {};
  if (record::raw::stat_fd(fd, &status) != 0) return FdKind::ignored;
  learn(fd, status.st_mode, static_cast<std::uint64_t>(status.st_size), status.st_dev);
  return kind_of_mode(fd, status.st_mode);
}

std::uint64_t file_of(Thread& thread, int fd) {
  FdEntry* entry = fd_entry(fd);
  if (entry == nullptr || entry->code.load(k_relaxed) != 0) return 0;
  if (entry->generation.load(k_relaxed) != thread.generation) adopt(thread, fd, *entry);
  const std::uint64_t file_id = entry->file_id.load(k_relaxed);
  // Opened while the recording was switched off, or forgotten since.
  return file_id == 0 || knows_path(file_id) ? file_id : adopt_path(thread, fd, file_id);
}

bool counts_metadata(const Thread& thread) {
  return in_sample(thread) || in_batch(thread);
}

void count_read(Thread& thread, const ReadEvent& event) {
  const Busy busy(thread);
  record::FileHeader& header = *process().writer.header;
  if (event.kind == FdKind::stream) return count_stream(header, event);
  if (event.kind == FdKind::socket) return count_received(thread, header, event);
  FdEntry* entry = fd_entry(event.fd);
  if (entry != nullptr && entry->generation.load(k_relaxed) != thread.generation) adopt(thread, event.fd, *entry);
  if (in_sample(thread)) {
    add_read(thread.sample.io, event);
    if (!is_timing(thread) && thread.sample.unseen == 0) return;
    const std::uint64_t file_id = entry != nullptr ? entry->file_id.load(k_relaxed) : 0;
    if (file_id == 0) return;
    FileInSample* file = is_timing(thread) ? &file_in_sample(thread, file_id, event.fd, event.begin_ns)
                                           : line_in_sample(thread, file_id);
    if (file == nullptr) return;
    file->read_ns += event.ns;
    file->read_bytes += event.bytes;
    file->reads += event.reads;
    return;
  }
  if (entry != nullptr) add_outside_sample(*entry, event);
  if (in_batch(thread)) {
    add_read(thread.batch.io, event);
  } else if (helps_a_batch()) {
    help_read(event);
  } else {
    count_elsewhere(header, event);
  }
}

void count_unrecorded(std::uint64_t bytes) {
  Process& self = process();
  Thread& thread = t_thread;
  if (self.generation.load(k_relaxed) != 0 || thread.busy != 0) return;
  self.reads_unrecorded.fetch_add(1, k_relaxed);
  const std::uint64_t total = self.read_unrecorded_bytes.fetch_add(bytes, k_relaxed) + bytes;
  // The child of a recorded process is recorded from its first read on; anybody else has to show that it matters.
  if (mode() != Mode::live && total < k_dormant_read_bytes) return;
  const Busy busy(thread);
  be_born();
}

void count_open(Thread& thread, const OpenEvent& event) {
  const Busy busy(thread);
  if (in_sample(thread)) {
    thread.sample.io.opens += 1;
    thread.sample.io.meta_ns += event.ns;
    if (event.file_id == 0 || (!is_timing(thread) && !event.unseen)) return;
    thread.sample.unseen += event.unseen ? 1 : 0;
    file_in_sample(thread, event.file_id, event.fd, event.begin_ns).meta_ns += event.ns;
  } else if (in_batch(thread)) {
    thread.batch.io.opens += 1;
    thread.batch.io.meta_ns += event.ns;
  } else if (helps_a_batch()) {
    help_open(event.begin_ns, event.ns);
  } else {
    process().writer.header->other_opens.fetch_add(1, k_relaxed);
  }
}

void count_metadata(Thread& thread, std::uint64_t ns, std::uint32_t stats) {
  record::IoTotals& io = in_sample(thread) ? thread.sample.io : thread.batch.io;
  io.meta_ns += ns;
  io.stats += stats;
}

void count_close(Thread& thread, int fd, const FdTotals& totals, std::uint64_t ns) {
  if (totals.kind != FdKind::regular) return;
  const Busy busy(thread);
  if (counts_metadata(thread)) count_metadata(thread, ns, 0);
  if (in_sample(thread) && (is_timing(thread) || thread.sample.unseen != 0)) {
    for (auto& file : thread.sample.files) {
      if (file.file_id != totals.file_id || file.fd != fd || file.file_id == 0) continue;
      file.meta_ns += ns;
      write_file(thread, file);
    }
  }
  if (totals.reads == 0 || totals.file_id == 0 || !totals.listed) return;
  FileInSample outside{.file_id = totals.file_id,
                       .begin_ns = totals.begin_ns,
                       .read_ns = totals.read_ns,
                       .read_bytes = totals.read_bytes,
                       .meta_ns = 0,
                       .reads = totals.reads,
                       .fd = fd};
  write_file(thread, outside);
}

void count_mapped(std::uint64_t bytes) {
  process().writer.header->mapped_bytes.fetch_add(bytes, k_relaxed);
}

}  // namespace stallcast::capture
