/// What samples of a phased run read, as records say it.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "probes/collect/pages/recording_follower.hpp"
#include "tests/capture/phase_run.hpp"

namespace stallcast::test {
namespace {

namespace fs = std::filesystem;

/// "INDEX FILE OFFSET+BYTES", of a whole file "INDEX FILE", in the order of one process.
std::vector<std::string> touched_in(PhasedRun& run) {
  const collect::Followed all = collect::RecordingFollower(run.folder().path()).poll();
  std::map<std::uint64_t, std::string> names;
  for (const auto& path : all.paths) names[path.file_id] = fs::path(path.path).filename();
  std::vector<std::string> touched;
  for (const auto& one : all.touched) {
    const bool is_whole = one.offset == 0 && one.bytes == UINT64_MAX;
    touched.push_back(std::to_string(one.index) + ' ' + names[one.file_id]);
    if (!is_whole) touched.back() += ' ' + std::to_string(one.offset) + '+' + std::to_string(one.bytes);
  }
  return touched;
}

using Lines = std::vector<std::string>;

struct Data {
  TemporaryFolder folder{};
  fs::path small = make_file(folder.path(), "small", 10'000);
  fs::path other = make_file(folder.path(), "other", 5000);
  fs::path shard = make_file(folder.path(), "shard", 1'000'000);
  std::string read = "read:" + small.string();
  std::string keep = "keep:" + shard.string();
};

TEST_CASE("each file that a sample opens is told of once, in every phase, outside of segments too") {
  const Data data;
  PhasedRun run;
  const std::string other = "fopen:" + data.other.string();
  run.guest({"batch", "sample:7", data.read, other, data.read, "done", "sample:8", data.read, "done", "done_batch",
             begin(Phase::cached, 0), "sample:7", data.read, "done", "end"});
  CHECK(touched_in(run) == Lines{"7 small", "7 other", "8 small", "7 small"});
}

TEST_CASE("what a call reads that makes several samples is told of under a number of all of theirs") {
  const Data data;
  PhasedRun run;
  run.guest({"batch",     data.keep, "at_once:7:3", data.read,   "pread:5000:10", "all_done",  data.read,
             "at_once",   data.read, "all_done",    "sample:-5", data.read,       "done",      "sample:3",
             "at_once:4", data.read, "all_done",    data.read,   "done",          "done_batch"});
  record::AtOnceIndex index;
  index.add(7);
  index.add(3);
  const std::string of_both = std::to_string(index.value());
  CHECK(index.value() < -1);
  CHECK(touched_in(run) == Lines{of_both + " small", of_both + " shard 4096+4096", "3 small"});
}

TEST_CASE("files of a stream are told of once a process, without an index") {
  const Data data;
  PhasedRun run;
  run.guest({data.keep, begin(Phase::as_is, 0, 1), "pread:0:10", data.read, "end", begin(Phase::cold, 1, 1, 1),
             "pread:4096:10", data.read, "end", begin(Phase::cold, 1, 0, 2), data.read, "end"});
  CHECK(touched_in(run) == Lines{"-1 shard", "-1 small"});
}

TEST_CASE("of a file that stays open the ranges are, in pages, and those that meet are one") {
  const Data data;
  PhasedRun run;
  run.guest({data.keep, begin(Phase::as_is, 0), "sample:3", "pread:5000:3000", "pread:8000:5000", "pread:500000:10",
             "pread:5000:10", "done", "sample:4", "pread:12000:10", "done", "end"});
  CHECK(touched_in(run) == Lines{"3 shard 4096+12288", "3 shard 499712+4096", "4 shard 8192+4096"});
}

TEST_CASE("a file that one sample opens and leaves open is read by the others of its batch, too") {
  const Data data;
  PhasedRun run;
  run.guest({"batch", "sample:1", data.keep, "pread:0:10", "done", "sample:2", "pread:8192:10", "done", "done_batch",
             "batch", "sample:3", "next:100", "done", "done_batch"});
  CHECK(touched_in(run) == Lines{"1 shard", "2 shard 8192+4096", "3 shard 0+4096"});
}

TEST_CASE("a sample that reads in many places keeps to its bound") {
  const Data data;
  PhasedRun run;
  std::vector<std::string> commands{data.keep, begin(Phase::as_is, 0)};
  for (int sample = 0; sample < 2; ++sample) {
    commands.push_back("sample:" + std::to_string(sample));
    for (int i = 0; i < 300; ++i) commands.push_back("pread:" + std::to_string(i * 37 % 122 * 8192) + ":10");
    commands.emplace_back("done");
  }
  commands.emplace_back("end");
  run.guest(commands);
  const auto touched = touched_in(run);
  CHECK(std::count_if(touched.begin(), touched.end(), [](const std::string& one) { return one.starts_with("0 "); }) <=
        256);
  CHECK(std::count_if(touched.begin(), touched.end(), [](const std::string& one) { return one.starts_with("1 "); }) >=
        122);
}

TEST_CASE("names are whole, in a fork child as well") {
  const Data data;
  PhasedRun run;
  const std::string here = "openat:" + data.folder.path().string() + ":small";
  run.guest({"batch", "sample:1", here, "done", "done_batch", data.keep, "fork", "batch", "sample:2", here,
             "pread:0:10", "done", "done_batch"});
  for (const auto& process : run.folder().recordings()) {
    std::vector<std::string> paths;
    for (const auto& path : process.paths) paths.push_back(path.path);
    CHECK(std::count(paths.begin(), paths.end(), data.small.string()) == 1);
    if (process.info.is_fork_child) CHECK(std::count(paths.begin(), paths.end(), data.shard.string()) == 1);
  }
  CHECK(touched_in(run).size() == 3);
}

TEST_CASE("what belongs to no sample, or to one without an index, is not told of, nor is code, nor in a passive run") {
  const Data data;
  const auto code = make_file(data.folder.path(), "code.py", 1000);
  const std::vector<std::string> commands{data.keep, "batch",      data.read,  "pread:0:10", "sample:-1",
                                          data.read, "pread:0:10", "done",     "sample:5",   "read:" + code.string(),
                                          "done",    "done_batch", "sample:6", "done"};
  PhasedRun run;
  run.guest(commands);
  CHECK(touched_in(run).empty());
  for (const bool let_go : {false, true}) {
    PhasedRun passive;
    if (let_go) {
      passive.control().let_go.store(1);
    } else {
      passive.control().mode = static_cast<std::uint32_t>(record::RunMode::passive);
    }
    passive.guest({"batch", "sample:1", data.read, "done", "done_batch"});
    CHECK(touched_in(passive).empty());
    CHECK(passive.folder().recording().samples.size() == 1);
  }
}

}  // namespace
}  // namespace stallcast::test
