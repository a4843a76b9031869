#include "probes/collect/pages/recording_follower.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>

#include "tests/collect/fake_root.hpp"
#include "tests/record/encode_recording.hpp"

namespace stallcast::collect::testing {
namespace {

using record::RecordingEncoder;

record::ProcessInfo process(std::int32_t pid) {
  record::ProcessInfo info;
  info.run_id = "follow";
  info.pid = pid;
  return info;
}

void add_touched(RecordingEncoder& to, std::int64_t index, std::uint64_t file, std::uint32_t thread = 1) {
  record::TouchedRecord touched{};
  touched.header = {static_cast<std::uint16_t>(record::Kind::touched), sizeof(touched), 0};
  touched.index = index;
  touched.file_id = file;
  touched.bytes = UINT64_MAX;
  to.append(thread, &touched, sizeof(touched));
}

/// The file is written in place, as a process that goes on recording does.
void put(const FakeRoot& root, const std::string& name, const std::vector<std::byte>& bytes) {
  root.put(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

TEST_CASE("follower: what is added is handed over once, with who wrote it") {
  const FakeRoot run;
  RecordingFollower follower(run.path());
  CHECK(follower.poll().empty());
  RecordingEncoder worker(process(71));
  worker.add_path({5, 1000, 8, "/data/a.jpg"});
  add_touched(worker, 3, 5);
  put(run, "follow.0.host.71.rec", worker.bytes());
  Followed found = follower.poll();
  REQUIRE(found.paths.size() == 1);
  CHECK(found.paths[0].path == "/data/a.jpg");
  CHECK(found.paths[0].size_bytes == 1000);
  REQUIRE(found.touched.size() == 1);
  CHECK(found.touched[0].index == 3);
  CHECK(found.touched[0].file_id == 5);
  CHECK(follower.poll().empty());

  add_touched(worker, 4, 5);
  RecordingEncoder main(process(70));
  main.add_text(record::TextKind::process, "{}");
  main.add_text(record::TextKind::ahead, R"({"serial":1})");
  main.add(record::StepRecord{});
  record::BatchRecord batch{};
  batch.io.read_bytes = 4096;
  batch.io.opens = 3;
  worker.add(batch);
  put(run, "follow.0.host.71.rec", worker.bytes());
  put(run, "follow.0.host.70.rec", main.bytes());
  found = follower.poll();
  REQUIRE(found.touched.size() == 1);
  CHECK(found.touched[0].index == 4);
  REQUIRE(found.ahead.size() == 1);
  CHECK(found.ahead[0].pid == 70);
  REQUIRE(found.batches.size() == 1);
  CHECK(found.batches[0].pid == 71);
  CHECK(found.batches[0].read_bytes == 4096);
  CHECK(found.batches[0].opens == 3);
  CHECK(found.ahead[0].json == R"({"serial":1})");
  CHECK(follower.poll().empty());
}

TEST_CASE("follower: blocks of several threads, and no more at once than asked for") {
  const FakeRoot run;
  RecordingEncoder worker(process(71));
  constexpr std::int64_t k_samples = 5000;  // some 200 KB: four blocks
  for (std::int64_t i = 0; i < k_samples; ++i) add_touched(worker, i, 9, static_cast<std::uint32_t>(i % 2));
  put(run, "follow.0.host.71.rec", worker.bytes());
  RecordingFollower follower(run.path());
  std::vector<int> seen(k_samples);
  int polls = 0;
  for (Followed found = follower.poll(1); !found.empty(); found = follower.poll(1), ++polls) {
    for (const auto& touched : found.touched) ++seen.at(static_cast<std::size_t>(touched.index));
  }
  CHECK(polls == 4);
  CHECK(seen == std::vector<int>(k_samples, 1));
}

TEST_CASE("follower: what is torn, cut, gone or no recording is passed by, and read once it is whole") {
  const FakeRoot run;
  RecordingEncoder worker(process(71));
  add_touched(worker, 1, 9);
  worker.tear(1, 64);
  const auto whole = worker.bytes();
  put(run, "follow.0.host.71.rec", {whole.begin(), whole.begin() + 100});
  run.put("follow.0.host.72.rec", std::string(100'000, 'x'));
  run.put("control", "x");
  std::filesystem::create_directory(run.path() / "folder.rec");
  REQUIRE(mkfifo((run.path() / "pipe.rec").c_str(), 0600) == 0);
  RecordingFollower follower(run.path());
  CHECK(follower.poll().empty());
  put(run, "follow.0.host.71.rec", {whole.begin(), whole.begin() + record::k_header_bytes + 80});
  CHECK(follower.poll().empty());
  put(run, "follow.0.host.71.rec", whole);
  CHECK(follower.poll().touched.size() == 1);
  std::filesystem::remove(run.path() / "follow.0.host.71.rec");
  CHECK(follower.poll().empty());
  std::filesystem::remove_all(run.path());
  CHECK(follower.poll().empty());
}

TEST_CASE("follower: a record that says it is empty stops its block and nothing else") {
  const FakeRoot run;
  RecordingEncoder worker(process(71));
  add_touched(worker, 1, 9);
  const record::RecordHeader broken{static_cast<std::uint16_t>(record::Kind::touched), 0, 0};
  worker.append(1, &broken, sizeof(broken));
  add_touched(worker, 2, 9, 2);
  put(run, "follow.0.host.71.rec", worker.bytes());
  RecordingFollower follower(run.path());
  CHECK(follower.poll().touched.size() == 2);
  CHECK(follower.poll().empty());
}

}  // namespace stallcast::collect::testing
