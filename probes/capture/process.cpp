#include "probes/capture/process.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "core/clock.hpp"
#include "probes/capture/emulation/emulate.hpp"
#include "probes/capture/hooks/next.hpp"
#include "probes/capture/paths.hpp"
#include "probes/record/raw.hpp"

namespace stallcast::capture {

namespace raw = record::raw;

namespace {

constexpr std::size_t k_page_bytes = 4096;
/// For another thread to open the recording; on a busy machine it may have lost its core half-way.
constexpr std::uint64_t k_patience_ns = 200'000'000;
static_assert(sizeof(Process) <= k_page_bytes);

alignas(Process) constinit Process g_nobody{};

// Outlive a fork, unlike what is in Process.
constinit std::atomic<std::uint32_t> g_births{0};
constinit std::atomic<record::ControlBlock*> g_control{nullptr};
constinit char g_run_folder[record::k_max_path_bytes] = {};

void forget_parent() {
  Process& self = process();
  memset(static_cast<void*>(&self), 0, sizeof(Process));
}

/// MADV_WIPEONFORK also covers a bare clone(); kernels without it get libc's handler instead.
bool map_process_page() {
  void* page = raw::map(k_page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == nullptr) return false;
  if (raw::advise(page, k_page_bytes, MADV_WIPEONFORK) != 0 && pthread_atfork(nullptr, nullptr, forget_parent) != 0) {
    raw::unmap(page, k_page_bytes);
    return false;
  }
  g_process.store(static_cast<Process*>(page), std::memory_order_release);
  return true;
}

/// Runs before main in every process of the job, and in every helper it starts: it must stay this cheap.
/// The folder's name is copied because programs overwrite their environment (setproctitle).
__attribute__((constructor)) void arm() {
  const char* folder = getenv(record::k_env_run_dir);
  if (folder == nullptr || *folder == '\0' || strlen(folder) >= sizeof(g_run_folder)) return;
  const raw::ErrnoKeeper keeper;
  strcpy(g_run_folder, folder);
  if (!map_process_page()) return;
  look_up_all();
  map_emulation();
  g_mode.store(Mode::dormant, std::memory_order_release);
}

record::ControlBlock* control_block() {
  record::ControlBlock* control = g_control.load(std::memory_order_acquire);
  if (control != nullptr) return control;
  bool other_abi = false;
  control = record::map_control(g_run_folder, &other_abi);
  g_control.store(control, std::memory_order_release);
  return control;
}

bool open_recording(Process& self) {
  record::ControlBlock* control = control_block();
  if (control == nullptr) {
    g_mode.store(Mode::broken, std::memory_order_relaxed);
    return false;
  }
  const bool is_fork_child = mode() == Mode::live;
  if (is_fork_child) forget_paths();
  self.pid = raw::process_id();
  // Where the file cannot be opened the rank's counters are still kept, so the process is born all the same.
  if (record::open_writer(self.writer, control, g_run_folder, is_fork_child)) {
    record::FileHeader& header = *self.writer.header;
    header.other_reads.fetch_add(self.reads_unrecorded.load(std::memory_order_relaxed), std::memory_order_relaxed);
    header.other_read_bytes.fetch_add(self.read_unrecorded_bytes.load(std::memory_order_relaxed),
                                      std::memory_order_relaxed);
  }
  g_mode.store(Mode::live, std::memory_order_relaxed);
  self.generation.store(g_births.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_release);
  return true;
}

record::RankSlot* claim(record::RankSlot& slot, std::uint64_t expected_pid, std::uint64_t pid) {
  if (!slot.pid.compare_exchange_strong(expected_pid, pid, std::memory_order_acq_rel)) return nullptr;
  slot.batches.store(0, std::memory_order_relaxed);
  slot.samples.store(0, std::memory_order_relaxed);
  slot.waited_ns.store(0, std::memory_order_relaxed);
  slot.delivered_ns.store(0, std::memory_order_relaxed);
  slot.steps.store(0, std::memory_order_relaxed);
  slot.state.store(static_cast<std::uint32_t>(record::RankState::idle), std::memory_order_relaxed);
  slot.missed_segments.store(0, std::memory_order_relaxed);
  slot.rank.store(record::environment_rank(), std::memory_order_release);
  return &slot;
}

bool is_dead(std::uint64_t pid) {
  return ::syscall(SYS_kill, static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
}

/// A line left by an earlier process with our pid first, then a free one, then one whose owner is dead.
record::RankSlot* find_slot(record::ControlBlock& control, std::uint64_t pid) {
  for (auto& slot : control.ranks) {
    if (slot.pid.load(std::memory_order_relaxed) != pid) continue;
    if (record::RankSlot* own = claim(slot, pid, pid); own != nullptr) return own;
  }
  for (auto& slot : control.ranks) {
    if (slot.pid.load(std::memory_order_relaxed) != 0) continue;
    if (record::RankSlot* own = claim(slot, 0, pid); own != nullptr) return own;
  }
  for (auto& slot : control.ranks) {
    const std::uint64_t owner = slot.pid.load(std::memory_order_relaxed);
    if (!is_dead(owner)) continue;
    if (record::RankSlot* own = claim(slot, owner, pid); own != nullptr) return own;
  }
  return nullptr;
}

}  // namespace

constinit std::atomic<Mode> g_mode{Mode::off};
constinit std::atomic<Process*> g_process{&g_nobody};

bool be_born() {
  const raw::ErrnoKeeper keeper;
  Process& self = process();
  std::uint32_t nobody = 0;
  std::uint64_t asked_ns = 0;
  for (; !self.being_born.compare_exchange_weak(nobody, 1, std::memory_order_acquire); nobody = 0) {
    if (asked_ns == 0) asked_ns = monotonic_ns();
    if (monotonic_ns() - asked_ns > k_patience_ns) return false;
    raw::yield();
  }
  bool born = self.generation.load(std::memory_order_relaxed) != 0;
  if (!born && mode() != Mode::broken) born = open_recording(self);
  self.being_born.store(0, std::memory_order_release);
  return born;
}

const char* run_folder() {
  return g_run_folder;
}

record::RankSlot* rank_slot(Process& self) {
  record::RankSlot* slot = self.slot.load(std::memory_order_acquire);
  if (slot != nullptr || self.writer.control == nullptr || self.slot_refused != 0) return slot;
  const raw::ErrnoKeeper keeper;
  std::uint32_t nobody = 0;
  if (!self.being_born.compare_exchange_strong(nobody, 1, std::memory_order_acquire)) return nullptr;
  slot = self.slot.load(std::memory_order_relaxed);
  if (slot == nullptr) {
    slot = find_slot(*self.writer.control, static_cast<std::uint64_t>(self.pid));
    self.slot.store(slot, std::memory_order_release);
    self.slot_refused = slot == nullptr ? 1 : 0;
    // A rank that sets RANK itself (torch.multiprocessing.spawn) does so after it was born by importing torch.
    record::FileHeader* header = self.writer.header;
    const std::uint32_t rank = record::environment_rank();
    if (header != nullptr && rank != UINT32_MAX) {
      header->rank = rank;
      header->world_size = record::environment_world_size();
    }
  }
  self.being_born.store(0, std::memory_order_release);
  return slot;
}

}  // namespace stallcast::capture
