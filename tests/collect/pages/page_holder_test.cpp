#include "probes/collect/pages/page_holder.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "probes/collect/pages/page_residency.hpp"
#include "probes/collect/system/free_memory.hpp"
#include "tests/collect/fake_root.hpp"

namespace stallcast::collect::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_size = 300'000;

/// A folder below the working one: $TMPDIR is more often in memory, where nothing can be dropped.
class DiskFolder {
 public:
  DiskFolder() {
    std::string name = (fs::current_path() / "page-holder-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  DiskFolder(const DiskFolder&) = delete;
  DiskFolder& operator=(const DiskFolder&) = delete;
  ~DiskFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  /// A file on storage, and not in memory.
  [[nodiscard]] FileStretch put(const std::string& name, std::size_t bytes = k_size) const {
    const fs::path path = path_ / name;
    std::ofstream(path, std::ios::binary) << std::string(bytes, 'x');
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    REQUIRE(file >= 0);
    fsync(file);
    drop_pages(file, {0, bytes});
    close(file);
    return {.path = path.string(), .size_bytes = bytes};
  }

  [[nodiscard]] fs::path path() const { return path_; }

 private:
  fs::path path_{};
};

/// Share of a file's pages that are in memory; nothing if nobody can say.
std::optional<double> resident(const FileStretch& part) {
  const int file = open(part.path.c_str(), O_RDONLY | O_CLOEXEC);
  const auto pages = file >= 0 ? resident_pages(file, {0, part.size_bytes}) : std::nullopt;
  if (file >= 0) close(file);
  if (!pages) return std::nullopt;
  return static_cast<double>(pages->resident) / static_cast<double>(pages->all);
}

/// Whether residency here is what the page cache holds of a file on storage: not in memory file systems, nor overlays.
bool can_be_seen(const DiskFolder& folder) {
  const FileStretch probe = folder.put("probe");
  if (resident(probe) != 0.0) return false;
  slurp(probe.path);
  return resident(probe).value_or(0.0) > 0.0;
}

/// Calls `body` in a thread that may not lock memory, nor may those that it starts.
template <class Body>
void without_locking(Body body) {
  rlimit before{};
  getrlimit(RLIMIT_MEMLOCK, &before);
  const rlimit none{0, before.rlim_max};
  setrlimit(RLIMIT_MEMLOCK, &none);
  std::thread([&] {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2] = {};
    syscall(SYS_capget, &header, data);
    data[0].effective &= ~(1U << CAP_IPC_LOCK);
    syscall(SYS_capset, &header, data);
    body();
  }).join();
  setrlimit(RLIMIT_MEMLOCK, &before);
}

/// While it lives, no thread can be started: a stack would need more than there are addresses.
class NoThreads {
 public:
  NoThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge;
    pthread_getattr_default_np(&huge);
    pthread_attr_setstacksize(&huge, std::size_t{1} << 60U);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;
  ~NoThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }

 private:
  pthread_attr_t before_{};
};

FileStretch part_of(FileStretch file, std::uint64_t offset, std::uint64_t bytes) {
  file.offset = offset;
  file.bytes = bytes;
  return file;
}

#define REQUIRE_DISK(folder)                                                                              \
  if (!can_be_seen(folder)) {                                                                             \
    MESSAGE("skipped: what is in memory of a file of the working folder cannot be seen, or not dropped"); \
    return;                                                                                               \
  }

}  // namespace

TEST_CASE("holder: files are in memory while they are held, and as found after") {
  const DiskFolder folder;
  REQUIRE_DISK(folder)
  const FileStretch absent = folder.put("absent");
  const FileStretch present = folder.put("present");
  slurp(present.path);
  PageHolder holder;
  CHECK(holder.state().phase == HoldPhase::idle);
  holder.hold({absent, present});
  const HoldState held = holder.wait();
  CHECK(held.phase == HoldPhase::held);
  CHECK(held.reason.empty());
  CHECK(held.bytes == 2 * k_size);
  CHECK(held.parts == 2);
  CHECK(resident(absent) == 1.0);
  CHECK(resident(present) == 1.0);
  // Neither can be dropped by others meanwhile.
  const int file = open(absent.path.c_str(), O_RDONLY | O_CLOEXEC);
  drop_pages(file, {0, k_size});
  close(file);
  CHECK(resident(absent) == 1.0);
  holder.release();
  CHECK(holder.wait().phase == HoldPhase::idle);
  CHECK(resident(absent) == 0.0);
  CHECK(resident(present).value() > 0.0);
}

