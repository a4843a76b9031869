/// Cached batches: files served from their copies in memory, and what a guest can tell of it.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "tests/capture/phase_run.hpp"

namespace stallcast::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_size = 112'000;
constexpr std::uint64_t k_room = 114'688;  ///< in whole pages

struct Data {
  TemporaryFolder folder{};
  fs::path file = make_file(folder.path(), "a", k_size);
  std::string read = "read:" + file.string();
  std::string line = line_of(read_file(file));
};

/// Of a small file.
fs::path numbered(const Data& data, int number) {
  return make_file(data.folder.path(), "small" + std::to_string(number), 5000);
}

TEST_CASE("every way of opening is served the same bytes from the stage") {
  const Data data;
  PhasedRun run;
  const std::string path = data.file.string();
  const std::string folder = data.file.parent_path().string();
  const auto lines = run.guest({begin(Phase::cold, 0), data.read, "end",  //
                                begin(Phase::cached, 1), data.read, "openat:" + folder + ":a", "fopen:" + path,
                                "mmap:" + path, "end"});
  CHECK(lines == std::vector<std::string>(5, data.line));
  const auto seen = run.evidence();
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].stage_ns == 0);
  CHECK(seen[1].stage_ns > 0);
  CHECK(seen[1].opens == 4);
  CHECK(seen[1].staged_opens == 4);
  CHECK(seen[1].opened_bytes == 4 * k_size);
  CHECK(seen[1].resident_bytes == 4 * k_size);
  CHECK(seen[1].storage_bytes < k_stray_bytes);
  CHECK(run.staged_bytes() == k_size);
  CHECK(run.control().stage_used_bytes.load() == k_room);
}

TEST_CASE("all phases that run cached are served from the stage, those that do not are not") {
  const Data data;
  PhasedRun run;
  std::vector<std::string> commands{begin(Phase::supply_cold, 0), data.read, "end"};
  std::uint32_t segment = 1;
  for (const Phase phase : {Phase::supply_cached, Phase::perturb_read, Phase::perturb_cpu, Phase::as_is}) {
    commands.insert(commands.end(), {begin(phase, segment++), data.read, "end"});
  }
  commands.push_back(data.read);
  const auto lines = run.guest(commands);
  CHECK(lines == std::vector<std::string>(6, data.line));
  const auto seen = run.evidence();
  for (const std::size_t cached : {1U, 2U, 3U}) CHECK(seen.at(cached).staged_opens == 1);
  CHECK(seen.at(4).staged_opens == 0);
  CHECK(seen.at(2).stage_ns == 0);
}

TEST_CASE("a block as found is followed by cached ones that are staged; batches outside of blocks are not remembered") {
  const Data data;
  PhasedRun run;
  const auto lines = run.guest({begin(Phase::as_is, 0), data.read, "end", begin(Phase::cached, 1), data.read, "end"});
  CHECK(lines == std::vector<std::string>(2, data.line));
  const auto seen = run.evidence();
  CHECK(seen.at(0).staged_opens == 0);
  CHECK(seen.at(0).evicted_bytes == 0);
  CHECK(seen.at(1).staged_opens == 1);
}

TEST_CASE("a copy serves when the file's own pages are gone") {
  const Data data;
  PhasedRun run;
  run.guest({begin(Phase::cold, 0), data.read, "end", begin(Phase::cached, 1), "end",  //
             "drop:" + data.file.string(), begin(Phase::cached, 1, 0, 1), data.read, "end"});
  const auto seen = run.evidence().at(2);
  CHECK(seen.staged_opens == 1);
  CHECK(seen.storage_bytes < k_stray_bytes);
}

TEST_CASE("another process of the run is served too") {
  const Data data;
  PhasedRun run;
  run.guest({begin(Phase::cold, 0), data.read, "end", begin(Phase::cached, 1), "end"});
  CHECK(run.guest({begin(Phase::cached, 2), data.read, "end"}).at(0) == data.line);
  CHECK(run.evidence().at(2).staged_opens == 1);
}

