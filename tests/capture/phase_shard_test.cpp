/// Cached batches of files that stay open: reads are served from copies of ranges, as the descriptor would.
#include <doctest/doctest.h>

#include "tests/capture/phase_run.hpp"

namespace stallcast::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_granule = 65'536;
constexpr std::size_t k_size = 10 * k_granule + 1000;  // the last granule is not whole

struct Data {
  TemporaryFolder folder{};
  fs::path file = make_file(folder.path(), "shard", k_size);
  std::string content = read_file(file);
  std::string keep = "keep:" + file.string();
  std::string drop = "drop:" + file.string();

  [[nodiscard]] std::string line(std::size_t offset, std::size_t bytes) const {
    return line_of(content.substr(offset, bytes));
  }
};

TEST_CASE("ranges that a cold batch has read are served from memory, and only those") {
  const Data data;
  PhasedRun run(record::Evict::all);
  const auto lines = run.guest({data.keep, begin(Phase::cold, 0), "pread:100000:100000", "end",  //
                                begin(Phase::cached, 1), "end", data.drop, begin(Phase::cached, 1, 0, 1),
                                "pread:100000:100000", "pread:70000:10", "end",  //
                                begin(Phase::cached, 1, 0, 2), "pread:0:10", "end"});
  CHECK(lines == std::vector<std::string>{data.line(100'000, 100'000), data.line(100'000, 100'000),
                                          data.line(70'000, 10), data.line(0, 10)});
  const auto seen = run.evidence();
  REQUIRE(seen.size() == 4);
  CHECK(seen[1].stage_ns > 0);
  CHECK(seen[2].opened_bytes == 3 * k_granule);  // granules 1, 2, 3
  CHECK(seen[2].resident_bytes == 3 * k_granule);
  CHECK(seen[2].storage_bytes < k_stray_bytes);
  CHECK(seen[3].resident_bytes == 0);
  CHECK(run.control().stage_used_bytes.load() == 3 * k_granule);
}

TEST_CASE("a served read moves the descriptor on and ends where the file ends") {
  const Data data;
  PhasedRun run(record::Evict::all);
  std::vector<std::string> reads{data.keep};
  reads.insert(reads.end(), 8, "next:90000");
  std::vector<std::string> commands{begin(Phase::as_is, 0), "end", data.keep, begin(Phase::cold, 1)};
  commands.insert(commands.end(), reads.begin() + 1, reads.end());
  commands.insert(commands.end(), {"end", begin(Phase::cached, 2), "end", data.drop});
  commands.insert(commands.end(), reads.begin(), reads.end());  // outside any phase
  commands.insert(commands.end(), {data.drop, data.keep, begin(Phase::cached, 3)});
  commands.insert(commands.end(), reads.begin() + 1, reads.end());
  commands.emplace_back("end");
  const auto lines = run.guest(commands);
  REQUIRE(lines.size() == 24);
  for (std::size_t i = 0; i < 8; ++i) {
    const std::string expected = data.line(std::min(i * 90'000, k_size), 90'000);
    CHECK(lines[i] == expected);
    CHECK(lines[8 + i] == expected);
    CHECK(lines[16 + i] == expected);
  }
  const auto cached = run.evidence().back();
  CHECK(cached.opened_bytes == k_size);
  CHECK(cached.resident_bytes == k_size);
  CHECK(cached.storage_bytes < k_stray_bytes);
}

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

TEST_CASE("another worker is served what this one has staged") {
  const Data data;
  PhasedRun run(record::Evict::all);
  run.guest({data.keep, begin(Phase::cold, 0), "pread:0:65536", "end", begin(Phase::cached, 1), "end"});
  drop_from_cache(data.file);
  const auto lines = run.guest({data.keep, begin(Phase::cached, 2), "pread:10:65000", "end"});
  CHECK(lines.at(0) == data.line(10, 65'000));
  CHECK(run.evidence().back().storage_bytes < k_stray_bytes);
}

TEST_CASE("a file that was written since is read itself") {
  const Data data;
  PhasedRun run(record::Evict::all);
  const auto lines = run.guest({data.keep, begin(Phase::cold, 0), "pread:0:100", "end", begin(Phase::cached, 1), "end",
                                "write:" + data.file.string(), begin(Phase::cached, 2), "pread:0:100", "end"});
  CHECK(lines == std::vector<std::string>{data.line(0, 100), line_of(read_file(data.file).substr(0, 100))});
  CHECK(lines[0] != lines[1]);
}

TEST_CASE("room of parts is bounded and comes back with their round") {
  const Data data;
  PhasedRun run(record::Evict::all);
  run.control().stage_budget_bytes = 2 * k_granule;
  std::vector<std::string> commands{data.keep};
  for (std::uint32_t round = 0; round < 4; ++round) {
    commands.insert(commands.end(), {begin(Phase::cold, 2 * round, round), "pread:0:655360", "end",
                                     begin(Phase::cached, 2 * round + 1, round), "pread:0:655360", "end"});
  }
  const auto lines = run.guest(commands);
  CHECK(lines == std::vector<std::string>(8, data.line(0, 655'360)));
  CHECK(run.control().stage_used_bytes.load() <= 2 * k_granule);
  CHECK(fs::exists(run.stage() / "00000003"));
  CHECK(!fs::exists(run.stage() / "00000001"));
  run.guest({data.keep, begin(Phase::cold, 20, 9), "pread:0:1", "end", begin(Phase::cached, 21, 9), "end"});
  CHECK(run.control().stage_used_bytes.load() == k_granule);
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