TEST_CASE("holder: pages that are to stay do, and the end lets go as release does") {
  const DiskFolder folder;
  REQUIRE_DISK(folder)
  const FileStretch first = folder.put("first");
  const FileStretch second = folder.put("second");
  {
    PageHolder holder;
    holder.hold({first});
    REQUIRE(holder.wait().phase == HoldPhase::held);
    holder.release(HeldPages::stay);
    holder.hold({second});
    REQUIRE(holder.wait().phase == HoldPhase::held);
  }
  CHECK(resident(second) == 0.0);
}

TEST_CASE("holder: of a part no more than its pages are brought in") {
  const DiskFolder folder;
  REQUIRE_DISK(folder)
  const FileStretch file = folder.put("large", 8U << 20U);
  const FileStretch part = part_of(file, 2U << 20U, 2U << 20U);
  PageHolder holder;
  holder.hold({part});
  REQUIRE(holder.wait().phase == HoldPhase::held);
  CHECK(resident(file).value() >= 0.25);
  CHECK(resident(file).value() < 0.5);
  holder.release();
  holder.wait();
  CHECK(resident(file).value() < 0.25);
}

TEST_CASE("holder: of a part that others have read an end of, the rest is let go of") {
  const DiskFolder folder;
  REQUIRE_DISK(folder)
  const FileStretch file = folder.put("large", 4U << 20U);
  const int descriptor = open(file.path.c_str(), O_RDONLY | O_CLOEXEC);
  posix_fadvise(descriptor, 0, 0, POSIX_FADV_RANDOM);
  char page[4096];
  REQUIRE(pread(descriptor, page, sizeof page, 1U << 20U) == sizeof page);
  const FileStretch part = part_of(file, 1U << 20U, 1U << 20U);
  PageHolder holder;
  holder.hold({part});
  REQUIRE(holder.wait().phase == HoldPhase::held);
  CHECK(resident_pages(descriptor, {part.offset, part.bytes})->resident == 256);
  holder.release();
  holder.wait();
  CHECK(resident_pages(descriptor, {part.offset, part.bytes})->resident == 1);
  close(descriptor);
}

TEST_CASE("holder: a few files may be gone, many may not") {
  const DiskFolder folder;
  std::vector<FileStretch> parts;
  for (int i = 0; i < 60; ++i) parts.push_back(folder.put("file" + std::to_string(i), 5000));
  fs::remove(parts[3].path);
  PageHolder holder;
  holder.hold(parts);
  HoldState state = holder.wait();
  CHECK(state.phase == HoldPhase::held);
  CHECK(state.skipped_parts == 1);
  std::ofstream(parts[4].path) << "another size";
  fs::remove(parts[5].path);
  REQUIRE(mkfifo(parts[5].path.c_str(), 0600) == 0);
  holder.hold(parts);
  state = holder.wait();
  CHECK(state.phase == HoldPhase::failed);
  CHECK(state.skipped_parts == 3);
  CHECK(state.reason == "3 of 60 parts of files are gone, changed or unreadable");
}

