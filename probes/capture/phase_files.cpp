/// What a phase does with files: at their opens, and at reads of those that stay open.
#include <algorithm>

#include "probes/capture/hook.hpp"
#include "probes/capture/paths.hpp"
#include "probes/capture/phase.hpp"
#include "probes/capture/phase_calls.hpp"
#include "probes/capture/phase_names.hpp"
#include "probes/capture/phase_ours.hpp"
#include "probes/capture/phase_pages.hpp"
#include "probes/capture/phase_stage.hpp"

namespace stallcast::capture {
namespace {

constexpr auto k_relaxed = std::memory_order_relaxed;
constexpr std::uint64_t k_granule = 64 * 1024;
constexpr std::uint64_t k_chunk = 1ULL << 20;  ///< of a file too large to be this run's own as a whole
constexpr std::uint64_t k_ahead = 16;          ///< granules: more than a kernel reads ahead
/// A larger file is one that samples are parts of: asked about and evicted by what is read of it.
constexpr std::uint64_t k_whole_file = 64ULL << 20;
constexpr int k_never_staged = O_CREAT | O_TRUNC | O_DIRECT | O_PATH | O_DIRECTORY | O_APPEND | O_NOFOLLOW;

std::uint64_t hash_words(const std::uint64_t* words, std::size_t count) {
  return hash_path(reinterpret_cast<const char*>(words), count * sizeof(*words));
}

std::uint64_t file_key(const struct stat& file) {
  const std::uint64_t words[] = {file.st_dev, file.st_ino};
  return hash_words(words, 2);
}

std::uint64_t chunk_key(const struct stat& file, std::uint64_t chunk) {
  const std::uint64_t words[] = {file.st_dev, file.st_ino, chunk};
  return hash_words(words, 3);
}

/// A part of a file that is about to be read.
struct Part {
  int fd;
  const struct stat* file;
  Range range;
  std::uint64_t key;  ///< by which it is this run's own
  bool is_cold;
};

bool is_own(const Part& part) {
  return is_ours(part.key) || is_ours(file_key(*part.file));
}

/// Drops the part's pages. Twice at most: the second time finds what was under way the first time.
std::uint64_t evict(const Part& part, std::uint64_t resident) {
  std::uint64_t left = resident;
  for (int tries = 0; tries < 2 && left > 0; ++tries) {
    drop_pages(part.fd, part.range);
    left = resident_in(part.fd, *part.file, part.range).bytes;
  }
  return left;
}

/// Asks what is resident, evicts what may be, and counts both.
void settle(PhaseSeen& seen, const Part& part) {
  seen.opened_bytes.fetch_add(part.range.bytes, k_relaxed);
  const Resident found = resident_in(part.fd, *part.file, part.range);
  if (!found.known) {
    seen.unknown_opens.fetch_add(1, k_relaxed);
    if (part.is_cold && process().writer.control->evict == static_cast<std::uint32_t>(record::Evict::all)) {
      drop_pages(part.fd, part.range);
    }
    return;
  }
  if (found.bytes == 0) return claim_ours(part.key);
  std::uint64_t left = found.bytes;
  if (part.is_cold) {
    const auto may = static_cast<record::Evict>(process().writer.control->evict);
    const bool own = is_own(part);
    if (!own) seen.foreign_bytes.fetch_add(may == record::Evict::all ? 0 : found.bytes, k_relaxed);
    if (may == record::Evict::all || (may == record::Evict::own && own)) left = evict(part, found.bytes);
    seen.evicted_bytes.fetch_add(found.bytes - std::min(left, found.bytes), k_relaxed);
  }
  seen.resident_bytes.fetch_add(left, k_relaxed);
}

bool is_cold(const PhaseState& state, std::uint64_t id) {
  const Treatment treatment = state.treatment.load(k_relaxed);
  if (treatment == Treatment::half) return is_cold_half(id, state.seed.load(k_relaxed));
  return treatment == Treatment::cold;
}

bool is_redirected(const PhaseState& state, std::uint64_t id) {
  const Treatment treatment = state.treatment.load(k_relaxed);
  return treatment == Treatment::cached || (treatment == Treatment::half && !is_cold(state, id));
}

/// Remembers that this granule was settled in this batch; true if that is news. Lossy: a collision settles it again.
bool is_news(PhaseState& state, std::uint64_t key, std::uint64_t granule) {
  const std::uint64_t words[] = {key, granule, state.serial.load(k_relaxed)};
  const std::uint64_t mark = hash_words(words, 3);
  return state.ranges[mark % k_range_slots].exchange(mark, k_relaxed) != mark;
}

bool is_settled(const PhaseState& state, std::uint64_t key, std::uint64_t granule) {
  const std::uint64_t words[] = {key, granule, state.serial.load(k_relaxed)};
  const std::uint64_t mark = hash_words(words, 3);
  return state.ranges[mark % k_range_slots].load(k_relaxed) == mark;
}

/// Settles granules first..last, those of one chunk at a time, once per batch each.
void settle_granules(PhaseState& state, int fd, const struct stat& file, std::uint64_t first, std::uint64_t last) {
  const std::uint64_t key = file_key(file);
  const auto size = static_cast<std::uint64_t>(file.st_size);
  for (std::uint64_t at = first; at <= last;) {
    if (!is_news(state, key, at)) {
      ++at;
      continue;
    }
    const std::uint64_t chunk = at * k_granule / k_chunk;
    std::uint64_t end = at + 1;
    while (end <= last && end * k_granule / k_chunk == chunk && is_news(state, key, end)) ++end;
    const Range range{at * k_granule, std::min(end * k_granule, size) - at * k_granule};
    const std::uint64_t own = chunk_key(file, chunk);
    settle(state.seen, {.fd = fd, .file = &file, .range = range, .key = own, .is_cold = is_cold(state, own)});
    at = end;
  }
}

/// The state if opens and reads of this thread are to be looked at: not in a vfork child, not without a run.
PhaseState* looking_state() {
  PhaseState* state = phase_state();
  return state != nullptr && process().writer.control != nullptr && owns_memory(t_thread) ? state : nullptr;
}

void mark_opened(PhaseState& state, int fd, std::uint32_t serial) {
  if (fd < k_tracked_fds) state.opened_in[fd].store(serial, k_relaxed);
}

}  // namespace

bool is_cold_half(std::uint64_t id, std::uint32_t seed) {
  const std::uint64_t words[] = {id, seed};
  return (hash_words(words, 2) >> 32U & 1U) != 0;
}

bool find_staged(int folder, const char* path, int flags, StagedCopy& copy) {
  PhaseState* state = looking_state();
  if (state == nullptr || state->round_known.load(k_relaxed) == 0) return false;
  if ((flags & O_ACCMODE) != O_RDONLY || (flags & k_never_staged) != 0) return false;
  record::ControlBlock& control = *process().writer.control;
  if (control.stage_dir[0] == '\0') return false;
  const Opened opened = describe_open(path, flags);
  if (opened.file_id == 0 || opened.import || !is_redirected(*state, opened.file_id)) return false;
  const record::raw::ErrnoKeeper keeper;
  struct stat file {};
  if (raw::stat_at(folder, path, &file) != 0 || !S_ISREG(file.st_mode)) return false;
  copy.size = static_cast<std::uint64_t>(file.st_size);
  copy.device = file.st_dev;
  return StageName(copy.path)
      .add(control.stage_dir)
      .add_round(state->round.load(k_relaxed))
      .add_copy(identity_of(file))
      .complete();
}

void staged_opened(int fd, const StagedCopy& copy) {
  PhaseState* state = looking_state();
  if (state == nullptr) return;
  state->seen.opens.fetch_add(1, k_relaxed);
  state->seen.staged_opens.fetch_add(1, k_relaxed);
  state->seen.opened_bytes.fetch_add(copy.size, k_relaxed);
  state->seen.resident_bytes.fetch_add(copy.size, k_relaxed);
  mark_opened(*state, fd, state->serial.load(k_relaxed));
  set_kind(fd, FdKind::regular);
  note_size(t_thread, fd, copy.size, copy.device);
}

void file_opened(int fd, const char* path, int flags) {
  PhaseState* state = looking_state();
  if (state == nullptr || (flags & O_ACCMODE) != O_RDONLY) return;
  const Opened opened = describe_open(path, flags);
  if (opened.file_id == 0 || opened.import) return;
  const record::raw::ErrnoKeeper keeper;
  const Busy busy(t_thread);
  struct stat file {};
  if (raw::stat_fd(fd, &file) != 0) return;
  set_kind(fd, kind_of_mode(file.st_mode));
  if (!S_ISREG(file.st_mode)) return;
  state->seen.opens.fetch_add(1, k_relaxed);
  const auto size = static_cast<std::uint64_t>(file.st_size);
  const bool is_whole = size <= k_whole_file;
  mark_opened(*state, fd, is_whole ? state->serial.load(k_relaxed) : 0);
  if (!is_whole || size == 0) return;
  if ((flags & O_DIRECT) != 0) {
    state->seen.opened_bytes.fetch_add(size, k_relaxed);  // reads go past the page cache: nothing is resident for them
    return;
  }
  const Part whole{
      .fd = fd, .file = &file, .range = {0, size}, .key = file_key(file), .is_cold = is_cold(*state, opened.file_id)};
  settle(state->seen, whole);
  if (state->remembers.load(k_relaxed) != 0) remember_file(state->files, fd, path, opened.length, file);
}

void before_read(int fd, off_t offset, std::size_t bytes) {
  PhaseState* state = looking_state();
  if (state == nullptr || fd < 0 || fd >= k_tracked_fds || bytes == 0) return;
  if (state->opened_in[fd].load(k_relaxed) == state->serial.load(k_relaxed)) return;
  const record::raw::ErrnoKeeper keeper;
  const Busy busy(t_thread);
  struct stat file {};
  if (raw::stat_fd(fd, &file) != 0 || !S_ISREG(file.st_mode)) return;
  const off_t from = offset >= 0 ? offset : raw::position(fd);
  if (from < 0 || from >= file.st_size) return;
  const auto begin = static_cast<std::uint64_t>(from);
  const std::uint64_t end = begin + std::min<std::uint64_t>(bytes, static_cast<std::uint64_t>(file.st_size) - begin);
  const std::uint64_t first = begin / k_granule;
  std::uint64_t last = (end - 1) / k_granule;
  // A reader that goes on where it was: what the kernel reads ahead for it must not be dropped when it gets there.
  const std::uint64_t key = file_key(file);
  if (first > 0 && state->treatment.load(k_relaxed) != Treatment::look && is_settled(*state, key, first - 1)) {
    last = std::min(last + k_ahead, static_cast<std::uint64_t>(file.st_size - 1) / k_granule);
  }
  settle_granules(*state, fd, file, first, last);
}

}  // namespace stallcast::capture