TEST_CASE("a file that was written since is not served from its copy") {
  const Data data;
  PhasedRun run;
  const auto lines = run.guest({begin(Phase::cold, 0), data.read, "end", begin(Phase::cached, 1), data.read,
                                "write:" + data.file.string(), data.read, "end"});
  const std::string changed = read_file(data.file);
  CHECK(changed.substr(0, 7) == "changed");
  CHECK(lines == std::vector<std::string>{data.line, data.line, line_of(changed)});
  CHECK(run.evidence().at(1).opens == 2);
  CHECK(run.evidence().at(1).staged_opens == 1);
}

TEST_CASE("the same relative name in another folder finds its own file") {
  const Data data;
  const fs::path other = data.folder.path() / "other";
  fs::create_directory(other);
  const std::string other_line = line_of(read_file(make_file(other, "a", k_size)));
  PhasedRun run;
  const std::string here = "openat:" + data.folder.path().string() + ":a";
  const std::string there = "openat:" + other.string() + ":a";
  const auto lines = run.guest({begin(Phase::cold, 0), here, "end", begin(Phase::cached, 1), here, there, "end"});
  CHECK(lines == std::vector<std::string>{data.line, data.line, other_line});
  CHECK(run.evidence().at(1).staged_opens == 1);
}

TEST_CASE("a name that is relative to a descriptor is recorded whole, of a staged copy too") {
  const Data data;
  PhasedRun run;
  const std::string here = "openat:" + data.folder.path().string() + ":a";
  run.guest({begin(Phase::cold, 0), here, "end"});
  run.guest({begin(Phase::cached, 1), here, "end"});  // its first sight of the file is a copy
  const auto all = run.folder().recordings();
  REQUIRE(all.size() == 2);
  for (const auto& process : all) {
    REQUIRE(process.paths.size() == 1);
    CHECK(process.paths.front().path == data.folder.path().string() + "/a");
  }
}

TEST_CASE("a redirected descriptor has the file's size and flags, and is another inode") {
  const Data data;
  PhasedRun run;
  const std::string stat = "stat:" + data.file.string();
  const auto lines = run.guest({begin(Phase::cold, 0), stat, "end", begin(Phase::cached, 1), stat, "end"});
  CHECK(lines == std::vector<std::string>{"1 1 1", "1 0 1"});
}

TEST_CASE("records go by the original path and device") {
  const Data data;
  PhasedRun run;
  run.guest({begin(Phase::cold, 0), data.read, "end", begin(Phase::cached, 1), data.read, "end"});
  run.guest({begin(Phase::cached, 2), "stat:" + data.file.string(), "end"});
  const auto all = run.folder().recordings();
  REQUIRE(all.size() == 2);
  struct stat status {};
  REQUIRE(::stat(data.file.c_str(), &status) == 0);
  for (const auto& process : all) {
    REQUIRE(process.paths.size() == 1);
    CHECK(process.paths[0].path == data.file.string());
    CHECK(process.paths[0].file_id == all[0].paths[0].file_id);
  }
  for (const auto& process : all) {
    if (process.phases.size() != 1) continue;
    CHECK(process.paths[0].device == status.st_dev);
    CHECK(process.paths[0].size_bytes == k_size);
  }
}

TEST_CASE("files are staged within the budget, and what is beyond it is read where it is") {
  const Data data;
  const auto second = make_file(data.folder.path(), "b", k_size);
  PhasedRun run;
  run.control().stage_budget_bytes = k_room + 4096;
  const std::string read_second = "read:" + second.string();
  run.guest({begin(Phase::cold, 0), data.read, read_second, "end",  //
             begin(Phase::cached, 1), data.read, read_second, "end"});
  CHECK(run.control().stage_used_bytes.load() == k_room);
  const auto seen = run.evidence().at(1);
  CHECK(seen.opens == 2);
  CHECK(seen.staged_opens == 1);
  CHECK(seen.opened_bytes == 2 * k_size);
}

