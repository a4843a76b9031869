#include "probes/collect/pages/files_of_samples.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <numeric>

#include "probes/record/populated_pages.hpp"
#include "tests/collect/fake_root.hpp"

namespace stallcast::collect::testing {
namespace {

record::TouchedRecord touched(std::int64_t index, std::uint64_t file, std::uint64_t offset = 0,
                              std::uint64_t bytes = UINT64_MAX) {
  return {.header = {}, .index = index, .file_id = file, .offset = offset, .bytes = bytes};
}

FilesOfSamples made_of(const Followed& followed) {
  FilesOfSamples files;
  files.take(followed);
  return files;
}

std::vector<std::int64_t> first_indices(std::size_t count) {
  std::vector<std::int64_t> indices(count);
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

}  // namespace

TEST_CASE("files of samples: those of a stream are data files, and of no sample") {
  const FilesOfSamples files = made_of({.touched = {touched(-1, 1)}, .paths = {{1, 500, 0, "/data/a.tar"}}});
  CHECK(files.samples() == 0);
  CHECK(files.data_bytes() == 500);
  REQUIRE(files.data_files().size() == 1);
  CHECK(files.data_files()[0].path == "/data/a.tar");
}

TEST_CASE("files of samples: each file once, in order, and what is not known is counted") {
  const FilesOfSamples files =
      made_of({.touched = {touched(7, 1), touched(7, 1), touched(8, 2), touched(9, 1)},
               .paths = {{1, 500, 0, "/data/b"}, {2, UINT64_MAX, 0, "/data/a"}, {3, 9, 0, "/x"}}});
  const std::vector<std::int64_t> wanted{9, 8, 7, 6};
  const FoundFiles found = files.find(wanted);
  CHECK(found.unknown_samples == 1);
  REQUIRE(found.parts.size() == 2);
  CHECK(found.parts[0].path == "/data/a");
  CHECK(found.parts[0].is_whole());
  CHECK(found.parts[0].size_bytes == UINT64_MAX);
  CHECK(found.parts[1].path == "/data/b");
  CHECK(found.parts[1].size_bytes == 500);
  CHECK(found.parts[1].file_id == 1);
  CHECK(files.knows(9));
  CHECK_FALSE(files.knows(6));
  CHECK(files.samples() == 3);
  CHECK(files.data_file_count() == 2);  // /x was opened, and by no sample
  CHECK(files.data_bytes() == 500);
  CHECK(files.data_files().size() == 2);
}

TEST_CASE("files of samples: ranges that meet are one, and a whole file holds all of them") {
  const FilesOfSamples files =
      made_of({.touched = {touched(0, 1, 8192, 4096), touched(1, 1, 0, 8192), touched(2, 1, 65536, 4096),
                           touched(3, 2, 4096, 4096), touched(4, 2), touched(0, 1, 8192, 100)},
               .paths = {{1, 1 << 20, 0, "/data/shard"}, {2, 9000, 0, "/data/whole"}}});
  const FoundFiles found = files.find(first_indices(5));
  REQUIRE(found.parts.size() == 3);
  CHECK(found.parts[0].offset == 0);
  CHECK(found.parts[0].bytes == 12'288);
  CHECK(found.parts[1].offset == 65'536);
  CHECK(found.parts[1].bytes == 4096);
  CHECK(found.parts[2].path == "/data/whole");
  CHECK(found.parts[2].is_whole());
}

TEST_CASE("files of samples: a name that comes later counts, one that means two files does not") {
  FilesOfSamples files = made_of(
      {.touched = {touched(0, 1), touched(1, 2), touched(-1, 1)}, .paths = {{2, 1, 0, "/one/a"}, {2, 1, 0, "/two/a"}}});
  CHECK(files.find(first_indices(2)).unnamed_parts == 2);
  files.take({.paths = {{1, 1, 0, "/data/a"}}});
  const FoundFiles found = files.find(first_indices(2));
  CHECK(found.unnamed_parts == 1);
  REQUIRE(found.parts.size() == 1);
  CHECK(found.parts[0].path == "/data/a");
}

TEST_CASE("files of samples: memory is bounded, and what is known stays known") {
  FilesOfSamples files(100'000);
  for (std::int64_t i = 0; i < 10'000; ++i) {
    const auto id = static_cast<std::uint64_t>(i + 1);
    files.take({.touched = {touched(i, id)}, .paths = {{id, 10, 0, "/data/" + std::to_string(i)}}});
  }
  CHECK(files.is_full());
  CHECK(files.samples() > 300);
  CHECK(files.samples() < 2000);
  const std::vector<std::int64_t> wanted{0, 9999};
  const FoundFiles found = files.find(wanted);
  CHECK(found.parts.size() == 1);
  CHECK(found.unknown_samples == 1);
}

TEST_CASE("files of samples: the cached half is what no half-cached batch evicts") {
  const FakeRoot root;
  root.put("shard", "x");
  const std::string shard = (root.path() / "shard").string();
  struct stat facts {};
  REQUIRE(stat(shard.c_str(), &facts) == 0);
  std::vector<FileStretch> parts;
  for (std::uint64_t id = 1; id <= 100; ++id) parts.push_back({.path = "/data/" + std::to_string(id), .file_id = id});
  constexpr std::uint64_t k_chunk = record::k_own_chunk_bytes;
  parts.push_back({.path = shard, .file_id = 200, .offset = k_chunk / 2, .bytes = 64 * k_chunk});
  const auto half = cached_half(parts, 5);
  std::size_t whole = 0;
  std::uint64_t bytes = 0;
  for (const FileStretch& part : half) {
    if (part.is_whole()) {
      ++whole;
      CHECK_FALSE(record::is_cold_half(part.file_id, 5));
      continue;
    }
    bytes += part.bytes;
    const std::uint64_t chunk = part.offset / k_chunk;
    CHECK((part.offset + part.bytes - 1) / k_chunk == chunk);
    CHECK_FALSE(record::is_cold_half(record::own_chunk_key(facts.st_dev, facts.st_ino, chunk), 5));
  }
  CHECK(whole > 20);
  CHECK(whole < 80);
  CHECK(bytes > 10 * k_chunk);
  CHECK(bytes < 54 * k_chunk);
}

}  // namespace stallcast::collect::testing
