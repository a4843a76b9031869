#include "probes/collect/launch/run_folder.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "core/clock.hpp"
#include "probes/collect/launch/constants.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;

Error environment_error(const std::string& what, int reason, const std::string& hint) {
  return {ErrorCode::environment, fmt::format("{}: {}", what, std::strerror(reason)), hint};
}

const char* const k_tmpdir_hint = "set TMPDIR to a folder on a local disk with free space that you may write to";

Result<std::uint64_t> checked_free_bytes(const fs::path& parent) {
  struct statvfs space {};
  if (statvfs(parent.c_str(), &space) != 0) {
    return environment_error(fmt::format("cannot use {} for the recordings", parent.string()), errno, k_tmpdir_hint);
  }
  const std::uint64_t available = static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
  if (available < k_least_free_bytes) {
    return Error{ErrorCode::environment,
                 fmt::format("no room for recordings in {}: {} bytes are free, at least {} are needed", parent.string(),
                             available, k_least_free_bytes),
                 k_tmpdir_hint};
  }
  return available;
}

/// Opens, allocates and maps the control file; nullptr with errno set.
void* map_control(const fs::path& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return nullptr;
  void* memory = MAP_FAILED;
  const int refused = posix_fallocate(file, 0, sizeof(record::ControlBlock));
  if (refused == 0) {
    memory = mmap(nullptr, sizeof(record::ControlBlock), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  const int reason = refused != 0 ? refused : errno;
  close(file);
  errno = reason;
  return memory == MAP_FAILED ? nullptr : memory;
}

/// The magic is written last: a process that maps the file half-way leaves it alone.
record::ControlBlock* fill_control(void* memory, const RunFolderPlan& plan, const std::string& run_id) {
  auto* control = new (memory) record::ControlBlock;
  control->abi = record::k_control_abi;
  control->mode = static_cast<std::uint32_t>(plan.mode);
  std::memcpy(control->run_id, run_id.c_str(), std::min(run_id.size(), sizeof control->run_id - 1));
  control->restart = plan.restart;
  control->tool_pid = getpid();
  control->budget_bytes = plan.budget_bytes;
  control->heartbeat_ns.store(monotonic_ns(), std::memory_order_relaxed);
  control->recording.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  std::memcpy(control->magic, record::k_control_magic, sizeof control->magic);
  return control;
}

}  // namespace

std::string new_run_id() {
  std::uint64_t random = monotonic_ns();
  // Without the random device two runs still differ by the clock and the process id.
  if (getrandom(&random, sizeof random, GRND_NONBLOCK) < 0) random ^= static_cast<std::uint64_t>(getpid()) << 40U;
  return fmt::format("{:08x}-{:016x}", clock_ns(CLOCK_REALTIME) / 1'000'000'000ULL, random);
}

fs::path temporary_folder() {
  const char* chosen = std::getenv("TMPDIR");
  return chosen != nullptr && chosen[0] != '\0' ? fs::path(chosen) : fs::path("/tmp");
}

Result<RunFolder> RunFolder::create(const RunFolderPlan& plan) {
  std::error_code failed;
  const fs::path parent = fs::absolute(plan.parent.empty() ? temporary_folder() : plan.parent, failed);
  const auto available = checked_free_bytes(parent);
  if (!available) return available.error();
  const std::string run_id = plan.run_id.empty() ? new_run_id() : plan.run_id;
  RunFolder folder;
  folder.path_ = parent / ("stallcast-" + run_id);
  folder.free_bytes_ = available.value();
  if (mkdir(folder.path_.c_str(), 0700) != 0) {
    return environment_error(fmt::format("cannot create the run folder {}", folder.path_.string()), errno,
                             k_tmpdir_hint);
  }
  void* memory = map_control(folder.path_ / record::k_control_file);
  if (memory == nullptr) {
    const int reason = errno;
    folder.remove();
    return environment_error(fmt::format("cannot create the control block in {}", parent.string()), reason,
                             k_tmpdir_hint);
  }
  folder.control_ = fill_control(memory, plan, run_id);
  return folder;
}

RunFolder::RunFolder(RunFolder&& other) noexcept {
  *this = std::move(other);
}

RunFolder& RunFolder::operator=(RunFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(control_, other.control_);
  std::swap(free_bytes_, other.free_bytes_);
  return *this;
}

RunFolder::~RunFolder() {
  if (control_ != nullptr) munmap(control_, sizeof(record::ControlBlock));
}

void RunFolder::remove() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace stallcast::collect
