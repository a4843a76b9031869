// From a folder on disk to a profile: what is there, what is damaged, what is missing.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "analyzer/analyze.hpp"
#include "analyzer/profile/json.hpp"
#include "tests/analyzer/run_builder.hpp"
#include "tests/record/encode_recording.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;
namespace fs = std::filesystem;

namespace {

/// A folder of its own, gone at the end.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "stallcast-load-test-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] const fs::path& path() const { return path_; }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
  }

 private:
  fs::path path_{};
};

JobSpec short_job() {
  JobSpec spec = fetch_bound();
  spec.batches = 60;
  return spec;
}

/// The bytes of a recording that the next version of stallcast might have written.
std::string newer_recording() {
  auto bytes = record::encode(make_recordings(short_job()).processes.at(0));
  bytes[offsetof(record::FileHeader, version)] = std::byte{record::k_version + 1};
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void check_bad_input(const Folder& folder, const std::string& words) {
  const auto profile = analyze(folder.path());
  REQUIRE_FALSE(profile.ok());
  CHECK(profile.error().code == ErrorCode::bad_input);
  CAPTURE(profile.error().what);
  CHECK(profile.error().what.find(words) != std::string::npos);
  CHECK_FALSE(profile.error().hint.empty());
}

}  // namespace

TEST_CASE("a run that was written to disk gives the profile of the run") {
  for (const int ranks : {1, 2}) {
    JobSpec spec = short_job();
    spec.ranks = ranks;
    spec.samples = true;
    RunData run = make_recordings(spec);
    const Folder folder;
    write_run(run, folder.path());
    const auto profile = analyze(folder.path());
    REQUIRE(profile.ok());
    for (auto& process : run.processes) process.file_bytes = record::encode(process).size();
    join_run(run);
    Profile expected = analyze_run(run);
    CHECK(profile.value().issues.empty());
    CHECK(to_json(profile.value())["rates"] == to_json(expected)["rates"]);
    CHECK(to_json(profile.value())["stalls"] == to_json(expected)["stalls"]);
    CHECK(to_json(profile.value())["overhead"] == to_json(expected)["overhead"]);
    CHECK(to_json(profile.value())["dataset"] == to_json(expected)["dataset"]);
  }
}

TEST_CASE("the output folder and its recordings are the same run") {
  const Folder folder;
  fs::create_directory(folder.path() / "recordings");
  write_run(make_recordings(short_job()), folder.path() / "recordings");
  folder.write("profile.json", "{}");
  const auto outer = analyze(folder.path());
  const auto inner = analyze(folder.path() / "recordings");
  REQUIRE(outer.ok());
  REQUIRE(inner.ok());
  CHECK(to_json(outer.value()) == to_json(inner.value()));
}

TEST_CASE("nothing to read is bad input that says where to look") {
  const Folder folder;
  check_bad_input(folder, "no recording in");
  const auto missing = analyze(folder.path() / "nowhere");
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().code == ErrorCode::bad_input);
  folder.write("file", "");
  CHECK_FALSE(analyze(folder.path() / "file").ok());
}

TEST_CASE("garbage is bad input, whatever it is called") {
  const Folder folder;
  folder.write("a.rec", "this is no recording");
  check_bad_input(folder, "a.rec");
  folder.write("tool.jsonl", std::string("\x00\xff{{{[[[\n\n\"", 12));
  check_bad_input(folder, "a.rec");
  const Folder log_only;
  log_only.write("tool.jsonl", "not json\n[]\n");
  check_bad_input(log_only, "no recording in");
  const Folder empty_log;
  empty_log.write("tool.jsonl", "");
  check_bad_input(empty_log, "no recording in");
}

TEST_CASE("folders, pipes and links to nowhere do not stop the reader") {
  const Folder folder;
  fs::create_directory(folder.path() / "folder.rec");
  REQUIRE(mkfifo((folder.path() / "pipe.rec").c_str(), 0600) == 0);
  fs::create_symlink("nowhere", folder.path() / "link.rec");
  check_bad_input(folder, "no recording in");
  write_run(make_recordings(short_job()), folder.path());
  const auto profile = analyze(folder.path());
  REQUIRE(profile.ok());
  CHECK(profile.value().outcome.status == "measured");
}

TEST_CASE("recordings of a newer version are refused by name") {
  const Folder folder;
  folder.write("new.rec", newer_recording());
  check_bad_input(folder, "version " + std::to_string(record::k_version + 1));
  folder.write("tool.jsonl", log_text(make_recordings(short_job()).log));
  check_bad_input(folder, "version " + std::to_string(record::k_version + 1));
}

