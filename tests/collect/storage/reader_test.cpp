/// One window of reads, by threads and by the kernel's queue: both must bring the same.
#include "probes/collect/storage/reader.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;
using record::StorageRead;
using record::StorageState;
using record::StorageWindow;

struct Files {
  fs::path folder = fs::temp_directory_path() / ("stallcast-reader-test-" + std::to_string(::getpid()));
  std::vector<std::string> paths{};

  explicit Files(const std::vector<std::uint64_t>& sizes) {
    fs::create_directories(folder);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      paths.push_back((folder / std::to_string(i)).string());
      std::ofstream(paths.back(), std::ios::binary) << std::string(sizes[i], 'x');
    }
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  ~Files() { fs::remove_all(folder); }
};

WindowPlan plan_of(StorageRead read, int in_flight) {
  WindowPlan plan;
  plan.read = read;
  plan.in_flight = in_flight;
  plan.seconds = 20.0;  // all of it, however slow the machine
  plan.most_seconds = 30.0;
  return plan;
}

/// From now on the kernel answers this thread's call `number` as one that has no such call. False where nobody may ask
/// for that.
bool forget_call(std::uint32_t number) {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{4, program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/// An engine that the machine has; a test of the other one is a skip.
std::vector<StorageEngine> engines() {
  std::vector<StorageEngine> all{StorageEngine::threads};
  const StorageReader queued(StorageEngine::io_uring);
  if (std::string(queued.engine()) == "io_uring") {
    CHECK(queued.no_queue_reason().empty());
    all.push_back(StorageEngine::io_uring);
  } else {
    CHECK_FALSE(queued.no_queue_reason().empty());
    MESSAGE("skipped for io_uring: " << queued.no_queue_reason());
  }
  return all;
}

}  // namespace

TEST_CASE("a kernel without the queue, or too old a one, is the reason for reading by threads") {
  for (const std::uint32_t call : {std::uint32_t{__NR_io_uring_setup}, std::uint32_t{__NR_io_uring_register}}) {
    CAPTURE(call);
    bool forgotten = false;
    std::string engine;
    std::string reason;
    std::thread([&] {
      forgotten = forget_call(call);
      const StorageReader reader(StorageEngine::io_uring);
      engine = reader.engine();
      reason = reader.no_queue_reason();
    }).join();
    if (!forgotten || reason == "this stallcast was built without liburing") {
      MESSAGE("skipped: " << (forgotten ? reason : "system calls cannot be filtered here"));
      return;
    }
    CHECK(engine == "threads");
    CHECK(reason.find("the kernel gives no io_uring as it is needed (Linux 5.15 does): ") == 0);
  }
  CHECK(StorageReader(StorageEngine::threads).no_queue_reason().empty());
}

TEST_CASE("whole files are read to their ends, each once, whatever keeps them in flight") {
  std::vector<std::uint64_t> sizes;
  double bytes = 0.0;
  for (std::uint64_t i = 0; i < 40; ++i) sizes.push_back(1 + i * 70'001);  // up to 2.7 MB: three pieces
  for (const std::uint64_t size : sizes) bytes += static_cast<double>(size);
  const Files files(sizes);
  std::vector<ReadTask> tasks;
  for (std::size_t i = 0; i < sizes.size(); ++i) tasks.push_back({files.paths[i].c_str(), -1, {0, sizes[i]}});
  for (const StorageEngine engine : engines()) {
    for (const int in_flight : {1, 3, 32}) {
      CAPTURE(in_flight);
      StorageReader reader(engine);
      std::size_t done = 0;
      const StorageWindow seen = reader.read(tasks, plan_of(StorageRead::whole_file, in_flight), done);
      CHECK(done == sizes.size());
      CHECK(seen.reads == static_cast<double>(sizes.size()));
      CHECK(seen.bytes == bytes);
      CHECK(seen.failed_reads == 0);
      CHECK(seen.progress.back().bytes == bytes);
    }
  }
}

TEST_CASE("a stretch is read piece by piece, a block at its place") {
  constexpr std::uint64_t k_size = 5 * k_large_block_bytes + 1000;
  const Files files({k_size});
  const int file = ::open(files.paths[0].c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(file >= 0);
  for (const StorageEngine engine : engines()) {
    StorageReader reader(engine);
    std::size_t done = 0;
    const StorageWindow pieces =
        reader.read({{files.paths[0].c_str(), file, {0, k_size}}}, plan_of(StorageRead::sequential, 2), done);
    CHECK(pieces.reads == 6.0);
    CHECK(pieces.bytes == static_cast<double>(k_size));
    std::vector<ReadTask> blocks;
    for (std::uint64_t i = 0; i < 100; ++i) {
      blocks.push_back({files.paths[0].c_str(), file, {i * 4096, k_small_block_bytes}});
    }
    const StorageWindow small = reader.read(blocks, plan_of(StorageRead::small_block, 8), done);
    CHECK(small.reads == 100.0);
    CHECK(small.bytes == 100.0 * 4096.0);
    // Beyond the end there is nothing, which is no failure and no read.
    const StorageWindow beyond = reader.read({{files.paths[0].c_str(), file, {k_size + 4096, 4096}}},
                                             plan_of(StorageRead::small_block, 1), done);
    CHECK(beyond.reads == 0.0);
    CHECK(beyond.failed_reads == 0);
  }
  ::close(file);
}

TEST_CASE("files are opened and nothing of them is read, again and again while there is time") {
  const Files files({10'000, 10'000, 10'000});
  fs::remove(files.paths[1]);
  std::vector<ReadTask> tasks;
  for (const std::string& path : files.paths) tasks.push_back({path.c_str(), -1, {}});
  StorageReader reader(StorageEngine::threads);
  WindowPlan plan = plan_of(StorageRead::metadata, 2);
  plan.state = record::StorageState::resident;
  plan.seconds = 0.05;
  std::size_t done = 0;
  const StorageWindow seen = reader.read(tasks, plan, done);
  CHECK(seen.reads > 3.0);
  CHECK(seen.bytes == 0.0);
  CHECK(static_cast<double>(seen.failed_reads) == doctest::Approx(seen.reads / 2.0).epsilon(0.2));
  CHECK(seen.end_s < 1.0);
}

TEST_CASE("a file that is gone is counted, and the others are read") {
  const Files files({10'000, 10'000, 10'000, 10'000});
  fs::remove(files.paths[1]);
  fs::remove(files.paths[2]);
  std::vector<ReadTask> tasks;
  for (const std::string& path : files.paths) tasks.push_back({path.c_str(), -1, {0, 10'000}});
  for (const StorageEngine engine : engines()) {
    StorageReader reader(engine);
    std::size_t done = 0;
    const StorageWindow seen = reader.read(tasks, plan_of(StorageRead::whole_file, 2), done);
    CHECK(seen.failed_reads == 2);
    CHECK(seen.reads == 2.0);
    CHECK(done == 4);
  }
}

TEST_CASE("nothing is begun when the time is up, and what was begun ends") {
  const Files files({4096});
  std::vector<ReadTask> tasks(50, {files.paths[0].c_str(), -1, {0, 4096}});
  for (const StorageEngine engine : engines()) {
    StorageReader reader(engine);
    WindowPlan plan = plan_of(StorageRead::whole_file, 4);
    plan.seconds = 0.0;
    std::size_t done = 1;
    const StorageWindow seen = reader.read(tasks, plan, done);
    CHECK(done == 0);
    CHECK(seen.reads == 0.0);
  }
}

}  // namespace stallcast::collect