TEST_CASE("without a stage cached batches read the files themselves") {
  const Data data;
  PhasedRun run;
  run.control().stage_dir[0] = '\0';
  const auto lines = run.guest({begin(Phase::cold, 0), data.read, "end", begin(Phase::cached, 1), data.read, "end"});
  CHECK(lines == std::vector<std::string>(2, data.line));
  CHECK(run.evidence().at(1).staged_opens == 0);
  CHECK(run.evidence().at(1).stage_ns == 0);
}

TEST_CASE("a round's copies are there for the round and the next, and their room comes back") {
  const Data data;
  PhasedRun run;
  std::vector<std::string> commands;
  for (std::uint32_t round = 0; round < 4; ++round) {
    const std::string read = "read:" + numbered(data, static_cast<int>(round)).string();
    commands.insert(commands.end(), {begin(Phase::cold, 2 * round, round), read, "end",
                                     begin(Phase::cached, 2 * round + 1, round), read, "end"});
  }
  run.guest(commands);
  for (const auto& batch : run.evidence()) {
    if (batch.phase == static_cast<std::uint32_t>(Phase::cached)) CHECK(batch.staged_opens == 1);
  }
  CHECK(!fs::exists(run.stage() / "00000000"));
  CHECK(!fs::exists(run.stage() / "00000001"));
  CHECK(fs::exists(run.stage() / "00000002"));
  CHECK(run.staged_bytes() == 10'000);
  CHECK(run.control().stage_used_bytes.load() == 4 * 4096);
}

TEST_CASE("what a killed process was staging is removed with its round") {
  const Data data;
  PhasedRun run;
  fs::create_directory(run.stage() / "00000001");
  std::ofstream(run.stage() / "00000001" / "0123456789abcdef.5000.4711") << "half";
  std::ofstream(run.stage() / "not ours") << "x";
  run.control().stage_used_bytes.store(8192);
  run.guest({begin(Phase::cold, 0, 3), data.read, "end", begin(Phase::cached, 1, 3), data.read, "end"});
  CHECK(!fs::exists(run.stage() / "00000001"));
  CHECK(fs::exists(run.stage() / "not ours"));
  CHECK(run.control().stage_used_bytes.load() == k_room);
}

TEST_CASE("a half-cached batch is cold for a half of the files that its seed chooses") {
  const Data data;
  PhasedRun run;
  constexpr int k_files = 200;
  std::vector<std::string> reads;
  reads.reserve(k_files);
  for (int i = 0; i < k_files; ++i) reads.push_back("stat:" + numbered(data, i).string());
  std::vector<std::string> commands{begin(Phase::cold, 0)};
  commands.insert(commands.end(), reads.begin(), reads.end());
  for (const std::uint32_t seed : {1U, 1U, 2U}) {
    commands.insert(commands.end(), {"end", begin(Phase::half_cached, 1, 0, 0, 0, seed)});
    commands.insert(commands.end(), reads.begin(), reads.end());
  }
  commands.emplace_back("end");
  const auto lines = run.guest(commands);
  REQUIRE(lines.size() == 4 * k_files);
  const auto block = [&](std::size_t number) {
    return std::vector<std::string>(lines.begin() + static_cast<std::ptrdiff_t>(number * k_files),
                                    lines.begin() + static_cast<std::ptrdiff_t>((number + 1) * k_files));
  };
  CHECK(block(1) == block(2));
  CHECK(block(1) != block(3));
  for (const std::size_t number : {1U, 3U}) {
    const auto halves = block(number);
    const auto cold = std::count(halves.begin(), halves.end(), "1 1 1");  // the file itself, not its copy
    CHECK(cold > k_files / 2 - 40);                                       // 5.6 standard deviations
    CHECK(cold < k_files / 2 + 40);
  }
  for (const auto& batch : run.evidence()) {
    if (batch.phase != static_cast<std::uint32_t>(Phase::half_cached)) continue;
    CHECK(batch.opens == k_files);
    CHECK(batch.staged_opens > 0);
    CHECK(batch.staged_opens < k_files);
  }
}

}  // namespace
}  // namespace stallcast::test
