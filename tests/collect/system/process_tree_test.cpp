#include "probes/collect/system/process_tree.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/collect/fake_root.hpp"

namespace stallcast::collect {
namespace {

using testing::FakeRoot;

constexpr std::uint64_t k_tick_ns = 10'000'000;

/// A stat line: `cpu` and `children` in clock ticks.
std::string stat_line(int pid, const std::string& name, int parent, int cpu, int children, int start) {
  return std::to_string(pid) + " (" + name + ") S " + std::to_string(parent) + " 1 1 0 -1 4194304 100 0 7 0 " +
         std::to_string(cpu) + " 0 " + std::to_string(children) + " 0 20 0 3 0 " + std::to_string(start) +
         " 123456 50 18446744073709551615 0 0\n";
}

void put_process(const FakeRoot& root, int pid, int parent, int cpu, int children = 0, int start = 1000) {
  root.put(std::to_string(pid) + "/stat", stat_line(pid, "worker", parent, cpu, children, start));
}

TEST_CASE("a stat line whose name tries to confuse") {
  const auto stat = parse_stat(stat_line(42, "a) R 1 (b", 7, 300, 20, 99));
  REQUIRE(stat.has_value());
  CHECK(stat->name == "a) R 1 (b");
  CHECK(stat->state == 'S');
  CHECK(stat->parent_pid == 7);
  CHECK(stat->own_cpu_ns == 300 * k_tick_ns);
  CHECK(stat->children_cpu_ns == 20 * k_tick_ns);
  CHECK(stat->start_ticks == 99);
  CHECK(stat->minor_faults == 100);
  CHECK(stat->major_faults == 7);
  CHECK(stat->rss_bytes == 50 * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
  CHECK_FALSE(parse_stat("42 (cut").has_value());
  CHECK_FALSE(parse_stat("42 (x) S 1 2").has_value());
  CHECK_FALSE(parse_stat("").has_value());
}

TEST_CASE("descendants are found whatever the order of their pids") {
  FakeRoot root;
  put_process(root, 100, 50, 0);  // ours
  put_process(root, 30, 100, 0);  // child with a smaller pid
  put_process(root, 20, 30, 0);   // grandchild
  put_process(root, 40, 1, 0);    // somebody else's
  ProcessTree tree(ProcessReader(root.path()), 50);
  tree.discover();
  REQUIRE(tree.processes().size() == 3);
  CHECK(tree.processes()[0].pid == 100);
  CHECK(tree.processes()[1].pid == 30);
  CHECK(tree.processes()[2].pid == 20);
  CHECK_FALSE(tree.contains(40));
}

TEST_CASE("the sum stays the same when a worker ends and its parent waits for it") {
  FakeRoot root;
  put_process(root, 100, 50, 1000, 100);
  put_process(root, 101, 100, 300);
  ProcessTree tree(ProcessReader(root.path()), 50);
  tree.discover();
  tree.measure_cpu();
  CHECK(tree.cpu_ns() == 1400 * k_tick_ns);
  std::filesystem::remove_all(root.path() / "101");
  put_process(root, 100, 50, 1000, 400);
  tree.measure_cpu();
  CHECK(tree.cpu_ns() == 1400 * k_tick_ns);
  CHECK(tree.processes().size() == 1);
}

TEST_CASE("what we reap stays in the sum") {
  FakeRoot root;
  put_process(root, 100, 50, 1000);
  put_process(root, 101, 50, 200);
  ProcessTree tree(ProcessReader(root.path()), 50);
  tree.discover();
  tree.measure_cpu();
  tree.add_reaped(101, 230 * k_tick_ns, IoCounters{5000, 6000});
  root.put("100/io", "rchar: 10\nwchar: 0\nsyscr: 1\nsyscw: 0\nread_bytes: 4096\nwrite_bytes: 0\n");
  tree.measure_cpu();
  tree.measure_details(false);
  CHECK(tree.cpu_ns() == 1230 * k_tick_ns);
  CHECK(tree.read_bytes().value() == 9096);
}

TEST_CASE("a pid that is used again is another process") {
  FakeRoot root;
  put_process(root, 100, 50, 500, 0, 1000);
  ProcessTree tree(ProcessReader(root.path()), 50);
  tree.discover();
  tree.measure_cpu();
  put_process(root, 100, 1, 9000, 0, 2000);
  tree.measure_cpu();
  CHECK(tree.processes().empty());
  CHECK(tree.cpu_ns() == 500 * k_tick_ns);
}

TEST_CASE("no /proc/PID/io: absent and counted") {
  FakeRoot root;
  put_process(root, 100, 50, 1);
  ProcessTree tree(ProcessReader(root.path()), 50);
  tree.discover();
  tree.measure_cpu();
  tree.measure_details(true);
  CHECK(tree.without_io() == 1);
  CHECK_FALSE(tree.read_bytes().has_value());
  CHECK_FALSE(tree.processes()[0].io.has_value());
  CHECK_FALSE(tree.processes()[0].proportional.has_value());
  root.put("100/io", "rchar: 9\nread_bytes: 512\n")
      .put("100/smaps_rollup", "00-ff ---p\nRss: 9 kB\nPss:  8 kB\nPss_Anon: 5 kB\n");
  root.put("100/status", "Name:\tx\nVmSwap:\t      12 kB\nCpus_allowed:\t34\nCpus_allowed_list:\t2,4-5\n");
  root.put("100/schedstat", "1 777 3\n").put("100/statm", "100 40 10 1 0 5 0\n");
  tree.measure_details(true);
  CHECK(tree.read_bytes().value() == 512);
  REQUIRE(tree.processes()[0].proportional.has_value());
  CHECK(tree.processes()[0].proportional->bytes == 8192);
  CHECK(tree.processes()[0].proportional->anonymous_bytes.value() == 5120);
  REQUIRE(tree.processes()[0].status.has_value());
  CHECK(tree.processes()[0].status->cpus == "2,4-5");
  CHECK(tree.processes()[0].status->swap_bytes == 12288);
  CHECK(tree.processes()[0].run_delay_ns.value() == 777);
  CHECK(tree.processes()[0].anonymous_bytes.value() == 30 * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
  tree.measure_details(false);
  CHECK_FALSE(tree.processes()[0].proportional.has_value());  // not a copy of the reading before
}

TEST_CASE("a kernel that does not divide the proportional set, and a status without swap") {
  FakeRoot root;
  root.put("100/smaps_rollup", "00-ff ---p\nPss:  8 kB\n").put("100/status", "Cpus_allowed_list:\t0-1\n");
  const ProcessReader reader(root.path());
  CHECK_FALSE(reader.proportional(100)->anonymous_bytes.has_value());
  CHECK(reader.status(100)->swap_bytes == 0);
  CHECK_FALSE(parse_status("Name:\tx\n").has_value());
}

TEST_CASE("a variable's name in an environment, never its value") {
  FakeRoot root;
  root.put("100/environ", std::string("A=1\0STALLCAST_RUN_DIR=/x\0B=2\0", 29));
  const ProcessReader reader(root.path());
  CHECK(reader.has_variable(100, "STALLCAST_RUN_DIR").value());
  CHECK_FALSE(reader.has_variable(100, "STALLCAST_RUN").value());
  CHECK_FALSE(reader.has_variable(101, "A").has_value());
}

TEST_CASE("a real child: found, its CPU clock runs, and it is gone after the wait") {
  pid_t child = 0;
  char name[] = "sh";
  char flag[] = "-c";
  char script[] = "while :; do :; done";
  char* arguments[] = {name, flag, script, nullptr};
  REQUIRE(posix_spawnp(&child, name, nullptr, nullptr, arguments, environ) == 0);
  ProcessTree tree(ProcessReader("/proc"), getpid());
  std::uint64_t cpu = 0;
  while (cpu == 0) {  // it will get its turn
    tree.discover();
    tree.measure_cpu();
    cpu = tree.cpu_ns();
  }
  CHECK(tree.contains(child));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  tree.measure_cpu();
  CHECK_FALSE(tree.contains(child));
  CHECK(tree.cpu_ns() >= cpu);
}

}  // namespace
}  // namespace stallcast::collect
