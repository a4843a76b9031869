/// Files read in order, alone: what is told of the kernel's read-ahead is plausible, and nothing stays in memory.
#include "probes/collect/storage/in_order.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "probes/collect/pages/page_residency.hpp"
#include "probes/collect/storage/files.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;

struct Shard {
  fs::path folder = fs::temp_directory_path() / ("stallcast-in-order-test-" + std::to_string(::getpid()));
  fs::path path = folder / "0.tar";

  explicit Shard(std::size_t bytes) {
    fs::create_directories(folder);
    std::ofstream(path, std::ios::binary) << std::string(bytes, 'x');
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    fsync(file);
    drop_pages(file, {0, bytes});
    close(file);
  }
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;
  ~Shard() { fs::remove_all(folder); }

  [[nodiscard]] std::int64_t resident() const {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const auto pages = resident_pages(file, {0, fs::file_size(path)});
    close(file);
    return pages ? pages->resident : -1;
  }
};

record::StorageInOrder seen_of(const Shard& shard) {
  SampleOptions sampling;
  sampling.most_time = Seconds(5.0);
  const auto sample = sample_files(shard.folder.string(), sampling);
  REQUIRE(sample.ok());
  const PopulatedPages own;
  StoragePool pool(sample.value(), StorageEvict::all, own, 1, monotonic_ns() + 5'000'000'000ULL);
  return read_in_order(pool, 20.0);
}

}  // namespace

TEST_CASE("a shard that is read in order says how far the kernel reads ahead") {
  const Shard shard(8U << 20U);
  const record::StorageInOrder seen = seen_of(shard);
  if (seen.window_bytes < 0.0) {
    MESSAGE("skipped: " << seen.reason);  // a file system in memory
    return;
  }
  CHECK(seen.window_bytes >= 4096.0);
  // However fast this storage is: what is told lies between a block and the file, or has its reason.
  if (seen.at_once_bytes < 0.0) {
    CHECK_FALSE(seen.reason.empty());
  } else {
    CHECK(seen.at_once_bytes >= 65536.0);
    CHECK(seen.at_once_bytes <= 8.0 * 1048576.0);
  }
  CHECK(shard.resident() == 0);
}

TEST_CASE("files of less than a few windows are not read in order") {
  const Shard shard(1U << 20U);
  const record::StorageInOrder seen = seen_of(shard);
  if (seen.reason == "nobody here may ask what of the files is in memory") {
    MESSAGE("skipped: " << seen.reason);
    return;
  }
  CHECK(seen.at_once_bytes < 0.0);
  CHECK(seen.reason == "no file of 4 to 16 MiB was read from its begin to its end in time");
}

TEST_CASE("what comes at once lies between two waits, and a file read without them does not tell it") {
  const auto after = [](std::initializer_list<std::size_t> waits) {
    std::vector<double> came_s;
    double now_s = 0.0;
    for (std::size_t block = 0; block < 64; ++block) {
      const bool waited = std::find(waits.begin(), waits.end(), block) != waits.end();
      came_s.push_back(now_s += waited ? 50e-3 : 20e-6);
    }
    return came_s;
  };
  record::StorageInOrder seen;
  seen.reason = "not read";
  take_file_in_order({}, seen);
  CHECK(seen.reason == "not read");
  take_file_in_order(after({20}), seen);
  CHECK(seen.at_once_bytes < 0.0);
  CHECK(seen.reason ==
        "no file that was read in order waited for storage twice: what comes at once lies between two waits");
  take_file_in_order(after({8, 24, 36}), seen);
  CHECK(seen.at_once_bytes == 16 * 65536.0);
  CHECK(seen.reason.empty());
  take_file_in_order(after({20}), seen);
  CHECK(seen.at_once_bytes == 16 * 65536.0);
}

}  // namespace stallcast::collect