TEST_CASE("holder: what may not be locked is held all the same") {
  const DiskFolder folder;
  REQUIRE_DISK(folder)
  const FileStretch file = folder.put("unlocked");
  without_locking([&] {
    PageHolder holder;
    holder.hold({file});
    const HoldState held = holder.wait();
    CHECK(held.phase == HoldPhase::held);
    CHECK(held.locked_bytes == 0);
    CHECK(resident(file) == 1.0);
    usleep(700'000);  // it touches twice a second
    CHECK(holder.state().phase == HoldPhase::held);
    CHECK(resident(file) == 1.0);
  });
  CHECK(resident(file) == 0.0);
}

TEST_CASE("holder: a file that is cut while it is held ends nobody, and is no longer held") {
  const DiskFolder folder;
  without_locking([&] {
    const FileStretch file = folder.put("cut");
    PageHolder holder;
    holder.hold({file});
    REQUIRE(holder.wait().phase == HoldPhase::held);
    REQUIRE(truncate(file.path.c_str(), 0) == 0);
    for (int tries = 0; tries < 100 && holder.state().phase == HoldPhase::held; ++tries) usleep(100'000);
    CHECK(holder.state().phase == HoldPhase::failed);
    holder.release();
    CHECK(holder.wait().phase == HoldPhase::idle);
  });
}

TEST_CASE("holder: no more than the limit, and no more maps than the kernel has") {
  const DiskFolder folder;
  const FileStretch file = folder.put("file");
  FileStretch unknown = file;
  unknown.size_bytes = UINT64_MAX;
  PageHolder holder;
  for (const FileStretch& part : {file, unknown}) {
    holder.hold({part}, k_size - 1);
    const HoldState state = holder.wait();
    CHECK(state.phase == HoldPhase::failed);
    CHECK(state.reason == "the files need more than the 299999 bytes that may be held");
  }
  holder.hold(std::vector<FileStretch>(PageHolder::k_most_parts + 1, file));
  CHECK(holder.wait().reason == "20001 parts of files, and at most 20000 can be held");
  holder.hold({});
  CHECK(holder.wait().phase == HoldPhase::held);
  holder.hold({folder.put("empty", 0)});
  CHECK(holder.wait().phase == HoldPhase::held);
}

TEST_CASE("holder: where no thread can be started nothing is held, and later it is") {
  const DiskFolder folder;
  const FileStretch file = folder.put("file");
  PageHolder holder;
  {
    const NoThreads none;
    holder.hold({file});
    CHECK(holder.state().phase == HoldPhase::failed);
    CHECK(holder.state().reason == "no further thread can be started");
  }
  holder.hold({file});
  CHECK(holder.wait().phase == HoldPhase::held);
  CHECK(holder.wait().reason.empty());
}

TEST_CASE("holder: whatever is asked for last is what it comes to") {
  const DiskFolder folder;
  std::vector<FileStretch> parts;
  for (int i = 0; i < 20; ++i) parts.push_back(folder.put("file" + std::to_string(i), 1U << 20U));
  PageHolder holder;
  for (int i = 0; i < 20; ++i) {
    holder.hold(parts);
    holder.release();
  }
  CHECK(holder.wait().phase == HoldPhase::idle);
  holder.release();
  holder.hold(parts);
  CHECK(holder.wait().phase == HoldPhase::held);
  holder.hold(parts);  // and its end in the middle of reading
}

TEST_CASE("free memory: what the machine has left, and what each control group does") {
  const FakeRoot root;
  CHECK_FALSE(read_free_memory(root.path()));
  root.put("proc/meminfo", "MemTotal: 64000000 kB\nMemAvailable: 40000000 kB\n");
  CHECK(read_free_memory(root.path()) == 40'000'000ULL * 1024);
  root.put("proc/self/mountinfo",
           "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n32 25 0:28 / /mem rw - cgroup cgroup rw,memory\n");
  root.put("proc/self/cgroup", "5:memory:/job\n0::/job/step\n");
  root.put("sys/fs/cgroup/job/memory.max", "16000000000\n").put("sys/fs/cgroup/job/memory.high", "max\n");
  root.put("sys/fs/cgroup/job/memory.current", "14000000000\n");
  root.put("sys/fs/cgroup/job/memory.stat", "anon 5000000000\ninactive_file 6000000000\nactive_file 3000000000\n");
  CHECK(read_free_memory(root.path()) == 11'000'000'000ULL);
  root.put("sys/fs/cgroup/job/memory.high", "15000000000\n");
  CHECK(read_free_memory(root.path()) == 10'000'000'000ULL);
  root.put("mem/job/memory.limit_in_bytes", "8000000000\n").put("mem/job/memory.usage_in_bytes", "9000000000\n");
  root.put("mem/job/memory.stat", "total_inactive_file 1000000000\ntotal_active_file 1000000000\n");
  CHECK(read_free_memory(root.path()) == 1'000'000'000ULL);
}

}  // namespace stallcast::collect::testing
