/// What a phase does with a file when it is opened.
#include "probes/capture/hook.hpp"
#include "probes/capture/paths.hpp"
#include "probes/capture/phase.hpp"
#include "probes/capture/phase_calls.hpp"
#include "probes/capture/phase_maps.hpp"
#include "probes/capture/phase_names.hpp"
#include "probes/capture/phase_settle.hpp"
#include "probes/capture/phase_stage.hpp"

namespace stallcast::capture {
namespace {

constexpr auto k_relaxed = std::memory_order_relaxed;
constexpr int k_never_staged = O_CREAT | O_TRUNC | O_DIRECT | O_PATH | O_DIRECTORY | O_APPEND | O_NOFOLLOW;

bool is_redirected(const PhaseState& state, std::uint64_t id) {
  const Treatment treatment = state.treatment.load(k_relaxed);
  return treatment == Treatment::cached || (treatment == Treatment::half && !is_cold(state, id));
}

void mark_opened(PhaseState& state, int fd, std::uint32_t serial) {
  if (fd < k_tracked_fds) state.opened_in[fd].store(serial, k_relaxed);
}

}  // namespace

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
  state->seen.page_bytes.fetch_add(copy.size, k_relaxed);
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
  set_kind(fd, kind_of_mode(fd, file.st_mode));
  if (!S_ISREG(file.st_mode)) return;
  note_size(t_thread, fd, static_cast<std::uint64_t>(file.st_size), file.st_dev);  // nobody else may ask for it
  state->seen.opens.fetch_add(1, k_relaxed);
  const auto size = static_cast<std::uint64_t>(file.st_size);
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
  if (state->remembers.load(k_relaxed) != 0) remember_file(state->files, fd, path, opened.length, file);
}

}  // namespace stallcast::capture