TEST_CASE("one unreadable recording among others is an issue that names it") {
  const Folder folder;
  write_run(make_recordings(short_job()), folder.path());
  folder.write("new.rec", newer_recording());
  const auto profile = analyze(folder.path());
  REQUIRE(profile.ok());
  const DataIssue* issue = issue_of(profile.value().issues, "unreadable-recording");
  REQUIRE(issue != nullptr);
  CHECK(issue->severity == Severity::error);
  CHECK(issue->detail.find("new.rec") != std::string::npos);
}

TEST_CASE("recordings of another run are left out and counted") {
  const Folder folder;
  write_run(make_recordings(short_job()), folder.path());
  JobSpec other_spec = compute_bound();
  other_spec.batches = 90;
  RunData other = make_recordings(other_spec);
  other.has_log = false;
  for (auto& process : other.processes) {
    process.info.run_id = "another";
    process.info.host = "another";
  }
  write_run(other, folder.path());
  const auto profile = analyze(folder.path());
  REQUIRE(profile.ok());
  const DataIssue* issue = issue_of(profile.value().issues, "foreign-recordings");
  REQUIRE(issue != nullptr);
  CHECK(issue->count == 3);
  CHECK(profile.value().job.ranks_seen == 1);
  CHECK(*profile.value().job.dataset_samples == 60 * 32);
}

TEST_CASE("a run folder without the tool's log is analysed as far as it goes") {
  const Folder folder;
  RunData run = make_recordings(short_job());
  run.has_log = false;
  write_run(run, folder.path());
  const auto profile = analyze(folder.path());
  REQUIRE(profile.ok());
  CHECK(issue_of(profile.value().issues, "no-run-log") != nullptr);
  CHECK(profile.value().rates.as_is.has_value());
  CHECK_FALSE(profile.value().rates.cold.has_value());
}

TEST_CASE("a log cut off in the middle of a line is said to be, and the run was not ended") {
  const Folder folder;
  RunData run = make_recordings(short_job());
  const std::string log = log_text(run.log);
  run.has_log = false;
  write_run(run, folder.path());
  folder.write("tool.jsonl", log.substr(0, log.size() - 10));
  const auto profile = analyze(folder.path());
  REQUIRE(profile.ok());
  CHECK(issue_of(profile.value().issues, "torn-log") != nullptr);
  CHECK(issue_of(profile.value().issues, "tool-ended-early") != nullptr);
  CHECK(profile.value().outcome.status == "measured");
}

TEST_CASE("a log without a recording is a run in which no loader was found") {
  const Folder folder;
  folder.write("tool.jsonl", log_text(make_recordings(short_job()).log));
  const auto profile = analyze(folder.path());
  REQUIRE(profile.ok());
  CHECK(profile.value().outcome.status == "no_loader");
  CHECK(profile.value().host.name == "node0");
}

TEST_CASE("recordings cut or overwritten anywhere give a profile or an error, never a crash") {
  JobSpec spec = short_job();
  spec.batches = 40;
  const RunData run = make_recordings(spec);
  std::uint64_t state = 1;
  const auto next = [&state](std::uint64_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % below;
  };
  for (int round = 0; round < 60; ++round) {
    const Folder folder;
    for (const auto& process : run.processes) {
      auto bytes = record::encode(process);
      if (round % 2 == 0) bytes.resize(next(bytes.size()));
      const std::uint64_t used = std::min<std::uint64_t>(bytes.size(), 12'000);
      for (int edit = 0; used > 16 && edit < 8; ++edit) bytes[16 + next(used - 16)] = static_cast<std::byte>(next(256));
      folder.write(std::to_string(process.info.pid) + ".rec",
                   {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
    const auto profile = analyze(folder.path());
    if (!profile.ok()) {
      CHECK(profile.error().code == ErrorCode::bad_input);
      continue;
    }
    CHECK(profile_from_json(to_json(profile.value())).ok());
  }
}

TEST_CASE("a loader that claims a million workers is not believed") {
  RunData run = make_recordings(short_job());
  for (auto& text : run.processes[0].texts) {
    const auto at = text.json.find("\"num_workers\":2");
    if (at != std::string::npos) text.json.replace(at, 15, "\"num_workers\":4000000000");
  }
  const Folder folder;
  write_run(run, folder.path());
  const auto profile = analyze(folder.path());
  REQUIRE(profile.ok());
  CHECK_FALSE(profile.value().job.num_workers.has_value());
}
