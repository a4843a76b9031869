/// Files that stay open, read in parts: what is cleared ahead of a reader, and what is counted.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <fstream>

#include "tests/capture/phase_run.hpp"

namespace stallcast::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_granule = 65'536;
constexpr std::size_t k_size = 10 * k_granule + 1000;  // the last granule is not whole

struct Data {
  TemporaryFolder folder{};
  fs::path file = make_file(folder.path(), "shard", k_size);
  std::string keep = "keep:" + file.string();
};

TEST_CASE("where readers move on, what the kernel may read ahead is cleared before it does") {
  const Data data;
  // Granules 4 to 9, in pages that can be dropped without their neighbours.
  const std::vector<std::string> bring_in{data.keep, "random", "pread:262144:393216"};
  const std::vector<std::string> look{begin(Phase::cold, 1),  "pread:131072:10", "end",   // granule 2
                                      begin(Phase::as_is, 2), "pread:327680:10", "end",   // granule 5
                                      begin(Phase::as_is, 3), "pread:458752:10", "end"};  // granule 7
  const auto resident = [&](std::vector<std::string> commands) {
    PhasedRun run(record::Evict::all);
    commands.insert(commands.end(), bring_in.begin(), bring_in.end());
    commands.insert(commands.end(), look.begin(), look.end());
    run.guest(commands);
    const auto seen = run.evidence();
    REQUIRE(seen.size() >= 2);
    return std::pair{seen[seen.size() - 2].resident_bytes, seen.back().resident_bytes};
  };
  CHECK(resident({}) == std::pair<std::uint64_t, std::uint64_t>{k_granule, k_granule});  // a sample is one read
  const std::vector<std::string> move_on{data.keep, begin(Phase::cold, 0), "pread:0:10", "pread:65536:10", "end"};
  CHECK(resident(move_on) == std::pair<std::uint64_t, std::uint64_t>{0, k_granule});
}

TEST_CASE("pages are counted once a batch, however often and in however small pieces they are read") {
  const Data data;
  PhasedRun run(record::Evict::all);
  run.guest({data.keep, begin(Phase::cold, 0), "pread:0:10", "pread:10:4000", "pread:4096:4096", "pread:0:8192",
             "pread:100000:10", "end", begin(Phase::cold, 1), "pread:0:8192", "pread:655360:5000", "end"});
  const auto seen = run.evidence();
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].page_bytes == 3 * 4096);
  CHECK(seen[1].page_bytes == 3 * 4096);  // the file ends in its page
}

TEST_CASE("the largest file that is opened for a batch is told, also of those that are read in parts") {
  const Data data;
  const fs::path small = make_file(data.folder.path(), "small", 100);
  const fs::path large = make_file(data.folder.path(), "large", 100);
  fs::resize_file(large, 200U << 20U);  // a hole
  PhasedRun run(record::Evict::all);
  run.guest({begin(Phase::cold, 0, 1, 0), "read:" + small.string(), data.keep, "end", begin(Phase::cold, 0, 1, 1),
             "keep:" + large.string(), "end", begin(Phase::cold, 0, 1, 2), "pread:0:10", "end"});
  const auto seen = run.evidence();
  REQUIRE(seen.size() == 3);
  CHECK(seen[0].largest_file == k_size);
  CHECK(seen[1].largest_file == 200U << 20U);
  CHECK(seen[2].largest_file == 0);
}

TEST_CASE("a reader of a stream goes on from batch to batch: what it has read of a segment is remembered") {
  const Data data;
  const auto pages = [&](std::uint32_t stream) {
    PhasedRun run(record::Evict::all);
    run.guest({data.keep, begin(Phase::cold, 0, stream, 0), "pread:0:8192", "end", begin(Phase::cold, 0, stream, 1),
               "pread:4096:8192", "end", begin(Phase::cold, 1, stream, 2), "pread:4096:4096", "end"});
    const auto seen = run.evidence();
    REQUIRE(seen.size() == 3);
    return std::vector<std::uint64_t>{seen[0].page_bytes / 4096, seen[1].page_bytes / 4096, seen[2].page_bytes / 4096};
  };
  CHECK(pages(0) == std::vector<std::uint64_t>{2, 2, 1});
  CHECK(pages(1) == std::vector<std::uint64_t>{2, 1, 1});  // the third is of another segment
}

