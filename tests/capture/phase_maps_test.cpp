/// Cold batches of data that are read through maps of files: whose pages are dropped, and what of the guest's is not
/// touched.
#include <doctest/doctest.h>

#include <string>

#include "tests/capture/phase_run.hpp"

namespace stallcast::test {
namespace {

constexpr std::size_t k_size = 12 << 20;
constexpr std::size_t k_offset = 5 << 20;
constexpr std::size_t k_part = 64 * 1024;

const std::filesystem::path& data_folder() {
  static const TemporaryFolder folder;
  static const bool works = [] {
    if (resident_bytes(make_file(folder.path(), "probe", k_size)) != 0) {
      skip("pages of the temporary folder cannot be dropped from the page cache");
    }
    return true;
  }();
  static_cast<void>(works);
  return folder.path();
}

const std::string k_touch = "touch:" + std::to_string(k_offset) + ":" + std::to_string(k_part);

std::string part_of(const std::filesystem::path& file) {
  return line_of(read_file(file).substr(k_offset, k_part));
}

/// A run in which batches as found were made of maps.
PhasedRun& reading_maps(PhasedRun& run) {
  run.control().maps_read = 1;
  return run;
}

TEST_CASE("each cold segment finds what is mapped out of memory") {
  PhasedRun run;
  const auto file = make_file(data_folder(), "own", k_size);
  const auto lines = reading_maps(run).guest({"map:" + file.string(),                   //
                                              begin(Phase::cold, 0), k_touch, "end",    //
                                              begin(Phase::cached, 1), k_touch, "end",  //
                                              begin(Phase::cold, 2), k_touch, "end"});
  const auto seen = run.mapped();
  REQUIRE(seen.size() == 3);
  REQUIRE(run.evidence().size() == 3);
  for (const auto& batch : seen) {
    CHECK(batch.files == 1);
    CHECK(batch.unknown_files == 0);
    CHECK(batch.file_bytes == k_size);
    CHECK(batch.foreign_bytes == 0);
  }
  for (const std::size_t cold : {0U, 2U}) {
    CHECK(seen[cold].resident_bytes == 0);
    CHECK(seen[cold].major_faults >= 1);
    CHECK(run.evidence()[cold].storage_bytes >= k_part);
  }
  CHECK(seen[1].major_faults <= 1);  // machines exist that take pages back within a second
  CHECK(run.evidence()[1].storage_bytes <= k_stray_bytes);
  CHECK(seen[2].evicted_bytes >= k_part);
  for (const std::string& line : lines) CHECK(line == part_of(file));
}

TEST_CASE("within a cold segment it is dropped again once 1.6 % of the files came in") {
  PhasedRun run;
  const auto file = make_file(data_folder(), "again", k_size);
  const auto touch = [](std::size_t offset) {
    return "touch:" + std::to_string(offset) + ":" + std::to_string(4 * k_part);
  };
  reading_maps(run).guest({"map:" + file.string(),                                             //
                           begin(Phase::cold, 0, 0, 0), "sample", touch(0), "done", "sample",  //
                           touch(0), "done", "end"});
  REQUIRE(run.evidence().size() == 1);
  CHECK(run.evidence()[0].storage_bytes >= 8 * k_part);  // both samples
}

TEST_CASE("a map is inherited by a worker that is forked") {
  PhasedRun run;
  const auto file = make_file(data_folder(), "inherited", k_size);
  reading_maps(run).guest({"map:" + file.string(), begin(Phase::as_is, 0), k_touch, "end", "fork",  //
                           begin(Phase::cold, 1), k_touch, "end"});
  const auto seen = run.mapped();
  REQUIRE(seen.size() == 2);
  CHECK(seen[1].files == 1);
}

TEST_CASE("a stranger's pages stay, and go where all may be dropped") {
  for (const record::Evict evict : {record::Evict::own, record::Evict::all}) {
    PhasedRun run(evict);
    const auto file = make_file(data_folder(), "foreign", k_size);
    read_file(file);
    reading_maps(run).guest({"map:" + file.string(), begin(Phase::cold, 0), k_touch, "end"});
    const auto seen = run.mapped();
    REQUIRE(seen.size() == 1);
    const bool stays = evict == record::Evict::own;
    CHECK((seen[0].foreign_bytes > 0) == stays);
    CHECK((seen[0].resident_bytes > 0) == stays);
    CHECK((seen[0].evicted_bytes == 0) == stays);
  }
}

TEST_CASE("beside files that are read, what is mapped is left alone") {
  PhasedRun run;
  const auto file = make_file(data_folder(), "beside", k_size);
  const auto sample = make_file(data_folder(), "sample", k_part);
  const std::string read = "read:" + sample.string();
  run.guest({"map:" + file.string(),                                         //
             begin(Phase::cold, 0), "sample", k_touch, read, "done", "end",  //
             begin(Phase::cold, 1), "sample", k_touch, read, "done", "end"});
  const auto seen = run.mapped();
  REQUIRE(seen.size() == 2);
  CHECK(seen[1].evicted_bytes == 0);
  CHECK(run.evidence()[1].storage_bytes <= k_part + k_stray_bytes);
}

TEST_CASE("a batch that is made of a large map and reads nothing says so, one that reads does not") {
  const auto map = make_file(data_folder(), "large", k_size);
  const auto read = make_file(data_folder(), "read", k_size);
  for (const bool reads : {false, true}) {
    PhasedRun run;
    std::vector<std::string> commands{"map:" + map.string(), begin(Phase::as_is, 0), "sample", k_touch};
    if (reads) commands.push_back("read:" + read.string());
    commands.insert(commands.end(), {"done", "end"});
    run.guest(commands);
    CHECK(run.control().maps_read.load() == (reads ? 0U : 1U));
  }
}

TEST_CASE("what a guest has written to a map of its own stays") {
  PhasedRun run(record::Evict::all);
  const auto file = make_file(data_folder(), "private", k_size);
  const auto lines = reading_maps(run).guest({"own:" + file.string(), begin(Phase::cold, 0), k_touch, "end", k_touch});
  for (const std::string& line : lines) CHECK(line == line_of(std::string(k_part, 'x')));
  CHECK(run.mapped().empty());
}

TEST_CASE("a private map that nobody wrote to is dropped as a shared one is") {
  PhasedRun run;
  const auto file = make_file(data_folder(), "read_only", k_size);
  const auto lines = reading_maps(run).guest(
      {"private:" + file.string(), begin(Phase::cold, 0), k_touch, "end", begin(Phase::cold, 1), k_touch, "end"});
  for (const std::string& line : lines) CHECK(line == part_of(file));
  const auto seen = run.mapped();
  REQUIRE(seen.size() == 2);
  CHECK(seen[1].evicted_bytes >= k_part);
  CHECK(seen[1].resident_bytes == 0);
  CHECK(run.evidence()[1].storage_bytes >= k_part);
}

TEST_CASE("one page that a guest has written to stays, the last one of a large map") {
  PhasedRun run(record::Evict::all);
  const auto file = make_file(data_folder(), "spot", k_size);
  const std::string last = "touch:" + std::to_string(k_size - 4096) + ":4096";
  const auto lines = reading_maps(run).guest({"spot:" + file.string(), begin(Phase::cold, 0), last, "end"});
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] == line_of(std::string(4096, 'x')));
}

