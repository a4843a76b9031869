#include <sys/utsname.h>

#include <cstdlib>
#include <cstring>
#include <ctime>

#include "probes/record/extent.hpp"
#include "probes/record/raw.hpp"

namespace stallcast::record {
namespace {

constexpr int k_same_name_tries = 16;

/// Text in a fixed buffer: snprintf may allocate, this does not. Cut, never overrun, if too long.
class Text {
 public:
  Text(char* out, std::size_t room) : out_(out), room_(room) { out_[0] = '\0'; }

  Text& add(const char* text) {
    while (*text != '\0' && used_ + 1 < room_) out_[used_++] = *text++;
    complete_ = complete_ && *text == '\0';
    out_[used_] = '\0';
    return *this;
  }

  Text& add(std::uint64_t number) {
    char digits[24];
    char* at = digits + sizeof(digits);
    *--at = '\0';
    do *--at = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
    return add(at);
  }

  [[nodiscard]] bool complete() const { return complete_; }

 private:
  char* out_;
  std::size_t room_;
  std::size_t used_ = 0;
  bool complete_ = true;
};

std::uint64_t clock_now_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(now.tv_nsec);
}

/// A small non-negative number of the environment, or `otherwise` where there is none.
std::uint32_t number_in_environment(const char* name, std::uint32_t otherwise) {
  const char* text = getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  std::uint64_t value = 0;
  for (; *text >= '0' && *text <= '9'; ++text) {
    value = value * 10 + static_cast<std::uint64_t>(*text - '0');
    if (value >= UINT32_MAX) return otherwise;
  }
  return *text == '\0' ? static_cast<std::uint32_t>(value) : otherwise;
}

void copy_text(char* out, std::size_t room, const char* text) {
  Text(out, room).add(text);
}

/// Creates the file. The same pid twice in one run is real (exec after recording, two pid namespaces): "-1", "-2", ...
int create_file(Writer& writer, const char* run_folder, const FileHeader& header) {
  for (int twin = 0; twin < k_same_name_tries; ++twin) {
    Text path(writer.path, sizeof(writer.path));
    path.add(run_folder).add("/").add(header.run_id).add(".").add(header.restart).add(".").add(header.host).add(".");
    path.add(static_cast<std::uint64_t>(header.pid));
    if (twin > 0) path.add("-").add(static_cast<std::uint64_t>(twin));
    path.add(".rec");
    if (!path.complete()) return -1;
    const int fd = raw::open_file(writer.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

void name_job(FileHeader& header) {
  for (const char* name : k_job_variables) {
    const char* value = getenv(name);
    if (value == nullptr || *value == '\0' || strcmp(value, k_no_job) == 0) continue;
    Text(header.job, sizeof(header.job)).add(name).add("=").add(value);
    return;
  }
}

void describe_process(FileHeader& header, const ControlBlock& control, bool is_fork_child) {
  header.version = k_version;
  header.header_bytes = k_header_bytes;
  header.block_bytes = k_block_bytes;
  header.restart = number_in_environment(k_restart_variable, control.restart);
  memcpy(header.run_id, control.run_id, sizeof(header.run_id));
  header.run_id[sizeof(header.run_id) - 1] = '\0';
  utsname system{};
  ::syscall(SYS_uname, &system);
  copy_text(header.host, sizeof(header.host), system.nodename);
  char executable[sizeof(header.executable)] = {};
  raw::read_link("/proc/self/exe", executable, sizeof(executable) - 1);
  copy_text(header.executable, sizeof(header.executable), executable);
  header.pid = raw::process_id();
  header.parent_pid = static_cast<std::int32_t>(::syscall(SYS_getppid));
  header.start_monotonic_ns = clock_now_ns(CLOCK_MONOTONIC);
  header.start_realtime_ns = clock_now_ns(CLOCK_REALTIME);
  header.is_fork_child = is_fork_child ? 1 : 0;
  header.rank = environment_rank();
  header.world_size = environment_world_size();
  header.elastic = getenv(k_restart_variable) != nullptr ? 1 : 0;
  name_job(header);
}

/// The magic goes in last: a file that died before it is no recording yet.
void publish_header(FileHeader& mapped, const FileHeader& filled) {
  memcpy(static_cast<void*>(&mapped), static_cast<const void*>(&filled), sizeof(FileHeader));
  std::atomic_thread_fence(std::memory_order_release);
  memcpy(mapped.magic, k_magic, sizeof(k_magic));
}

}  // namespace

std::uint32_t environment_rank() {
  for (const RankVariables& names : k_rank_variables) {
    const std::uint32_t rank = number_in_environment(names.rank, UINT32_MAX);
    if (rank == UINT32_MAX) continue;
    if (&names == k_rank_variables || number_in_environment(names.world, 0) > 1) return rank;
  }
  return UINT32_MAX;
}

std::uint32_t environment_world_size() {
  for (const RankVariables& names : k_rank_variables) {
    const std::uint32_t world = number_in_environment(names.world, 0);
    if (world > 0) return world;
  }
  return 0;
}

ControlBlock* map_control(const char* run_folder, bool* other_abi) {
  char path[k_max_path_bytes];
  if (!Text(path, sizeof(path)).add(run_folder).add("/").add(k_control_file).complete()) return nullptr;
  const int fd = raw::open_file(path, O_RDWR | O_CLOEXEC, 0);
  if (fd < 0) return nullptr;
  struct stat status {};
  void* mapped = nullptr;
  if (raw::stat_fd(fd, &status) == 0 && status.st_size >= static_cast<off_t>(sizeof(ControlBlock))) {
    mapped = raw::map(sizeof(ControlBlock), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  raw::close_fd(fd);
  if (mapped == nullptr) return nullptr;
  auto* control = static_cast<ControlBlock*>(mapped);
  if (memcmp(control->magic, k_control_magic, sizeof(k_control_magic)) == 0) {
    if (control->abi == k_control_abi) return control;
    *other_abi = true;
  }
  raw::unmap(mapped, sizeof(ControlBlock));
  return nullptr;
}

bool open_writer(Writer& writer, ControlBlock* control, const char* run_folder, bool is_fork_child) {
  writer.control = control;
  FileHeader filled{};
  describe_process(filled, *control, is_fork_child);
  const int fd = create_file(writer, run_folder, filled);
  if (fd < 0) {
    control->refused_blocks.fetch_add(1, std::memory_order_relaxed);
    end_recording(writer, errno == ENOSPC ? DisableReason::no_space : DisableReason::failed);
    return false;
  }
  auto reason = DisableReason::none;
  auto* header = static_cast<FileHeader*>(map_extent(*control, fd, 0, k_header_bytes, reason));
  raw::close_fd(fd);
  if (header == nullptr) {
    raw::unlink_file(writer.path);
    end_recording(writer, reason);
    return false;
  }
  publish_header(*header, filled);
  writer.header = header;
  return true;
}

}  // namespace stallcast::record