/// Of a file's device, as the kernel says; its usual one else.
std::size_t read_ahead_of(const fs::path& file) {
  struct stat facts {};
  REQUIRE(stat(file.c_str(), &facts) == 0);
  const std::string device = std::to_string(major(facts.st_dev)) + ":" + std::to_string(minor(facts.st_dev));
  std::size_t kilobytes = 128;
  std::ifstream("/sys/class/bdi/" + device + "/read_ahead_kb") >> kilobytes;
  return kilobytes * 1024;
}

TEST_CASE("what the kernel has read ahead of a stream's reader when a cold segment begins is left") {
  constexpr std::size_t k_chunk = 32 * k_granule;
  const TemporaryFolder folder;
  const fs::path probe = make_file(folder.path(), "probe", 10);
  const std::size_t reach = 2 * read_ahead_of(probe);
  const std::size_t beyond = (k_granule + reach + k_chunk - 1) / k_chunk * k_chunk;
  const auto evicted = [&](const char* name, bool all_was_read) {
    const fs::path file = make_file(folder.path(), name, beyond + 2 * k_chunk);
    if (resident_bytes(file) > 0) skip("what was written stays in memory");
    PhasedRun run(record::Evict::all);
    std::vector<std::string> commands{"keep:" + file.string(), "random", "pread:65536:262144"};
    if (all_was_read) commands.push_back("pread:" + std::to_string(beyond) + ":" + std::to_string(k_chunk));
    for (const std::string& command : {begin(Phase::cold, 1, 1, 0), std::string("pread:65536:10"),
                                       std::string("pread:131072:10"), std::string("end")}) {
      commands.push_back(command);
    }
    run.guest(commands);
    return run.evidence().back().evicted_bytes;
  };
  // A mark may be forgotten, by the file's number: of two files one keeps both.
  CHECK((evicted("first", false) == 0 || evicted("second", false) == 0));
  CHECK(evicted("third", true) > 0);  // in memory as a whole: an epoch before has read it
}

TEST_CASE("what several processes read of a stream at a time is left where it is") {
  const Data data;
  const auto evicted = [&](std::uint32_t stream, std::uint32_t shared) {
    PhasedRun run(record::Evict::all);
    run.control().shared_reads = shared;
    run.guest({"read:" + data.file.string(), begin(Phase::cold, 0, stream), data.keep, "pread:0:65536", "end"});
    return run.evidence().back().evicted_bytes > 0;
  };
  CHECK(evicted(1, 0));
  CHECK_FALSE(evicted(1, record::k_files_shared));
  CHECK(evicted(0, record::k_files_shared));  // samples with indices say which of them was read when
}

TEST_CASE("processes that read the same file at a time are seen to share it; one after the other they do not") {
  const Data data;
  const auto shared = [&](const std::vector<std::string>& later) {
    PhasedRun run;
    std::vector<std::string> commands{data.keep, begin(Phase::as_is, 0, 1), "pread:0:10", "pread:65536:10", "end"};
    commands.insert(commands.end(), later.begin(), later.end());
    run.guest(commands);
    return run.control().shared_reads.load();
  };
  const std::vector<std::string> again{begin(Phase::as_is, 0, 1, 2), "pread:196608:10", "end"};
  std::vector<std::string> other{"another", begin(Phase::as_is, 0, 1, 1), "pread:131072:10", "end", "join"};
  CHECK(shared(again) == 0);
  CHECK(shared(other) == 0);  // the workers of an epoch, and those of the next
  other.insert(other.end(), again.begin(), again.end());
  CHECK(shared(other) == 1);
}

TEST_CASE("half of a large file's chunks is cold") {
  const TemporaryFolder folder;
  const auto file = make_file(folder.path(), "large", 32U << 20U);
  const std::string content = read_file(file);
  PhasedRun run(record::Evict::all);
  std::vector<std::string> commands{"keep:" + file.string()};
  for (const Phase phase : {Phase::cold, Phase::half_cached}) {
    commands.push_back(begin(phase, static_cast<std::uint32_t>(phase), 0, 0, 0, 5));
    for (std::size_t chunk = 0; chunk < 16; ++chunk)
      commands.push_back("pread:" + std::to_string(chunk << 21U) + ":65536");
    commands.emplace_back("end");
  }
  const auto lines = run.guest(commands);
  for (std::size_t i = 0; i < 32; ++i) CHECK(lines.at(i) == line_of(content.substr((i % 16) << 21U, k_granule)));
  const auto half = run.evidence().back();
  CHECK(half.opened_bytes == 16 * k_granule);
  CHECK(half.resident_bytes > 0);
  CHECK(half.resident_bytes < 16 * k_granule);
}

}  // namespace
}  // namespace stallcast::test
