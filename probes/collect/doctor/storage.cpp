/// doctor: folders, page cache, memory that batches pass through and files are held in.
#include <fmt/format.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>

#include "probes/collect/doctor/constants.hpp"
#include "probes/collect/doctor/doctor.hpp"
#include "probes/collect/launch/run_folder.hpp"
#include "probes/collect/pages/page_residency.hpp"
#include "probes/collect/system/free_memory.hpp"
#include "probes/collect/system/mounts.hpp"
#include "probes/collect/system/process_reader.hpp"
#include "probes/collect/system/text_file.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;

std::string gigabytes(std::uint64_t bytes) {
  return fmt::format("{:.3g} GB", static_cast<double>(bytes) / 1e9);
}

std::string file_system_of(const fs::path& root, const fs::path& folder) {
  std::error_code failed;
  const fs::path real = fs::canonical(folder, failed);
  const auto mounts = parse_mountinfo(read_text(root / "proc/self/mountinfo").value_or(""));
  const auto mount = mount_of(mounts, failed ? folder.string() : real.string());
  return mount ? mount->type : "unknown file system";
}

bool is_remote(const std::string& type) {
  return type.rfind("nfs", 0) == 0 || type.rfind("fuse", 0) == 0 || type == "lustre" || type == "cifs" ||
         type == "smb3" || type == "ceph" || type == "gpfs" || type == "beegfs" || type == "9p";
}

/// A file of our own with every page written to storage and still in memory; gone at the end of its life.
class OwnFile {
 public:
  explicit OwnFile(const fs::path& folder) {
    name_ = (folder / ".stallcast-doctor-XXXXXX").string();
    file_ = mkostemp(name_.data(), O_CLOEXEC);
    if (file_ < 0) reason_ = std::strerror(errno);
  }
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;
  ~OwnFile() {
    if (file_ < 0) return;
    close(file_);
    unlink(name_.c_str());
  }

  /// Fills it; false if the disk does not take it.
  bool fill() {
    const std::string content(k_own_file_bytes, 's');
    if (write(file_, content.data(), content.size()) == static_cast<ssize_t>(content.size()) && fsync(file_) == 0) {
      return true;
    }
    reason_ = std::strerror(errno);
    return false;
  }

  [[nodiscard]] int descriptor() const { return file_; }
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  std::string name_{};
  int file_ = -1;
  std::string reason_{};
};

/// Pages may still be on their way to the list that an eviction looks at: a second try a little later is fair.
PageCount evicted(int file) {
  constexpr timespec k_moment{0, k_before_second_try_ns};
  PageCount left;
  for (int attempt = 0; attempt < 3; ++attempt) {
    drop_pages(file, {0, k_own_file_bytes});
    left = resident_pages(file, {0, k_own_file_bytes}).value_or(PageCount{});
    if (left.resident == 0) break;
    nanosleep(&k_moment, nullptr);
  }
  return left;
}

DoctorCheck no_own_file(DoctorCheck check, const std::string& where, const std::string& reason) {
  check.state = CheckState::limited;
  check.seen = fmt::format("{}: no file could be created there ({})", where, reason);
  check.consequence = "only their owner is told which files are in memory: cold blocks may have to be first reads";
  check.hint = "name a folder on the same file system that you may write to: stallcast doctor FOLDER";
  return check;
}

}  // namespace

DoctorCheck check_page_cache(const fs::path& root, const fs::path& folder) {
  DoctorCheck check{.id = "page_cache"};
  const std::string where = fmt::format("{} ({})", folder.string(), file_system_of(root, folder));
  OwnFile file(folder);
  if (file.descriptor() < 0 || !file.fill()) return no_own_file(std::move(check), where, file.reason());
  const auto before = resident_pages(file.descriptor(), {0, k_own_file_bytes});
  if (!before) {
    check.state = CheckState::limited;
    check.seen = where + ": the kernel does not say what is in memory";
    check.consequence = "whether a block was cold must be proven by bytes from storage alone";
    return check;
  }
  const PageCount after = evicted(file.descriptor());
  if (before->resident > 0 && after.resident == 0) {
    check.seen = where + ": pages in memory are seen, and evicted when asked";
    return check;
  }
  check.state = CheckState::limited;
  check.seen = fmt::format("{}: of {} pages {} were in memory, and {} after they were evicted", where, before->all,
                           before->resident, after.resident);
  check.consequence = "data here cannot be made cold";
  check.hint = "keep the data set on a disk: files in memory (tmpfs, overlays of it) are never read from storage";
  return check;
}

