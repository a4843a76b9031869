/// Reads of files that stay open from batch to batch: shards, HDF5, everything that is too large to be one sample.
///
/// In a cold batch the granules (64 KiB) that a read touches are dropped before it, once per batch. A reader that moves
/// on through the file is different: the kernel reads ahead for it, and to drop that when the reader gets there would
/// make cold reads slower than they are. So its way is cleared well ahead:
///
///   read of granule 40            40 is dropped, and 41..44 where readers of this file move on: the kernel reads ahead
///   read of granule 41            41 was next to 40: what follows up to 8 MiB is dropped before the kernel gets there
///   read of granules 42, 43, ...  nothing to do but to clear the next 2 MiB now and then
///
/// What was read, and cleared, is remembered for a batch; in a stream, whose readers go on where the batch before them
/// ended, for the whole segment. Such a reader enters a segment with a way that the kernel has read ahead for it, up to
/// two windows. That is what being cold is like: it is left, and its way is cleared beyond.
#include <algorithm>

#include "probes/capture/hooks/hook.hpp"
#include "probes/capture/phases/phase.hpp"
#include "probes/capture/phases/populated.hpp"
#include "probes/capture/phases/settle.hpp"
#include "probes/capture/phases/stream_files.hpp"
#include "probes/capture/phases/system_calls.hpp"
#include "probes/capture/read_ahead.hpp"
#include "probes/capture/touched.hpp"

namespace stallcast::capture {
namespace {

constexpr auto k_relaxed = std::memory_order_relaxed;
constexpr std::uint64_t k_granule = record::k_granule_bytes;
/// Granules of a chunk, the unit in which a large file is this run's own.
constexpr std::uint64_t k_chunk = record::k_own_chunk_bytes / k_granule;
constexpr std::uint64_t k_ahead = 4 * k_chunk;
constexpr std::uint64_t k_windows_ahead = 2;  ///< of the kernel: the one that is read, and the one that is under way

enum class Mark : std::uint64_t { counted = 1, cleared = 2, whole = 3 };

/// One file in one batch.
struct Reading {
  PhaseState& state;
  int fd;
  const struct stat& file;
  std::uint64_t key;
  std::uint64_t end;  ///< granule after the file's last
};

std::uint64_t mark_of(const PhaseState& state, std::uint64_t file, std::uint64_t granule, Mark mark) {
  const std::uint64_t words[] = {file, granule, state.marks.load(k_relaxed), static_cast<std::uint64_t>(mark)};
  return hash_words(words, 4);
}

/// Lossy: a collision forgets a mark, and the granule is asked about again.
void set_mark(const Reading& reading, std::uint64_t granule, Mark mark) {
  const std::uint64_t value = mark_of(reading.state, reading.key, granule, mark);
  reading.state.ranges[value % k_range_slots].store(value, k_relaxed);
}

bool has_mark(const Reading& reading, std::uint64_t granule, Mark mark) {
  const std::uint64_t value = mark_of(reading.state, reading.key, granule, mark);
  return reading.state.ranges[value % k_range_slots].load(k_relaxed) == value;
}

/// Granules first..end-1, all of one chunk.
FilePart part_of(const Reading& reading, std::uint64_t first, std::uint64_t end) {
  const auto size = static_cast<std::uint64_t>(reading.file.st_size);
  const std::uint64_t key = record::own_chunk_key(reading.file.st_dev, reading.file.st_ino, first / k_chunk);
  const Range range{first * k_granule, std::min(end * k_granule, size) - first * k_granule};
  return {.fd = reading.fd, .file = &reading.file, .range = range, .key = key, .is_cold = is_cold(reading.state, key)};
}

/// Where the chunk of `granule` ends, at most `end`.
std::uint64_t chunk_end(std::uint64_t granule, std::uint64_t end) {
  return std::min((granule / k_chunk + 1) * k_chunk, end);
}

/// Granules first..end-1 are about to be read. What was cleared before the reader came is not asked about: that it is
/// resident now is the kernel's reading ahead.
void settle_granules(const Reading& reading, std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t at = first; at < end;) {
    if (has_mark(reading, at, Mark::counted)) {
      ++at;
      continue;
    }
    const bool cleared = has_mark(reading, at, Mark::cleared);
    const std::uint64_t limit = chunk_end(at, end);
    std::uint64_t next = at;
    while (next < limit && has_mark(reading, next, Mark::cleared) == cleared &&
           !has_mark(reading, next, Mark::counted)) {
      set_mark(reading, next++, Mark::counted);
    }
    const FilePart part = part_of(reading, at, std::max(next, at + 1));
    if (cleared) {
      reading.state.seen.opened_bytes.fetch_add(part.range.bytes, k_relaxed);
    } else {
      settle(reading.state.seen, part);
    }
    at = std::max(next, at + 1);
  }
}

/// Counts the pages of `bytes` from `begin` that this batch has not read yet: what is read again is fetched once. Lossy
/// as set_mark() is: what was forgotten counts again.
void count_pages(const Reading& reading, std::uint64_t begin, std::uint64_t bytes) {
  constexpr std::uint64_t k_page = 4096;
  std::uint64_t added = 0;
  for (std::uint64_t page = begin / k_page; page <= (begin + bytes - 1) / k_page; ++page) {
    const std::uint64_t words[] = {reading.key, page, reading.state.marks.load(k_relaxed)};
    const std::uint64_t value = hash_words(words, 3);
    if (reading.state.pages[value % k_page_slots].exchange(value, k_relaxed) != value) added += k_page;
  }
  reading.state.seen.page_bytes.fetch_add(added, k_relaxed);
}

/// Clears granules from..end-1 before the kernel reads them ahead, chunk by chunk.
void clear(const Reading& reading, std::uint64_t from, std::uint64_t end) {
  for (std::uint64_t at = from; at < end;) {
    const std::uint64_t next = chunk_end(at, end);
    // Marks may be forgotten; both of them hardly are.
    if (!has_mark(reading, next - 1, Mark::cleared) && !has_mark(reading, (at + next) / 2, Mark::cleared)) {
      const FilePart part = part_of(reading, at, next);
      if (part.is_cold && clear_pages(part)) {
        for (std::uint64_t granule = at; granule < next; ++granule) set_mark(reading, granule, Mark::cleared);
      }
    }
    at = next;
  }
}

/// Granules that the kernel may have read ahead of a reader that moves on.
std::uint64_t reach_of(const Reading& reading) {
  return k_windows_ahead * read_ahead_of_device(reading.file.st_dev) / k_granule;
}

/// A stream's reader goes on at granule `first` in another segment: what is there of its way was read ahead for it just
/// now, if nothing is beyond. Not known at the end of a file. Whether it came from storage, the bytes from there tell
/// that a block's premise asks for: what is left here does not count as resident.
void leave_read_ahead(const Reading& reading, std::uint64_t first) {
  if (first == 0 || has_mark(reading, first, Mark::counted) || has_mark(reading, first, Mark::cleared)) return;
  const std::uint64_t beyond = chunk_end(first + reach_of(reading), reading.end);
  if (beyond >= reading.end) return;
  const FilePart part = part_of(reading, beyond, chunk_end(beyond, reading.end));
  if (!part.is_cold) return;
  const Resident found = resident_in(part.fd, *part.file, part.range);
  if (!found.known || found.bytes > 0) return;
  for (std::uint64_t granule = first; granule < beyond; ++granule) set_mark(reading, granule, Mark::cleared);
}

/// Whether readers of this file move on from granule to granule; `moves_on`: one does now.
bool has_movers(const Reading& reading, bool moves_on) {
  std::atomic<std::uint64_t>& slot = reading.state.movers[reading.key % k_mover_slots];
  if (moves_on) slot.store(reading.key, k_relaxed);
  return slot.load(k_relaxed) == reading.key;
}

/// Clears the way of a reader that is about to read granules first..end-1: of one that moves on, far ahead. Of one that
/// came from elsewhere, in a file whose readers move on, as far as the kernel may read ahead for it before it is known
/// whether it does: up to four times what is asked for. Samples that are read at once are not asked about twice.
void clear_way(const Reading& reading, std::uint64_t first, std::uint64_t end, bool moves_on) {
  std::uint64_t until = std::min(end + 4 * (end - first), reading.end);
  if (moves_on) {
    const std::uint64_t ahead = std::max(k_ahead, reach_of(reading) + k_chunk);
    until = std::min(chunk_end(end + ahead, reading.end), reading.end);
  } else {
    for (std::uint64_t granule = end; granule < until; ++granule) {
      if (has_mark(reading, granule, Mark::counted)) until = granule;  // this batch has read it: it is no longer cold
    }
  }
  clear(reading, end, until);
}

}  // namespace

