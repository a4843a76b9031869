#include "analyzer/load/run_log.hpp"

#include <doctest/doctest.h>

#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;

TEST_CASE("a run log reads back as it was written") {
  synthetic::JobSpec spec = synthetic::prep_bound();
  spec.ranks = 2;
  const RunLog written = synthetic::make_recordings(spec).log;
  const RunLog read = parse_run_log(synthetic::log_text(written));
  CHECK(read.bad_lines == 0);
  CHECK(read.run_id == written.run_id);
  CHECK(read.tool_version == written.tool_version);
  CHECK(read.command == written.command);
  CHECK(read.start_monotonic_ns == written.start_monotonic_ns);
  CHECK(read.ranks_expected == 2);
  CHECK(read.ended);
  CHECK(read.exit_code == 0);
  CHECK_FALSE(read.interrupted);
  REQUIRE(read.host.has_value());
  CHECK(read.host->usable_cpus == written.host->usable_cpus);
  CHECK(read.host->memory == written.host->memory);
  CHECK_FALSE(read.host->memory_limit.has_value());
  CHECK(read.host->memory_limit.reason().find("limit") != std::string::npos);
  REQUIRE(read.resident_read.has_value());
  CHECK(read.resident_read->seconds_per_call == written.resident_read->seconds_per_call);
  REQUIRE(read.ticks.size() == written.ticks.size());
  for (std::size_t i = 0; i < read.ticks.size(); ++i) {
    const Tick& a = read.ticks[i];
    const Tick& b = written.ticks[i];
    CHECK(a.t_ns == b.t_ns);
    CHECK(a.recording == b.recording);
    CHECK(a.tree_cpu_ns == b.tree_cpu_ns);
    CHECK(a.tree_read_bytes == b.tree_read_bytes);
    REQUIRE(a.ranks.size() == 2);
    CHECK(a.ranks[1].rank == 1);
    CHECK(a.ranks[1].pid == b.ranks[1].pid);
    CHECK(a.ranks[1].samples == b.ranks[1].samples);
    CHECK(a.ranks[1].delivered_ns == b.ranks[1].delivered_ns);
    REQUIRE(a.processes.size() == b.processes.size());
    CHECK(a.processes[0].run_delay_ns == b.processes[0].run_delay_ns);
    CHECK(a.processes[0].read_bytes == -1);
    CHECK(a.processes[1].parent_pid == b.processes[1].parent_pid);
  }
}

TEST_CASE("a torn last line is counted and everything before it is kept") {
  const std::string whole = synthetic::log_text(synthetic::make_recordings(synthetic::prep_bound()).log);
  const std::size_t ticks = parse_run_log(whole).ticks.size();
  const RunLog torn = parse_run_log(whole.substr(0, whole.size() - 5));
  CHECK(torn.bad_lines == 1);
  CHECK_FALSE(torn.ended);
  CHECK(torn.ticks.size() == ticks);
  CHECK(torn.run_id == "synthetic");
}

TEST_CASE("a run log cut anywhere reads without a crash and never invents an end") {
  synthetic::JobSpec spec = synthetic::prep_bound();
  spec.batches = 10;
  const std::string whole = synthetic::log_text(synthetic::make_recordings(spec).log);
  const std::size_t end = whole.rfind("{\"exit_code");
  REQUIRE(end != std::string::npos);
  for (std::size_t cut = 0; cut < whole.size() - 2; cut += 7) {
    const RunLog log = parse_run_log(whole.substr(0, cut));
    CHECK(log.bad_lines <= 1);
    CHECK_FALSE(log.ended);
  }
}