DoctorCheck check_run_folder(const fs::path& root) {
  DoctorCheck check{.id = "run_folder", .required = true};
  const fs::path parent = temporary_folder();
  auto folder = RunFolder::create({});
  if (!folder) {
    check.state = CheckState::missing;
    check.seen = folder.error().what;
    check.consequence = "there is no place for recordings";
    check.hint = folder.error().hint;
    return check;
  }
  const std::uint64_t free = folder.value().free_bytes();
  folder.value().remove();
  const std::string type = file_system_of(root, parent);
  check.seen = fmt::format("{} ({}), {} free", parent.string(), type, gigabytes(free));
  if (free < k_enough_for_recordings || type == "tmpfs" || is_remote(type)) {
    check.state = CheckState::limited;
    check.consequence = type == "tmpfs"   ? "recordings take memory from the job"
                        : is_remote(type) ? "recordings travel over the network, beside the job's own reads"
                                          : "recordings of a long run may be cut short";
    check.hint = "set TMPDIR to a local disk with more free space";
  }
  return check;
}

DoctorCheck check_held_memory(const fs::path& root) {
  DoctorCheck check{.id = "staging_memory"};
  const auto free = read_free_memory(root);
  if (!free) {
    check.state = CheckState::missing;
    check.seen = "the kernel does not say how much memory is free";
    check.consequence = "there are no cached blocks";
    check.hint = "mount /proc";
    return check;
  }
  rlimit locked{};
  getrlimit(RLIMIT_MEMLOCK, &locked);
  const bool unlimited = locked.rlim_cur == RLIM_INFINITY || geteuid() == 0;
  check.seen = fmt::format("{} may hold the files of cached blocks, {} of it locked", gigabytes(*free / 4),
                           unlimited ? "all" : gigabytes(std::min<std::uint64_t>(locked.rlim_cur, *free / 4)));
  if (*free / 4 < k_enough_held) {
    check.state = CheckState::limited;
    check.consequence = "the files of cached blocks may not fit: then there are none";
    check.hint = "leave more memory free";
  }
  return check;
}

DoctorCheck check_shared_memory(const fs::path& root) {
  DoctorCheck check{.id = "shared_memory"};
  struct statvfs space {};
  if (statvfs((root / "dev/shm").c_str(), &space) != 0) {
    check.state = CheckState::missing;
    check.seen = "there is no /dev/shm";
    check.consequence = "PyTorch workers cannot hand batches over through shared memory";
    check.hint = "mount a tmpfs there, or let torch share by file descriptor";
    return check;
  }
  const std::uint64_t all = static_cast<std::uint64_t>(space.f_blocks) * space.f_frsize;
  const std::uint64_t free = static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
  check.seen = fmt::format("/dev/shm, {} of {} free", gigabytes(free), gigabytes(all));
  if (free < k_enough_shared_memory) {
    check.state = CheckState::limited;
    check.consequence = "workers end with a bus error once the batches under way do not fit";
    check.hint = "give it more room (docker: --shm-size=1g), or use fewer workers";
  }
  return check;
}

DoctorCheck check_proc_io(const fs::path& root) {
  DoctorCheck check{.id = "proc_io"};
  if (ProcessReader(root / "proc").io(getpid())) {
    check.seen = "bytes from storage of our own processes can be read";
    return check;
  }
  check.state = CheckState::missing;
  check.seen = "/proc/PID/io cannot be read";
  check.consequence = "how much a job read from storage is not known";
  check.hint = "run as the user that owns the processes; containers and hidepid may hide it";
  return check;
}

DoctorCheck check_open_files() {
  DoctorCheck check{.id = "open_files"};
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const bool unlimited = limit.rlim_cur == RLIM_INFINITY;
  check.seen = unlimited ? std::string("no limit") : fmt::format("at most {} a process", limit.rlim_cur);
  if (!unlimited && limit.rlim_cur < k_enough_open_files) {
    check.state = CheckState::limited;
    check.consequence = "loaders with many workers and batches under way run out of file descriptors";
    check.hint = "ulimit -n 65536";
  }
  return check;
}

}  // namespace stallcast::collect
