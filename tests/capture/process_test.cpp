/// Which processes are recorded, and that each of them is: forks, vforks, execs, refusals, processes that do not
/// matter.
#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>

#include "tests/capture/run_folder.hpp"

namespace stallcast::test {
namespace {

std::string make_file(const TemporaryFolder& folder, std::size_t bytes) {
  const auto path = folder.path() / "data";
  std::ofstream(path, std::ios::binary) << std::string(bytes, 'x');
  return path.string();
}

const record::ProcessRecording& of_kind(const std::vector<record::ProcessRecording>& all, bool fork_child) {
  for (const auto& one : all) {
    if (one.info.is_fork_child == fork_child) return one;
  }
  FAIL("no such recording");
  return all.front();
}

/// stallcast_active() before the first call, and after it.
constexpr int k_active_never = 0;
constexpr int k_active_before = 1;
constexpr int k_active_always = 3;

int active_bits(const std::string& run_dir) {
  return run_guest({STALLCAST_CAPTURE_GUEST, "active"}, {.run_dir = run_dir}).exit_status;
}

}  // namespace

TEST_CASE("the header says who was recorded") {
  RunFolder run;
  run.control().restart = 3;
  const auto result =
      run_guest({STALLCAST_CAPTURE_GUEST, "active"}, {.run_dir = run.path().string(), .environment = {"RANK=5"}});
  CHECK(result.exit_status == k_active_always);
  CHECK(result.output.empty());
  const auto info = run.recording().info;
  CHECK(info.run_id == "testrun");
  CHECK(info.restart == 3);
  CHECK(info.rank == 5);
  CHECK(info.parent_pid == ::getpid());
  CHECK(info.executable == STALLCAST_CAPTURE_GUEST);
  CHECK_FALSE(info.is_fork_child);
  const auto file = run.recording_files().front();
  CHECK(file.filename().string() == "testrun.3." + info.host + "." + std::to_string(info.pid) + ".rec");
  CHECK((std::filesystem::status(file).permissions() & std::filesystem::perms::mask) ==
        (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
}

TEST_CASE("a rank that names itself late is known by that name") {
  RunFolder run;
  run_scene(run, {"late_rank"});
  CHECK(run.recording().info.rank == 6);
  CHECK(run.control().ranks[0].rank.load() == 6);
}

TEST_CASE("a fork child starts a recording of its own, and nothing of its parent's sample is in it") {
  const TemporaryFolder folder;
  RunFolder run;
  run_scene(run, {"fork", make_file(folder, 5000)});
  const auto all = run.recordings();
  REQUIRE(all.size() == 2);
  const auto& parent = of_kind(all, false);
  const auto& child = of_kind(all, true);
  CHECK(child.info.parent_pid == parent.info.pid);
  REQUIRE(parent.samples.size() == 1);
  CHECK(parent.samples.front().index == 1);
  CHECK(parent.samples.front().read_bytes == 0);
  CHECK(parent.batches.size() == 1);
  REQUIRE(child.samples.size() == 1);
  CHECK(child.samples.front().index == 2);
  CHECK(child.info.other_read_bytes == 5000);
  CHECK(child.batches.empty());
}

TEST_CASE("what a vfork child closes stays open in its parent") {
  const TemporaryFolder folder;
  const auto path = make_file(folder, 10'000);
  RunFolder run;
  run_scene(run, {"vfork", path});
  const auto recording = run.recording();
  CHECK(recording.info.other_read_bytes == 10'000);
  REQUIRE(recording.files.size() == 1);
  CHECK(recording.files.front().read_bytes == 10'000);
  REQUIRE(recording.paths.size() >= 1);
  CHECK(recording.paths.front().path == path);
  CHECK(recording.paths.front().file_id == recording.files.front().file_id);
}

TEST_CASE("a process that becomes another program keeps its first recording") {
  RunFolder run;
  run_scene(run, {"exec"});
  const auto all = run.recordings();
  REQUIRE(all.size() == 2);
  CHECK(all[0].info.pid == all[1].info.pid);
  CHECK(all[0].steps.size() == 1);
  CHECK(all[1].steps.size() == 1);
}

TEST_CASE("without a call of the C API only a process that reads 4 MiB of files is recorded") {
  const TemporaryFolder folder;
  const auto path = make_file(folder, 1 << 20);
  {
    RunFolder run;
    run_scene(run, {"read", path, "3"});
    CHECK(run.recording_files().empty());
    CHECK(run.control().used_bytes.load() == 0);
  }
  {
    RunFolder run;
    run_scene(run, {"read", path, "6"});
    const auto recording = run.recording();
    CHECK(recording.info.other_read_bytes == 6U << 20);
    REQUIRE(recording.paths.size() == 1);
    CHECK(recording.paths.front().path == path);
  }
  {
    RunFolder run;
    run_scene(run, {"pipe", std::to_string(16 << 20)});
    CHECK(run.recording_files().empty());
  }
}

TEST_CASE("a shell and its helpers stay untouched") {
  RunFolder run;
  const auto result = run_guest({"/bin/sh", "-c", "ls / >/dev/null; cat /etc/passwd | wc -l >/dev/null; echo done"},
                                {.run_dir = run.path().string()});
  CHECK(result.exit_status == 0);
  CHECK(result.output == "done\n");
  CHECK(run.recording_files().empty());
}

TEST_CASE("without a run nothing happens") {
  CHECK(active_bits("") == k_active_never);
}

TEST_CASE("a run folder that cannot be used is left alone, silently") {
  const TemporaryFolder folder;
  CHECK(active_bits((folder.path() / "missing").string()) == k_active_before);
  CHECK(active_bits(make_file(folder, 10)) == k_active_before);
  CHECK(active_bits(folder.path().string()) == k_active_before);  // no control block in it
  std::ofstream(folder.path() / record::k_control_file) << "too short";
  CHECK(active_bits(folder.path().string()) == k_active_before);
}

TEST_CASE("another ABI of the control block, or no control block at all, is left alone") {
  RunFolder run;
  SUBCASE("abi") {
    run.control().abi = record::k_control_abi + 1;
  }
  SUBCASE("magic") {
    run.control().magic[0] = 'X';
  }
  CHECK(active_bits(run.path().string()) == k_active_before);
  CHECK(run.recording_files().empty());
  CHECK(run.control().ranks[0].pid.load() == 0);
  CHECK(run.control().refused_blocks.load() == 0);
}

TEST_CASE("a recording that cannot be created is counted, and the rank is still seen") {
  RunFolder run;
  // No file name can hold this: creating the recording fails for root too.
  std::string(39, '/').copy(run.control().run_id, 39);
  run.control().run_id[0] = 'a';
  CHECK(active_bits(run.path().string()) == k_active_before);
  CHECK(run.recording_files().empty());
  CHECK(run.control().refused_blocks.load() == 1);
  CHECK(run.control().ranks[0].steps.load() == 1);
}

TEST_CASE("a line of a dead process is taken over") {
  RunFolder run;
  for (auto& slot : run.control().ranks) slot.pid = 1;
  run.control().ranks[9].pid = UINT32_MAX / 4;  // beyond any pid
  run.control().ranks[9].steps = 77;
  run_scene(run, {"exec", "again"});
  const auto recording = run.recording();
  CHECK(run.control().ranks[9].pid.load() == static_cast<std::uint64_t>(recording.info.pid));
  CHECK(run.control().ranks[9].steps.load() == 1);
}

TEST_CASE("a process without a line of its own is recorded all the same") {
  RunFolder run;
  for (auto& slot : run.control().ranks) slot.pid = 1;
  run_scene(run, {"exec", "again"});
  CHECK(run.recording().steps.size() == 1);
  for (auto& slot : run.control().ranks) CHECK(slot.steps.load() == 0);
}

}  // namespace stallcast::test