TEST_CASE("fields of the wrong type read as not known") {
  const RunLog log = parse_run_log(
      "{\"kind\":\"run\",\"run_id\":7,\"command\":\"python\",\"start_monotonic_ns\":-5,\"ranks_expected\":\"two\"}\n"
      "{\"kind\":\"host\",\"name\":[],\"logical_cpus\":\"many\",\"usable_cpus\":null,\"memory_limit_bytes\":\"1GB\"}\n"
      "{\"kind\":\"tick\",\"t_ns\":\"now\",\"ranks\":{\"pid\":1},\"processes\":7,\"tree_cpu_ns\":null}\n"
      "{\"kind\":\"tick\",\"t_ns\":5,\"ranks\":[3,null,{\"pid\":\"x\",\"samples\":-4}]}\n"
      "{\"kind\":\"end\",\"exit_code\":\"zero\",\"signal\":null,\"interrupted\":\"yes\"}\n"
      "{\"kind\":17}\n[1,2]\nnull\n\n");
  CHECK(log.bad_lines == 2);  // the array and the null
  CHECK(log.run_id.empty());
  CHECK(log.command.empty());
  CHECK(log.start_monotonic_ns == 0);
  CHECK(log.ranks_expected == 1);
  REQUIRE(log.host.has_value());
  CHECK(log.host->logical_cpus == 0);
  CHECK(log.host->usable_cpus == 0.0);
  CHECK_FALSE(log.host->memory_limit.has_value());
  CHECK_FALSE(log.resident_read.has_value());
  REQUIRE(log.ticks.size() == 2);
  CHECK(log.ticks[0].ranks.empty());
  CHECK(log.ticks[0].tree_cpu_ns == -1);
  REQUIRE(log.ticks[1].ranks.size() == 3);
  CHECK(log.ticks[1].ranks[2].samples == 0);
  CHECK(log.ended);
  CHECK_FALSE(log.interrupted);
}

TEST_CASE("numbers that no counter can hold read as not known") {
  const RunLog log = parse_run_log(
      "{\"kind\":\"run\",\"run_id\":\"a\",\"ranks_expected\":1e300}\n"
      "{\"kind\":\"tick\",\"t_ns\":1,\"tree_cpu_ns\":1e300,\"read_bytes_tree\":-1e300}\n"
      "{\"kind\":\"tick\",\"t_ns\":1,\"tree_cpu_ns\":18446744073709551615}\n"
      "{\"kind\":\"end\",\"exit_code\":99999999999}\n");
  CHECK(log.bad_lines == 0);
  CHECK(log.ranks_expected == 1);
  REQUIRE(log.ticks.size() == 2);
  CHECK(log.ticks[0].tree_cpu_ns == -1);
  CHECK(log.ticks[0].tree_read_bytes == -1);
  CHECK(log.ticks[1].tree_cpu_ns == -1);
  CHECK(log.exit_code == 0);
}

TEST_CASE("a counter written as a whole floating point number is still one") {
  const RunLog log = parse_run_log("{\"kind\":\"tick\",\"t_ns\":1,\"tree_cpu_ns\":1.5e9}\n");
  REQUIRE(log.ticks.size() == 1);
  CHECK(log.ticks[0].tree_cpu_ns == 1'500'000'000);
}

TEST_CASE("issues of the tool travel with their severity and count") {
  const std::string line =
      "{\"kind\":\"issue\",\"id\":\"no-io\",\"severity\":\"error\",\"count\":2,\"detail\":\"d\",\"hint\":\"h\"}\n";
  const RunLog log = parse_run_log(line + line);
  REQUIRE(log.issues.size() == 1);
  CHECK(log.issues[0].id == "no-io");
  CHECK(log.issues[0].severity == Severity::error);
  CHECK(log.issues[0].count == 4);
}

TEST_CASE("a log that is not there is bad input, named") {
  const auto log = read_run_log("no/such/tool.jsonl");
  REQUIRE_FALSE(log.ok());
  CHECK(log.error().code == ErrorCode::bad_input);
  CHECK(log.error().what.find("no/such/tool.jsonl") != std::string::npos);
}

TEST_CASE("file systems by device; what is no number or no name is left out") {
  const RunLog log = parse_run_log(R"({"kind":"filesystems","types":{"65025":"ext4","40":"nfs4","no":"xfs","7":3}})"
                                   "\n"
                                   R"({"kind":"filesystems","types":[]})");
  CHECK(log.filesystems == std::map<std::uint64_t, std::string>{{65025, "ext4"}, {40, "nfs4"}});
}

TEST_CASE("what the kernel limited, and what it does not count") {
  const std::string begun =
      R"({"kind":"emulation","with":"kernel","settings":{"cpus":"1.5"},"disks":[{"disk":"259:0","name":"nvme0n1",)"
      R"("st_devs":[66306,66305]},7]})";
  const RunLog early = parse_run_log(begun + "\n");
  CHECK(early.emulation.with == "kernel");
  CHECK(early.emulation.disks == std::vector<std::string>{"259:0 nvme0n1"});
  CHECK(early.limited_devices == std::set<std::uint64_t>{66305, 66306});
  CHECK_FALSE(early.emulation.requests.has_value());
  CHECK_FALSE(early.emulation.hits.has_value());
  CHECK(early.emulation.waited.reason() == "the kernel does not say how long it holds reads back");
  CHECK(early.emulation.cpu_throttled.reason() ==
        "the run was cut off before the kernel was asked what a CPU quota took");
  const RunLog log = parse_run_log(
      begun + "\n" +
      R"({"kind":"emulation","with":"kernel","settings":{},"controls":["cpu.max 150000 100000"],"requests":3,)"
      R"("request_bytes":4096,"cpu_throttled_ns":2500000000})" +
      "\n");
  CHECK(log.bad_lines == 0);
  CHECK(log.emulation.controls == std::vector<std::string>{"cpu.max 150000 100000"});
  CHECK(log.emulation.requests.value_or(0) == 3);
  CHECK(log.emulation.request_bytes.value_or(Bytes(0.0)) == Bytes(4096.0));
  CHECK(log.emulation.cpu_throttled.value_or(Seconds(0.0)) == Seconds(2.5));
}

TEST_CASE("what a CPU quota took is absent where there was none, and where the kernel does not say") {
  const auto throttled = [](const std::string& control) {
    return parse_run_log(R"({"kind":"emulation","with":"kernel","controls":[")" + control +
                         R"("],"requests":3,"request_bytes":4096,"cpu_throttled_ns":null})")
        .emulation.cpu_throttled;
  };
  CHECK(throttled("io.max 259:0 rbps=20000000").reason() == "no CPU quota was set");
  CHECK(throttled("cpu.max 150000 100000").reason() ==
        "the kernel does not say how long the CPU quota held the job back");
}

