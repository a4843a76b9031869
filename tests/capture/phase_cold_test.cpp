/// Cold batches on the file system of the temporary folder: whose pages are dropped, what is counted.
/// Machines exist that take pages back within a second: what must be resident is only expected to be so in part.
#include <doctest/doctest.h>

#include "tests/capture/phase_run.hpp"

namespace stallcast::test {
namespace {

constexpr std::size_t k_size = 112'000;  // not whole pages

/// A folder in which pages can be dropped, or the end of this program.
const std::filesystem::path& data_folder() {
  static const TemporaryFolder folder;
  static const bool works = [] {
    const auto file = make_file(folder.path(), "probe", k_size);
    if (resident_bytes(file) != 0) skip("pages of the temporary folder cannot be dropped from the page cache");
    return true;
  }();
  static_cast<void>(works);
  return folder.path();
}

TEST_CASE("a file that the run found absent is its own, and is dropped when it is opened again") {
  PhasedRun run;
  const auto file = make_file(data_folder(), "own", k_size);
  run.guest({begin(Phase::cold, 0), "read:" + file.string(), "end",  //
             begin(Phase::cold, 1), "read:" + file.string(), "end"});
  const auto seen = run.evidence();
  REQUIRE(seen.size() == 2);
  for (const auto& batch : seen) {
    CHECK(batch.opens == 1);
    CHECK(batch.opened_bytes == k_size);
    CHECK(batch.resident_bytes == 0);
    CHECK(batch.foreign_bytes == 0);
    CHECK(batch.unknown_opens == 0);
    CHECK(batch.storage_bytes >= k_size);
  }
  CHECK(seen[0].evicted_bytes == 0);
  CHECK(seen[1].evicted_bytes == k_size);
}

TEST_CASE("a file that is read through a second descriptor, too, is fetched once") {
  PhasedRun run;
  const auto file = make_file(data_folder(), "duplicate", 5 * 4096);
  run.guest({begin(Phase::cold, 0), "dup:" + file.string(), "end",  //
             begin(Phase::cold, 1), "dup:" + file.string(), "end"});
  const auto seen = run.evidence();
  REQUIRE(seen.size() == 2);  // the first batch of a run may read a page more, to find out whom to ask
  CHECK(seen[1].opened_bytes == 5 * 4096);
  CHECK(seen[1].evicted_bytes == 5 * 4096);
  CHECK(seen[1].storage_bytes == 5 * 4096);
}

TEST_CASE("what is the run's own is known to all its processes") {
  PhasedRun run;
  const auto file = make_file(data_folder(), "shared", k_size);
  run.guest({begin(Phase::as_is, 0), "read:" + file.string(), "end"});
  run.guest({begin(Phase::cold, 1), "read:" + file.string(), "end"});
  CHECK(run.evidence().at(1).evicted_bytes > 0);
}

TEST_CASE("what a batch outside any phase brought in is the run's own too") {
  PhasedRun run;
  const auto file = make_file(data_folder(), "before", k_size);
  run.guest({"batch", "read:" + file.string(), "done_batch", begin(Phase::cold, 0), "read:" + file.string(), "end"});
  const auto seen = run.evidence();
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].evicted_bytes > 0);
}

TEST_CASE("a stranger's pages stay") {
  PhasedRun run;
  const auto file = make_file(data_folder(), "foreign", k_size);
  read_file(file);
  run.guest({begin(Phase::cold, 0), "read:" + file.string(), "end"});
  const auto seen = run.evidence().at(0);
  CHECK(seen.foreign_bytes > 0);
  CHECK(seen.resident_bytes == seen.foreign_bytes);
  CHECK(seen.evicted_bytes == 0);
  CHECK(resident_bytes(file) > 0);
}

TEST_CASE("a stranger's pages go where all may be dropped") {
  PhasedRun run(record::Evict::all);
  const auto file = make_file(data_folder(), "all", k_size);
  read_file(file);
  run.guest({begin(Phase::cold, 0), "read:" + file.string(), "end"});
  const auto seen = run.evidence().at(0);
  CHECK(seen.evicted_bytes > 0);
  CHECK(seen.resident_bytes == 0);
  CHECK(seen.foreign_bytes == 0);
  CHECK(seen.storage_bytes >= k_size);
}

TEST_CASE("nothing is dropped where nothing may be, nor in a batch that is as found") {
  PhasedRun run(record::Evict::none);
  const auto file = make_file(data_folder(), "none", k_size);
  const std::string read = "read:" + file.string();
  run.guest(
      {begin(Phase::cold, 0), read, "end", begin(Phase::cold, 1), read, "end", begin(Phase::as_is, 2), read, "end"});
  const auto seen = run.evidence();
  for (const std::size_t batch : {1U, 2U}) {
    CHECK(seen.at(batch).evicted_bytes == 0);
    CHECK(seen.at(batch).foreign_bytes == 0);
    CHECK(seen.at(batch).resident_bytes > 0);
  }
}

TEST_CASE("pages that this process keeps mapped show as resident") {
  PhasedRun run;
  const auto file = make_file(data_folder(), "mapped", k_size);
  run.guest(
      {begin(Phase::cold, 0), "hold:" + file.string(), "end", begin(Phase::cold, 1), "read:" + file.string(), "end"});
  const auto seen = run.evidence();
  CHECK(seen.at(1).resident_bytes > 0);
  CHECK(seen.at(1).foreign_bytes == 0);
}

