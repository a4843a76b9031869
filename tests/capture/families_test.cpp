/// Every interposed family against a file of 10,000 bytes (100 lines of 100): counts and bytes, in a sample, in a batch
/// outside a sample, and outside both.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <sstream>

#include "tests/capture/run_folder.hpp"

namespace stallcast::test {
namespace {

/// What one family is to leave behind. `reads` 0 with bytes: not checked (stdio's buffer decides).
struct Expected {
  std::uint64_t bytes = 0;
  std::uint32_t reads = 0;
  std::uint32_t opens = 0;
  std::uint32_t stats = 0;
  std::uint64_t mapped = 0;
  std::uint64_t stream_bytes = 0;
  std::uint64_t received = 0;  ///< over the network
};

Expected expected_of(const std::string& family) {
  const auto any_of = [&](const std::initializer_list<const char*>& names) {
    return std::find(names.begin(), names.end(), family) != names.end();
  };
  if (any_of({"recv", "recvfrom", "recvmsg", "socket_read", "__recv_chk", "__recvfrom_chk"}))
    return {.bytes = 10'000, .reads = 1, .stream_bytes = 10'000, .received = 10'000};
  if (family == "streams") return {.stream_bytes = 10};
  if (family == "reuse_number") return {.bytes = 10'000, .reads = 1, .opens = 1, .stream_bytes = 4};
  if (family == "devices") return {.opens = 1};  // of /dev/zero: what it is shows only when it is read
  if (any_of({"creat", "open_missing", "list_folder", "memory_stream", "shared_memory"})) return {};
  if (any_of({"mmap", "mmap64"})) return {.opens = 1, .mapped = 10'000};
  if (any_of({"fstat", "fstat64", "__fxstat", "__fxstat64", "statx_fd"})) return {.opens = 1, .stats = 1};
  if (family.find("stat") != std::string::npos) return {.stats = 1};
  if (family == "chunks") return {.bytes = 10'000, .reads = 4, .opens = 1};
  if (any_of({"fgets", "__fgets_chk", "getline", "small_freads"})) return {.bytes = 10'000, .opens = 1};
  if (family == "freopen") return {.bytes = 10'000, .reads = 1, .opens = 2};
  return {.bytes = 10'000, .reads = 1, .opens = 1};
}

class DataFile {
 public:
  DataFile() {
    std::ofstream file(path());
    for (int line = 0; line < 100; ++line) file << std::string(99, 'a') << '\n';
  }
  [[nodiscard]] std::string path() const { return (folder_.path() / "data.bin").string(); }
  /// Another name of it, which asking the kernel for the descriptor's path would not give.
  [[nodiscard]] std::string link() const {
    const auto link = folder_.path() / "link.bin";
    if (!std::filesystem::exists(link)) std::filesystem::create_symlink(path(), link);
    return link.string();
  }

 private:
  TemporaryFolder folder_{};
};

std::vector<std::string> family_names() {
  const auto listed = run_guest({STALLCAST_CAPTURE_GUEST, "list"}, {.preload = false});
  std::istringstream lines(listed.output);
  std::vector<std::string> names;
  for (std::string name; lines >> name;) names.push_back(name);
  return names;
}

std::uint64_t bytes_in_files(const record::ProcessRecording& recording) {
  return std::accumulate(recording.files.begin(), recording.files.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& file) { return sum + file.read_bytes; });
}

void check_everywhere(const record::ProcessRecording& recording, const Expected& expected) {
  CHECK(recording.info.disabled == 0);
  CHECK(recording.info.dropped_records == 0);
  CHECK(recording.torn_tails == 0);
  CHECK(recording.broken_blocks == 0);
  CHECK(recording.info.mapped_bytes == expected.mapped);
  CHECK(recording.info.stream_read_bytes == expected.stream_bytes);
}

void check_in_sample(const record::ProcessRecording& recording, const Expected& expected) {
  REQUIRE(recording.samples.size() == 1);
  const auto& sample = recording.samples.front();
  CHECK(sample.index == 42);
  CHECK(sample.header.aux == 7);
  CHECK(sample.read_bytes == expected.bytes);
  if (expected.reads != 0) CHECK(sample.reads == expected.reads);
  CHECK(sample.opens == expected.opens);
  CHECK(sample.wall_ns >= sample.read_ns + sample.meta_ns);
  CHECK(bytes_in_files(recording) == expected.bytes - expected.received);
  CHECK(recording.info.other_read_bytes == 0);
  CHECK(recording.info.other_opens == 0);
}

void check_received(const record::ProcessRecording& recording, const Expected& expected) {
  REQUIRE(recording.received.size() == (expected.received > 0 ? 1 : 0));
  if (expected.received == 0) return;
  CHECK(recording.received.front().iterator_id == 3);
  CHECK(recording.received.front().batch == 7);
  CHECK(recording.received.front().bytes == expected.received);
  CHECK(recording.received.front().header.aux == 1);
}

void check_in_batch(const record::ProcessRecording& recording, const Expected& expected) {
  REQUIRE(recording.batches.size() == 1);
  const auto& batch = recording.batches.front();
  CHECK(batch.iterator_id == 3);
  CHECK(batch.batch == 7);
  CHECK(batch.header.aux == 1);
  CHECK(batch.io.read_bytes == expected.bytes);
  if (expected.reads != 0) CHECK(batch.io.reads == expected.reads);
  CHECK(batch.io.opens == expected.opens);
  CHECK(batch.io.stats == expected.stats);
  if (expected.bytes > 0) CHECK(batch.io.read_ns > 0);
  if (expected.opens + expected.stats > 0) CHECK(batch.io.meta_ns > 0);
  check_received(recording, expected);
  CHECK(batch.end_ns - batch.begin_ns >= batch.io.read_ns + batch.io.meta_ns);
}

void check_elsewhere(const record::ProcessRecording& recording, const Expected& expected) {
  CHECK(recording.info.other_read_bytes == expected.bytes - expected.received);
  if (expected.reads != 0 && expected.received == 0) CHECK(recording.info.other_reads == expected.reads);
  CHECK(recording.info.other_opens == expected.opens);
  CHECK(recording.batches.empty());
}

record::ProcessRecording record_family(const std::string& family, const std::string& path, const std::string& where) {
  RunFolder run;
  run_scene(run, {"family", family, path, where});
  return run.recording();
}

}  // namespace

TEST_CASE("each family is counted in the sample and in its batch") {
  const DataFile data;
  const auto names = family_names();
  REQUIRE(names.size() > 50);
  for (const auto& family : names) {
    CAPTURE(family);
    const auto recording = record_family(family, data.path(), "sample");
    const auto expected = expected_of(family);
    check_everywhere(recording, expected);
    check_in_sample(recording, expected);
    check_in_batch(recording, expected);
  }
}

TEST_CASE("each family is counted in the batch where no sample is open") {
  const DataFile data;
  for (const auto& family : family_names()) {
    CAPTURE(family);
    const auto recording = record_family(family, data.path(), "batch");
    const auto expected = expected_of(family);
    check_everywhere(recording, expected);
    check_in_batch(recording, expected);
    CHECK(recording.info.other_read_bytes == 0);
    CHECK(bytes_in_files(recording) == (family == "left_open" ? 0 : expected.bytes - expected.received));
  }
}

TEST_CASE("each family is counted in the header's totals elsewhere") {
  const DataFile data;
  for (const auto& family : family_names()) {
    CAPTURE(family);
    const auto recording = record_family(family, data.path(), "none");
    check_everywhere(recording, expected_of(family));
    check_elsewhere(recording, expected_of(family));
  }
}

TEST_CASE("a duplicate and its original are one file, named once with its size") {
  const DataFile data;
  for (const std::string family : {"dup", "dup2", "dup3", "fcntl_dup", "fdopen"}) {
    CAPTURE(family);
    const auto recording = record_family(family, data.link(), "sample");
    REQUIRE(recording.files.size() == 1);
    REQUIRE(recording.paths.size() == 1);
    CHECK(recording.files.front().file_id == recording.paths.front().file_id);
    CHECK(recording.files.front().read_bytes == 10'000);
    CHECK(recording.paths.front().path == data.link());
  }
}

TEST_CASE("the size of a file is what the application was told by fstat") {
  const DataFile data;
  for (const std::string family : {"fstat", "fstat64", "__fxstat", "__fxstat64", "statx_fd"}) {
    CAPTURE(family);
    const auto recording = record_family(family, data.path(), "sample");
    REQUIRE(recording.paths.size() == 1);
    CHECK(recording.paths.front().size_bytes == 10'000);
    CHECK(recording.paths.front().device != 0);
  }
}

TEST_CASE("a relative path is written whole") {
  const DataFile data;
  const std::string relative = std::filesystem::relative(data.path()).string();
  REQUIRE(relative.front() != '/');
  for (const std::string family : {"open", "openat", "fopen"}) {
    CAPTURE(family);
    const auto recording = record_family(family, relative, "sample");
    REQUIRE(recording.paths.size() == 1);
    CHECK(recording.paths.front().path == (std::filesystem::current_path() / relative).string());
    CHECK(recording.files.front().file_id == recording.paths.front().file_id);
  }
}

}  // namespace stallcast::test
