#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstring>

#include "probes/collect/launch/output_folder.hpp"
#include "probes/collect/launch/run_folder.hpp"
#include "tests/collect/fake_root.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;
using testing::FakeRoot;
using testing::mode_of;
using testing::slurp;

TEST_CASE("a run folder is private, named by its run, and holds an allocated control block") {
  FakeRoot root;
  RunFolderPlan plan;
  plan.parent = root.path();
  plan.budget_bytes = 12345678;
  plan.restart = 2;
  auto folder = RunFolder::create(plan);
  REQUIRE(folder.ok());
  RunFolder& run = folder.value();
  CHECK(run.path().filename() == "stallcast-" + run.run_id());
  CHECK(mode_of(run.path()) == 0700);
  const fs::path control = run.path() / record::k_control_file;
  CHECK(mode_of(control) == 0600);
  struct stat info {};
  REQUIRE(stat(control.c_str(), &info) == 0);
  CHECK(static_cast<std::uint64_t>(info.st_size) == sizeof(record::ControlBlock));
  CHECK(static_cast<std::uint64_t>(info.st_blocks) * 512 >= sizeof(record::ControlBlock));
  CHECK(std::memcmp(run.control().magic, record::k_control_magic, 8) == 0);
  CHECK(run.control().abi == record::k_control_abi);
  CHECK(run.control().recording.load() == 1);
  CHECK(run.control().budget_bytes == 12345678);
  CHECK(run.control().restart == 2);
  CHECK(slurp(control).substr(0, 8) == std::string(record::k_control_magic, 8));
  run.remove();
  CHECK_FALSE(fs::exists(run.path()));
}

TEST_CASE("run ids differ and fit the control block") {
  const std::string first = new_run_id();
  CHECK(first != new_run_id());
  CHECK(first.size() < sizeof(record::ControlBlock{}.run_id));
  CHECK(first.find_first_not_of("0123456789abcdef-") == std::string::npos);
}

TEST_CASE("a run folder where there is no folder is an environment error with a way out") {
  RunFolderPlan plan;
  plan.parent = "/nonexistent/of/stallcast";
  const auto folder = RunFolder::create(plan);
  REQUIRE_FALSE(folder.ok());
  CHECK(folder.error().code == ErrorCode::environment);
  CHECK(folder.error().hint.find("TMPDIR") != std::string::npos);
}

TEST_CASE("an output folder is created with its parents, 0700") {
  FakeRoot root;
  const auto output = prepare_output_folder(root.path() / "a/b/out/", false);
  REQUIRE(output.ok());
  CHECK(output.value().created);
  CHECK(mode_of(root.path() / "a/b/out") == 0700);
  drop_unused(output.value());
  CHECK_FALSE(fs::exists(root.path() / "a/b/out"));
}

TEST_CASE("an empty folder is taken, one with content refused unless forced, a file always refused") {
  FakeRoot root;
  fs::create_directory(root.path() / "empty");
  const auto empty = prepare_output_folder(root.path() / "empty", false);
  REQUIRE(empty.ok());
  CHECK_FALSE(empty.value().created);
  CHECK(fs::is_empty(root.path() / "empty"));
  drop_unused(empty.value());
  CHECK(fs::exists(root.path() / "empty"));

  root.put("full/thesis.tex", "years of work").put("file", "x");
  const auto refused = prepare_output_folder(root.path() / "full", false);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::usage);
  CHECK(refused.error().hint.find("--force") != std::string::npos);
  CHECK(prepare_output_folder(root.path() / "full", true).ok());
  CHECK_FALSE(prepare_output_folder(root.path() / "file", true).ok());
}

TEST_CASE("recordings move into the output; forced, only our own files of an earlier run are replaced") {
  FakeRoot root;
  root.put("run/a.rec", "new").put("run/tool.jsonl", "{}\n").put("run/control", "c");
  root.put("out/notes.txt", "mine").put("out/recordings/old.rec", "old").put("out/recordings/keep.txt", "mine too");
  REQUIRE(collect_recordings(root.path() / "run", {root.path() / "out", false}).ok());
  const fs::path recordings = root.path() / "out/recordings";
  CHECK(slurp(recordings / "a.rec") == "new");
  CHECK(slurp(recordings / "tool.jsonl") == "{}\n");
  CHECK_FALSE(fs::exists(recordings / "old.rec"));
  CHECK_FALSE(fs::exists(recordings / "control"));
  CHECK(slurp(recordings / "keep.txt") == "mine too");
  CHECK(slurp(root.path() / "out/notes.txt") == "mine");
  CHECK(mode_of(recordings) == 0700);
  CHECK(mode_of(recordings / "a.rec") == 0600);
  CHECK_FALSE(fs::exists(root.path() / "run/a.rec"));
}

TEST_CASE("copying leaves the run folder as it is") {
  FakeRoot root;
  root.put("run/a.rec", "new").put("run/control", "c").put("out/x", "");
  REQUIRE(copy_recordings(root.path() / "run", {root.path() / "out", false}).ok());
  CHECK(slurp(root.path() / "run/a.rec") == "new");
  CHECK(slurp(root.path() / "out/recordings/a.rec") == "new");
}

TEST_CASE("a recordings folder that is a link elsewhere is not followed") {
  FakeRoot root;
  root.put("elsewhere/old.rec", "not ours").put("run/a.rec", "new").put("out/x", "");
  fs::create_directory_symlink(root.path() / "elsewhere", root.path() / "out/recordings");
  CHECK_FALSE(collect_recordings(root.path() / "run", {root.path() / "out", false}).ok());
  CHECK(slurp(root.path() / "elsewhere/old.rec") == "not ours");
  CHECK(slurp(root.path() / "run/a.rec") == "new");
}

TEST_CASE("the default folder takes the next free number") {
  FakeRoot root;
  const fs::path before = fs::current_path();
  fs::current_path(root.path());
  const auto first = prepare_output_folder({}, false);
  const auto second = prepare_output_folder({}, false);
  fs::current_path(before);
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  CHECK(first.value().path == "stallcast-profile");
  CHECK(second.value().path == "stallcast-profile-2");
  CHECK(mode_of(root.path() / "stallcast-profile-2") == 0700);
}

}  // namespace
}  // namespace stallcast::collect
