#include "probes/collect/run/tool_log.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "probes/collect/run/log_lines.hpp"
#include "tests/collect/fake_root.hpp"

namespace stallcast::collect {
namespace {

using nlohmann::json;
using testing::FakeRoot;
using testing::mode_of;
using testing::slurp;

TEST_CASE("the first line names the run; text that is no UTF-8 still gives JSON") {
  RunLine run;
  run.run_id = "r1";
  run.tool_version = "1.2.3";
  run.command = {"python", "caf\xe9.py", "two\nlines"};
  run.start_monotonic_ns = 18446744073709551615ULL;
  run.ranks_expected = 8;
  const std::string line = to_line(run);
  CHECK(line.find('\n') == std::string::npos);
  const json parsed = json::parse(line);
  CHECK(parsed["kind"] == "run");
  CHECK(parsed["version"] == 1);
  CHECK(parsed["run_id"] == "r1");
  CHECK(parsed["command"].size() == 3);
  CHECK(parsed["command"][2] == "two\nlines");
  CHECK(parsed["mode"] == "passive");
  CHECK(parsed["start_monotonic_ns"] == 18446744073709551615ULL);
  CHECK(parsed["ranks_expected"] == 8);
}

TEST_CASE("the host line: what is absent is null") {
  HostFacts host;
  host.name = "n";
  host.usable_cpus = 1.5;
  host.usable_cpus_limited_by = "cgroup quota";
  host.memory_bytes = 4096;
  host.environment["RANK"] = "0";
  const json absent = json::parse(to_line(host, std::nullopt, std::nullopt));
  CHECK(absent["kind"] == "host");
  CHECK(absent["usable_cpus"] == 1.5);
  CHECK(absent["memory_limit_bytes"].is_null());
  CHECK(absent["shm_free_bytes"].is_null());
  CHECK(absent["resident_read_s_per_byte"].is_null());
  CHECK(absent["fresh_page_s"].is_null());
  CHECK(absent["environment"]["RANK"] == "0");
  host.memory_limit_bytes = 1024;
  const json present = json::parse(to_line(host, ResidentReadCost{1e-6, 1e-10}, 5e-7));
  CHECK(present["memory_limit_bytes"] == 1024);
  CHECK(present["resident_read_s_per_call"] == 1e-6);
  CHECK(present["fresh_page_s"] == 5e-7);
}

TEST_CASE("the line of file systems: types by device, and nothing else of a mount") {
  const json line = json::parse(to_line(parse_mountinfo(
      "22 1 254:1 / / rw - ext4 /dev/root rw\n23 22 0:40 / /secret rw - nfs4 server:/export rw\nno mount\n")));
  CHECK(line["kind"] == "filesystems");
  CHECK(line["types"].size() == 2);
  CHECK(line["types"][std::to_string(makedev(254, 1))] == "ext4");
  CHECK(line["types"][std::to_string(makedev(0, 40))] == "nfs4");
  CHECK(line.dump().find("secret") == std::string::npos);
  CHECK(line.dump().find("server") == std::string::npos);
}

TEST_CASE("a tick holds slots, processes and sums") {
  TickLine tick;
  tick.t_ns = 5;
  tick.recording = false;
  RankReading rank;
  rank.slot = 3;
  rank.pid = 77;
  rank.batches = 12;
  rank.state = record::RankState::iterating;
  tick.ranks.push_back(rank);
  std::vector<Process> processes(1);
  processes[0].pid = 77;
  processes[0].stat.name = "python";
  processes[0].cpu_ns = 9;
  tick.tree_cpu_ns = 11;
  tick.tool_cpu_ns = 2;
  const json bare = json::parse(to_line(tick));
  CHECK(bare["recording"] == 0);
  CHECK(bare["ranks"][0]["slot"] == 3);
  CHECK(bare["ranks"][0]["batches"] == 12);
  CHECK(bare["ranks"][0]["rank"].is_null());
  CHECK(bare["ranks"][0]["state"] == "iterating");
  CHECK(bare["processes"].empty());
  CHECK(bare["tree_cpu_ns"] == 11);
  CHECK(bare["read_bytes_tree"].is_null());
  tick.processes = &processes;
  tick.tree_read_bytes = 4096;
  const json full = json::parse(to_line(tick));
  CHECK(full["processes"][0]["name"] == "python");
  CHECK(full["processes"][0]["read_bytes"].is_null());
  CHECK(full["processes"][0]["pss_bytes"].is_null());
  CHECK(full["processes"][0]["cpus"].is_null());
  CHECK(full["quota_periods"].is_null());
  CHECK(full["machine_idle_ns"].is_null());
  processes[0].status = StatusFacts{"0-1", 4096};
  processes[0].proportional = ProportionalSet{8192, 4096};
  tick.throttling = CpuThrottling{100, 7, 12345};
  tick.machine = MachineCpu{2, 5'000, 30};
  tick.shm_free_bytes = 1 << 20;
  const json told = json::parse(to_line(tick));
  CHECK(told["processes"][0]["cpus"] == "0-1");
  CHECK(told["processes"][0]["swap_bytes"] == 4096);
  CHECK(told["processes"][0]["pss_anon_bytes"] == 4096);
  CHECK(told["quota_throttled"] == 7);
  CHECK(told["machine_cpus"] == 2);
  CHECK(told["machine_idle_ns"] == 5'000);
  CHECK(told["machine_stolen_ns"] == 30);
  CHECK(told["quota_throttled_ns"] == 12345);
  CHECK(told["shm_free_bytes"] == 1 << 20);
  CHECK(full["read_bytes_tree"] == 4096);
}

TEST_CASE("lines are whole, private, and in order") {
  FakeRoot root;
  auto log = ToolLog::create(root.path() / "tool.jsonl");
  REQUIRE(log.ok());
  log.value().append(to_line(RunLine{}));
  log.value().append(DataIssue{"some-id", Severity::info, 2, "what", "do"});
  log.value().append(to_line(EndLine{9, 130, 2, true}));
  const std::string text = slurp(root.path() / "tool.jsonl");
  CHECK(mode_of(root.path() / "tool.jsonl") == 0600);
  CHECK(log.value().bytes() == text.size());
  CHECK(text.back() == '\n');
  const std::size_t second = text.find('\n') + 1;
  const json issue = json::parse(text.substr(second, text.find('\n', second) - second));
  CHECK(issue["id"] == "some-id");
  CHECK(issue["severity"] == "info");
  CHECK(issue["count"] == 2);
  CHECK(text.find("\"exit_code\":130") > second);
  CHECK(text.find("\"interrupted\":true") > second);
  CHECK_FALSE(ToolLog::create(root.path() / "tool.jsonl").ok());
}

/// Files of this process cannot grow beyond `bytes` while this lives: a full disk without a disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = SIG_DFL;
};

TEST_CASE("what the disk does not take is counted and leaves no half line; issues are kept for later") {
  FakeRoot root;
  const std::filesystem::path path = root.path() / "tool.jsonl";
  auto log = ToolLog::create(path);
  REQUIRE(log.ok());
  log.value().append(std::string("{\"kind\":\"first\"}"));
  const std::string before = slurp(path);
  {
    const FileSizeLimit full(before.size() + 5);
    log.value().append(std::string("{\"kind\":\"lost\"}"));
    log.value().append(DataIssue{"kept", Severity::warning, 1, "", ""});
    CHECK(slurp(path) == before);
  }
  CHECK(log.value().lost_lines() == 1);
  std::filesystem::rename(path, root.path() / "moved.jsonl");
  log.value().append_kept(root.path() / "moved.jsonl");
  const std::string after = slurp(root.path() / "moved.jsonl");
  CHECK(after.substr(0, before.size()) == before);
  CHECK(json::parse(after.substr(before.size()))["id"] == "kept");
}

}  // namespace
}  // namespace stallcast::collect