TEST_CASE("a file that stays open is dropped by the ranges that are read, once a batch") {
  PhasedRun run;
  const auto file = make_file(data_folder(), "shard", 8U << 20U);
  const std::string part = "pread:1048576:65536";
  run.guest({"keep:" + file.string(),                   //
             begin(Phase::cold, 0), part, "end",        // not resident: the chunk is the run's own
             begin(Phase::cold, 1), part, part, "end",  // dropped before the first read, left alone before the second
             begin(Phase::cached, 2), part, "end"});
  const auto seen = run.evidence();
  REQUIRE(seen.size() == 3);
  for (const auto& batch : seen) {
    CHECK(batch.opens == 0);
    CHECK(batch.opened_bytes == 65'536);
  }
  CHECK(seen[0].storage_bytes >= 65'536);
  CHECK(seen[1].evicted_bytes == 65'536);
  CHECK(seen[1].resident_bytes == 0);
  CHECK(seen[1].storage_bytes >= 65'536);
  CHECK(seen[2].evicted_bytes == 0);
  CHECK(seen[2].resident_bytes == 65'536);
  CHECK(seen[2].storage_bytes < k_stray_bytes);
}

TEST_CASE("a range that a stranger brought in stays") {
  PhasedRun run;
  const auto file = make_file(data_folder(), "foreign_shard", 8U << 20U);
  read_file(file);
  run.guest({"keep:" + file.string(), begin(Phase::cold, 0), "pread:1048576:65536", "end"});
  CHECK(run.evidence().at(0).foreign_bytes > 0);
  CHECK(resident_bytes(file) > 0);
}

TEST_CASE("a sequential reader keeps what was read ahead for it") {
  PhasedRun run;
  const auto file = make_file(data_folder(), "sequence", 4U << 20U);
  std::vector<std::string> commands{"keep:" + file.string(), begin(Phase::cold, 0)};
  commands.insert(commands.end(), 64, "next:65536");
  commands.insert(commands.end(), {"end", "stream:" + file.string(), begin(Phase::cold, 1)});
  commands.insert(commands.end(), 64, "fread:65536");
  commands.emplace_back("end");
  const auto lines = run.guest(commands);
  const std::string content = read_file(file);
  REQUIRE(lines.size() == 128);
  for (std::size_t i = 0; i < 64; ++i) {
    CHECK(lines[i] == line_of(content.substr(i * 65'536, 65'536)));
    CHECK(lines[64 + i] == lines[i]);
  }
  const auto seen = run.evidence();
  for (const std::size_t batch : {0U, 1U}) {
    CHECK(seen.at(batch).storage_bytes >= 4U << 20U);
    CHECK(seen.at(batch).storage_bytes <= 5U << 20U);  // read twice: at most the first window
  }
  CHECK(seen.at(1).opened_bytes == 4U << 20U);
  CHECK(seen.at(1).resident_bytes == 0);
}

TEST_CASE("a batch that was begun and not ended leaves nothing, one without a segment neither") {
  PhasedRun run;
  const auto file = make_file(data_folder(), "aborted", k_size);
  const std::string read = "read:" + file.string();
  run.guest({begin(Phase::cold, 0, 0, 4), read, begin(Phase::cold, 0, 0, 5), "end",  //
             begin(Phase::as_is, UINT32_MAX, 0, 6), read, "end", "end"});
  const auto seen = run.evidence();
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].batch == 5);
  CHECK(seen[0].opens == 0);
}

TEST_CASE("a fork child is in no phase until it begins one of its own") {
  PhasedRun run;
  const auto file = make_file(data_folder(), "forked", k_size);
  const std::string read = "read:" + file.string();
  run.guest({begin(Phase::cold, 0), read, "fork", read, begin(Phase::cold, 7), read, "end"});
  const auto seen = run.evidence();
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].header.aux == 7);
  CHECK(seen[0].opens == 1);
  CHECK(seen[0].evicted_bytes > 0);
  CHECK(seen[0].storage_bytes >= k_size);
}

TEST_CASE("a half-cached batch is cold for a half of the files that its seed chooses") {
  PhasedRun run;
  constexpr int k_files = 200;
  std::vector<std::string> commands{begin(Phase::cold, 0)};
  std::vector<std::string> reads;
  for (int i = 0; i < k_files; ++i) {
    reads.push_back("read:" + make_file(data_folder(), "half" + std::to_string(i), 5000).string());
  }
  commands.insert(commands.end(), reads.begin(), reads.end());
  for (const std::uint32_t segment : {1U, 2U}) {
    commands.insert(commands.end(), {"end", begin(Phase::half_cached, segment, 0, 0, 0, 3)});
    commands.insert(commands.end(), reads.begin(), reads.end());
  }
  commands.emplace_back("end");
  run.guest(commands);
  const auto seen = run.evidence();
  REQUIRE(seen.size() == 3);
  for (const std::size_t half : {1U, 2U}) {
    CHECK(seen[half].opens == k_files);
    CHECK(seen[half].evicted_bytes > (k_files / 2 - 40) * 5000U);  // 5.6 standard deviations
    CHECK(seen[half].evicted_bytes < (k_files / 2 + 40) * 5000U);
    CHECK(seen[half].evicted_bytes + seen[half].resident_bytes == seen[half].opened_bytes);
  }
  CHECK(seen[1].evicted_bytes == seen[2].evicted_bytes);
}

TEST_CASE("a passive run has no phases") {
  PhasedRun run;
  run.control().mode = static_cast<std::uint32_t>(record::RunMode::passive);
  const auto file = make_file(data_folder(), "passive", k_size);
  read_file(file);
  run.guest({begin(Phase::cold, 0), "read:" + file.string(), "end"});
  CHECK(run.evidence().empty());
  CHECK(resident_bytes(file) > 0);
}

}  // namespace
}  // namespace stallcast::test
