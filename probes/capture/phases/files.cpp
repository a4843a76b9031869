/// What a phase does with a file when it is opened.
#include "probes/capture/hooks/hook.hpp"
#include "probes/capture/paths.hpp"
#include "probes/capture/phases/maps.hpp"
#include "probes/capture/phases/phase.hpp"
#include "probes/capture/phases/settle.hpp"
#include "probes/capture/phases/stream_files.hpp"
#include "probes/capture/phases/system_calls.hpp"
#include "probes/capture/touched.hpp"

namespace stallcast::capture {
namespace {

constexpr auto k_relaxed = std::memory_order_relaxed;

void mark_opened(PhaseState& state, int fd, std::uint32_t serial) {
  if (fd < k_tracked_fds) state.opened_in[fd].store(serial, k_relaxed);
}

void note_largest(PhaseSeen& seen, std::uint64_t size) {
  std::uint64_t largest = seen.largest_file.load(k_relaxed);
  while (size > largest && !seen.largest_file.compare_exchange_weak(largest, size, k_relaxed)) {
  }
}

}  // namespace

void file_opened(int fd, const char* path, int flags) {
  PhaseState* state = looking_state();
  if (state == nullptr || (flags & O_ACCMODE) != O_RDONLY) return;
  const Opened opened = describe_open(path, flags);
  if (opened.file_id == 0 || opened.import) return;
  const record::raw::ErrnoKeeper keeper;
  const Busy busy(t_thread);
  struct stat file {};
  if (raw::stat_fd(fd, &file) != 0) return;
  set_kind(fd, kind_of_mode(fd, file.st_mode));
  if (!S_ISREG(file.st_mode)) return;
  note_size(t_thread, fd, static_cast<std::uint64_t>(file.st_size), file.st_dev);  // nobody else may ask for it
  if (state->is_stream.load(k_relaxed) != 0) read_in_stream(*state, fd, file_key(file));
  state->seen.opens.fetch_add(1, k_relaxed);
  const auto size = static_cast<std::uint64_t>(file.st_size);
  note_largest(state->seen, size);
  const bool is_whole = size <= k_whole_phase_file;
  mark_opened(*state, fd, is_whole ? state->serial.load(k_relaxed) : 0);
  if (!is_whole) claim_absent(fd, file);
  if (!is_whole || size == 0) return;
  state->seen.page_bytes.fetch_add(size, k_relaxed);
  if ((flags & O_DIRECT) != 0) {
    state->seen.opened_bytes.fetch_add(size, k_relaxed);  // reads go past the page cache: nothing is resident for them
    return;
  }
  const FilePart whole{
      .fd = fd, .file = &file, .range = {0, size}, .key = file_key(file), .is_cold = is_cold(*state, opened.file_id)};
  settle(state->seen, whole);
  mark_whole_file(*state, whole.key);
  touch_file(fd, opened.file_id);
}

}  // namespace stallcast::capture