void mark_whole_file(PhaseState& state, std::uint64_t file) {
  const std::uint64_t value = mark_of(state, file, 0, Mark::whole);
  state.ranges[value % k_range_slots].store(value, k_relaxed);
}

void before_read(int fd, const ReadPlan& plan) {
  PhaseState* state = looking_state();
  if (state == nullptr || fd < 0 || fd >= k_tracked_fds || plan.bytes == 0 || is_code(fd)) return;
  const bool is_opened = state->opened_in[fd].load(k_relaxed) == state->serial.load(k_relaxed);
  if (is_opened && !touches_others_file(fd)) return;
  const record::raw::ErrnoKeeper keeper;
  const Busy busy(t_thread);
  struct stat file {};
  if (raw::stat_fd(fd, &file) != 0 || !S_ISREG(file.st_mode)) return;
  const off_t from = plan.offset >= 0 ? plan.offset : raw::position(fd);
  if (from < 0 || from >= file.st_size) return;
  const auto begin = static_cast<std::uint64_t>(from);
  const std::uint64_t bytes = std::min<std::uint64_t>(plan.bytes, static_cast<std::uint64_t>(file.st_size) - begin);
  touch_range(fd, begin, bytes);
  if (state->is_stream.load(k_relaxed) != 0) read_in_stream(*state, fd, file_key(file));
  if (is_opened) return;
  const std::uint64_t first = begin / k_granule;
  const std::uint64_t end = (begin + bytes - 1) / k_granule + 1;
  const std::uint64_t last = static_cast<std::uint64_t>(file.st_size - 1) / k_granule;
  const Reading reading{.state = *state, .fd = fd, .file = file, .key = file_key(file), .end = last + 1};
  if (has_mark(reading, 0, Mark::whole)) {  // a second descriptor of what was opened in this batch: numpy.load() dups
    state->opened_in[fd].store(state->serial.load(k_relaxed), k_relaxed);
    return;
  }
  count_pages(reading, begin, bytes);
  const bool treats = state->treatment.load(k_relaxed) != Treatment::look;
  if (treats && state->is_stream.load(k_relaxed) != 0) leave_read_ahead(reading, first);
  const bool moves_on = first > 0 && has_mark(reading, first - 1, Mark::counted);
  const bool is_new = !has_mark(reading, end - 1, Mark::counted);
  settle_granules(reading, first, end);
  const bool clears = treats && (moves_on || is_new);
  if (clears && has_movers(reading, moves_on)) clear_way(reading, first, end, moves_on);
}

}  // namespace stallcast::capture