TEST_CASE("what was emulated is known from the start of the run, and what became of it from its end") {
  const std::string begun = R"({"kind":"emulation","with":"interposer","settings":{"storage_latency":"1ms","odd":3}})";
  const RunLog early = parse_run_log(begun + "\n");
  CHECK(early.emulation.with == "interposer");
  CHECK(early.emulation.settings == std::map<std::string, std::string>{{"storage_latency", "1ms"}});
  CHECK(early.emulation.hit_bytes.reason() ==
        "the run was cut off before its reads at the emulated storage were counted");
  CHECK_FALSE(early.emulation.requests.has_value());
  const std::string ended =
      R"({"kind":"emulation","with":"interposer","settings":{"cache":"35%"},"hits":7,"misses":13,"hit_bytes":300,)"
      R"("miss_bytes":700,"requests":15,"request_bytes":4096,"waited_s":1.5,"late_s":0.25,"mapped_files":2})";
  const RunLog log = parse_run_log(begun + "\n" + ended + "\n");
  CHECK(log.bad_lines == 0);
  CHECK(log.emulation.hits.value_or(0) == 7);
  CHECK(log.emulation.misses.value_or(0) == 13);
  REQUIRE(log.emulation.hit_bytes.has_value());
  CHECK(*log.emulation.hit_bytes == doctest::Approx(0.3));
  CHECK(log.emulation.requests.value_or(0) == 15);
  CHECK(log.emulation.late.value_or(Seconds(0.0)) == Seconds(0.25));
  CHECK(log.emulation.mapped_files.value_or(0) == 2);
  CHECK(parse_run_log("").emulation.with == "nothing");
  const RunLog unread = parse_run_log(
      R"({"kind":"emulation","with":"interposer","settings":{"storage_latency":"1ms"},"hits":0,"misses":0,)"
      R"("hit_bytes":0,"miss_bytes":0,"requests":0})");
  CHECK(unread.emulation.hit_bytes.reason() == "no read met the emulated storage");
  CHECK(unread.emulation.hits.value_or(-1) == 0);
  const RunLog cpus = parse_run_log(R"({"kind":"emulation","with":"interposer","settings":{"cpus":"1"}})");
  CHECK(cpus.emulation.hit_bytes.reason() == "no storage is emulated");
}
