/// What was written survives, what does not fit is counted, and the guest never notices.
#include <doctest/doctest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <random>
#include <set>

#include "tests/capture/run_folder.hpp"

namespace stallcast::test {
namespace {

constexpr std::uint64_t k_block = record::k_block_bytes;

std::string make_file(const TemporaryFolder& folder, std::size_t bytes) {
  const auto path = folder.path() / "data";
  std::ofstream(path, std::ios::binary) << std::string(bytes, 'x');
  return path.string();
}

std::uint64_t total_file_bytes(const RunFolder& run) {
  std::uint64_t sum = 0;
  for (const auto& file : run.recording_files()) sum += std::filesystem::file_size(file);
  return sum;
}

/// A small memory file system of its own, where root is allowed to have one.
class SmallDisk {
 public:
  explicit SmallDisk(const char* options)
      : mounted_(::mount("none", folder_.path().c_str(), "tmpfs", 0, options) == 0) {}
  ~SmallDisk() {
    if (mounted_) ::umount2(folder_.path().c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_{};
  bool mounted_;
};

}  // namespace

TEST_CASE("SIGKILL at any instant keeps every record that was committed") {
  std::mt19937 random(20240611);
  std::uniform_int_distribution<int> instants(5, 60);
  std::size_t seen = 0;
  for (int round = 0; round < 25; ++round) {
    RunFolder run;
    const auto result =
        run_guest({STALLCAST_CAPTURE_GUEST, "endless"},
                  {.run_dir = run.path().string(), .kill_after = std::chrono::milliseconds(instants(random))});
    REQUIRE(result.signal == SIGKILL);
    CHECK(result.output.empty());
    for (const auto& recording : run.recordings()) {
      CHECK(recording.broken_blocks == 0);
      CHECK(recording.unknown_records == 0);
      CHECK(recording.torn_tails <= 1);
      // Consecutive from 0 on: nothing lost in between, nothing made up at the end.
      std::int64_t next = 0;
      const bool whole = std::all_of(recording.samples.begin(), recording.samples.end(), [&](const auto& sample) {
        return sample.index == next++ && sample.wall_ns < 10'000'000'000;
      });
      CHECK(whole);
      seen += recording.samples.size();
    }
  }
  CHECK(seen > 1000);
}

TEST_CASE("threads write side by side") {
  RunFolder run;
  run_scene(run, {"threads", "8", "3000"});
  const auto recording = run.recording();
  CHECK(recording.samples.size() == 8 * 3000);
  std::multiset<std::int64_t> indices;
  for (const auto& sample : recording.samples) indices.insert(sample.index);
  for (int index = 0; index < 3000; ++index) REQUIRE(indices.count(index) == 8);
}

TEST_CASE("threads that come and go share blocks") {
  RunFolder run;
  run_scene(run, {"short_threads", "1000"});
  const auto recording = run.recording();
  CHECK(recording.samples.size() == 1000);
  CHECK(recording.file_bytes <= record::k_header_bytes + 4 * k_block);
}

TEST_CASE("the budget of the node holds over several processes, and what matters least goes first") {
  const TemporaryFolder folder;
  const auto path = make_file(folder, 1000);
  RunFolder run;
  run.control().budget_bytes = 20 * k_block;
  for (int process = 0; process < 3; ++process) run_scene(run, {"fill", "900", "10", path});
  CHECK(run.control().used_bytes.load() <= run.control().budget_bytes);
  CHECK(total_file_bytes(run) <= run.control().budget_bytes);
  std::uint64_t dropped = 0;
  std::size_t waits = 0;
  for (const auto& recording : run.recordings()) {
    dropped += recording.info.dropped_records;
    waits += recording.waits.size();
    const std::size_t written = recording.waits.size() + recording.steps.size() + recording.batches.size() +
                                recording.samples.size() + recording.files.size() + recording.paths.size();
    if (recording.info.disabled == 0) CHECK(written + recording.info.dropped_records == 900 * (3 + 2 * 10) + 1);
  }
  CHECK(dropped > 0);
  const auto first = run.recordings().front();
  CHECK(first.samples.size() > first.files.size());
  CHECK(first.waits.size() == 900);
  CHECK(waits > first.waits.size());
}

TEST_CASE("a recording that does not fit at all is refused and counted") {
  RunFolder run;
  run.control().budget_bytes = 1000;
  run_scene(run, {"threads", "1", "10"});
  CHECK(run.recording_files().empty());
  CHECK(run.control().used_bytes.load() == 0);
  CHECK(run.control().refused_blocks.load() == 1);
}

TEST_CASE("a full disk ends the recording and says so") {
  const SmallDisk disk("size=900k");
  if (!disk.mounted()) {
    MESSAGE("skipped: mounting a small disk needs CAP_SYS_ADMIN");
    return;
  }
  RunFolder run(disk.path());
  run_scene(run, {"threads", "2", "20000"});
  const auto recording = run.recording();
  CHECK(recording.info.disabled == static_cast<std::uint32_t>(record::DisableReason::no_space));
  CHECK(recording.info.dropped_records > 0);
  CHECK(recording.samples.size() > 1000);
  CHECK(run.control().used_bytes.load() == total_file_bytes(run));
}

TEST_CASE("a limit on file sizes is not run into") {
  RunFolder run;
  run_scene(run, {"file_limit"});  // SIGXFSZ would have ended the guest
  const auto recording = run.recording();
  CHECK(recording.info.disabled == static_cast<std::uint32_t>(record::DisableReason::no_space));
  CHECK(recording.info.dropped_records == 3001);  // the samples, and the first part of one
}

TEST_CASE("switching the recording off and on loses no delivery and leaves no half-timed record") {
  RunFolder run;
  run_scene(run, {"toggle"});
  const auto recording = run.recording();
  const auto& slot = run.control().ranks[0];
  CHECK(slot.pid.load() == static_cast<std::uint64_t>(recording.info.pid));
  CHECK(slot.batches.load() == 6);
  CHECK(slot.samples.load() == 60);
  CHECK(slot.steps.load() == 6);
  CHECK(slot.waited_ns.load() > 0);
  CHECK(slot.state.load() == static_cast<std::uint32_t>(record::RankState::finished));
  std::vector<std::uint64_t> waits;
  for (const auto& wait : recording.waits) waits.push_back(wait.batch);
  CHECK(waits == std::vector<std::uint64_t>{0, 1, 2, 3, 4});  // kept whatever the switch, until the stop
  for (const auto& wait : recording.waits) CHECK(wait.begin_ns > recording.info.start_monotonic_ns);
  REQUIRE(recording.batches.size() == 2);
  CHECK(recording.batches[0].batch == 0);
  CHECK(recording.batches[1].batch == 4);
  CHECK(recording.samples.size() == 2);
  REQUIRE(recording.steps.size() == 5);
  CHECK(recording.steps[3].step == 3);
  REQUIRE(recording.texts.size() == 1);
  CHECK(recording.texts[0].json == "{\"what\":\"said while paused\"}");
}

TEST_CASE("errno is never changed") {
  const TemporaryFolder folder;
  RunFolder run;
  run_scene(run, {"errno", make_file(folder, 100)});
}

TEST_CASE("signal handlers that do I/O in the middle of our code break nothing") {
  const TemporaryFolder folder;
  RunFolder run;
  run_scene(run, {"signals", make_file(folder, 1000)});
  const auto recording = run.recording();
  CHECK(recording.broken_blocks == 0);
  CHECK(recording.unknown_records == 0);
  CHECK(recording.torn_tails == 0);
  const auto own = std::count_if(recording.samples.begin(), recording.samples.end(),
                                 [](const auto& sample) { return sample.index >= 0; });
  CHECK(own == 200'000);
  CHECK(recording.info.dropped_records == 0);
}

TEST_CASE("a guest that closes every descriptor gets its numbers back unread") {
  const TemporaryFolder folder;
  RunFolder run;
  run_scene(run, {"close_all", make_file(folder, 1000)});
  const auto recording = run.recording();
  REQUIRE(recording.batches.size() == 2);
  CHECK(recording.batches[1].run_delay_ns == UINT64_MAX);
}

TEST_CASE("our memory stays below 4 MiB with every table full") {
  const TemporaryFolder folder;
  RunFolder run;
  const auto result =
      run_guest({STALLCAST_CAPTURE_GUEST, "memory", make_file(folder, 100)}, {.run_dir = run.path().string()});
  REQUIRE_MESSAGE(result.exit_status == 0, result.output);
  const long used_kib = std::stol(result.output);
  CHECK(used_kib > 512);  // the tables were really filled
  CHECK(used_kib <= 4096);
}

TEST_CASE("texts are kept up to 16 KiB and refused beyond") {
  RunFolder run;
  run_scene(run, {"texts"});
  const auto recording = run.recording();
  REQUIRE(recording.texts.size() == 2);
  CHECK(recording.texts[0].kind == record::TextKind::process);
  CHECK(recording.texts[0].json == "{\"role\":\"consumer\"}");
  CHECK(recording.texts[1].json == std::string(16 * 1024, 'x'));
  CHECK(recording.info.dropped_records == 1);
}

}  // namespace stallcast::test