TEST_CASE("what a guest has written to a map while it was allowed to stays") {
  PhasedRun run(record::Evict::all);
  const auto file = make_file(data_folder(), "sealed", k_size);
  read_file(file);
  const auto lines = reading_maps(run).guest({"seal:" + file.string(), begin(Phase::cold, 0), k_touch, "end"});
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] == line_of(std::string(k_part, 'x')));
  CHECK(run.mapped().size() == 1);
}

TEST_CASE("memory that has taken a map's place unseen is not touched") {
  PhasedRun run(record::Evict::all);
  const auto file = make_file(data_folder(), "replaced", k_size);
  const auto lines = reading_maps(run).guest({"map:" + file.string(), begin(Phase::cold, 0), k_touch, "end", "replace",
                                              begin(Phase::cold, 1), k_touch, "end"});
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == part_of(file));
  CHECK(lines[1] == line_of(std::string(k_part, 'x')));
}

TEST_CASE("memory that processes share is no data set") {
  if (!std::filesystem::is_directory("/dev/shm")) return;
  PhasedRun run;
  const TemporaryFolder shared("/dev/shm");
  const auto file = make_file(shared.path(), "shared", k_size);
  reading_maps(run).guest({"map:" + file.string(), begin(Phase::cold, 0), k_touch, "end"});
  CHECK(run.mapped().empty());
}

TEST_CASE("a map that the guest has let go of is forgotten") {
  PhasedRun run;
  const auto file = make_file(data_folder(), "gone", k_size);
  reading_maps(run).guest({"map:" + file.string(), "unmap", begin(Phase::cold, 0), "end"});
  CHECK(run.mapped().empty());
}

}  // namespace
}  // namespace stallcast::test
