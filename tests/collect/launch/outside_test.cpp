/// The small parts with which the tool meets the world: launching, signals, rank slots, the cost of a resident read.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "probes/collect/launch/launch.hpp"
#include "probes/collect/launch/signal_gate.hpp"
#include "probes/collect/pages/fresh_page.hpp"
#include "probes/collect/pages/resident_read.hpp"
#include "probes/collect/run/rank_reading.hpp"
#include "tests/collect/fake_root.hpp"

namespace stallcast::collect {
namespace {

using testing::FakeRoot;
using testing::slurp;

int end_of(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

sigset_t no_signals() {
  sigset_t none;
  sigemptyset(&none);
  return none;
}

TEST_CASE("a command runs with the environment and the signal mask that it is given") {
  FakeRoot root;
  const std::string file = (root.path() / "said").string();
  const Launched launched = launch({"sh", "-c", "echo $GREETING > " + file + "; exit 7"},
                                   {"GREETING=hello", "PATH=/usr/bin:/bin"}, no_signals());
  REQUIRE(launched.pid > 0);
  CHECK(end_of(launched.pid) == 7);
  CHECK(slurp(file) == "hello\n");
}

TEST_CASE("what cannot be started: 127 if it is not there, 126 if it cannot be executed") {
  FakeRoot root;
  root.put("plain", "no program");
  const Launched absent = launch({(root.path() / "absent").string()}, {}, no_signals());
  CHECK(absent.pid == -1);
  CHECK(absent.exit_code == 127);
  CHECK_FALSE(absent.reason.empty());
  CHECK(launch({(root.path() / "plain").string()}, {}, no_signals()).exit_code == 126);
  CHECK(launch({root.path().string()}, {}, no_signals()).exit_code == 126);
}

TEST_CASE("a command joins its control groups before it begins, or does not begin") {
  FakeRoot root;
  root.put("cgroup.procs", "");
  const std::string procs = (root.path() / "cgroup.procs").string();
  const int group = open(procs.c_str(), O_WRONLY | O_CLOEXEC);
  const int closed = open(procs.c_str(), O_RDONLY | O_CLOEXEC);  // which takes no process
  const Launched joined = launch({"/bin/sh", "-c", "exit 7"}, {}, no_signals(), false, {&group, 1});
  REQUIRE(joined.pid > 0);
  CHECK(end_of(joined.pid) == 7);
  CHECK(slurp(procs) == "0");
  const Launched refused = launch({"/bin/sh", "-c", "exit 7"}, {}, no_signals(), false, {&closed, 1});
  CHECK(refused.pid == -1);
  CHECK(refused.exit_code == 125);
  CHECK(refused.reason == "it could not join its control groups: Bad file descriptor");
  const Launched absent = launch({(root.path() / "absent").string()}, {}, no_signals(), false, {&group, 1});
  CHECK(absent.exit_code == 127);
  CHECK(absent.reason == "No such file or directory");
  close(group);
  close(closed);
}

TEST_CASE("what could not even be tried did not fail to join its control groups") {
  FakeRoot root;
  root.put("cgroup.procs", "");
  const int group = open((root.path() / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{1, before.rlim_max};  // no further file: no pipe to the child
  setrlimit(RLIMIT_NOFILE, &none);
  const Launched launched = launch({"/bin/sh", "-c", "exit 7"}, {}, no_signals(), false, {&group, 1});
  setrlimit(RLIMIT_NOFILE, &before);
  CHECK(launched.pid == -1);
  CHECK(launched.exit_code == 125);
  CHECK(launched.reason == "no process could be started for it: Too many open files");
  close(group);
}

TEST_CASE("signals wait behind the gate, and are gone when it opens") {
  sigset_t before;
  sigprocmask(SIG_SETMASK, nullptr, &before);
  {
    SignalGate gate;
    CHECK(sigismember(&gate.original_mask(), SIGTERM) == sigismember(&before, SIGTERM));
    CHECK_FALSE(gate.next().has_value());
    kill(getpid(), SIGTERM);
    const auto signal = gate.next();
    REQUIRE(signal.has_value());
    CHECK(signal->ssi_signo == SIGTERM);
    CHECK(signal->ssi_pid == static_cast<std::uint32_t>(getpid()));
    CHECK(sent_to_us_alone(*signal));
    kill(getpid(), SIGINT);  // would end this test if it were delivered when the gate opens
  }
  sigset_t after;
  sigprocmask(SIG_SETMASK, nullptr, &after);
  CHECK(sigismember(&after, SIGTERM) == sigismember(&before, SIGTERM));
}

TEST_CASE("the terminal's own signals are not passed on") {
  signalfd_siginfo from_terminal{};
  from_terminal.ssi_code = SI_KERNEL;
  CHECK_FALSE(sent_to_us_alone(from_terminal));
  CHECK(asks_to_end(SIGINT));
  CHECK(asks_to_end(SIGHUP));
  CHECK_FALSE(asks_to_end(SIGUSR1));
}

TEST_CASE("only claimed slots are read") {
  const auto control = std::make_unique<record::ControlBlock>();
  CHECK(read_ranks(*control).empty());
  record::RankSlot& slot = control->ranks[5];
  slot.pid.store(4711);
  slot.rank.store(2);
  slot.batches.store(10);
  slot.samples.store(320);
  slot.waited_ns.store(77);
  slot.steps.store(9);
  slot.state.store(static_cast<std::uint32_t>(record::RankState::finished));
  const auto readings = read_ranks(*control);
  REQUIRE(readings.size() == 1);
  CHECK(readings[0].slot == 5);
  CHECK(readings[0].pid == 4711);
  CHECK(readings[0].rank == 2);
  CHECK(readings[0].batches == 10);
  CHECK(readings[0].samples == 320);
  CHECK(readings[0].waited_ns == 77);
  CHECK(readings[0].steps == 9);
  CHECK(std::string(rank_state_name(readings[0].state)) == "finished");
}

TEST_CASE("a fresh page of memory costs between a tenth and a hundred microseconds") {
  const auto seconds = measure_fresh_page();
  REQUIRE(seconds.has_value());
  CHECK(*seconds > 1e-7);
  CHECK(*seconds < 1e-4);
}

TEST_CASE("a resident read costs something, and measuring it leaves nothing behind") {
  FakeRoot root;
  const auto cost = measure_resident_read(root.path());
  REQUIRE(cost.has_value());
  CHECK(cost->seconds_per_byte > 0.0);
  CHECK(cost->seconds_per_call >= 0.0);
  CHECK(std::filesystem::is_empty(root.path()));
  CHECK_FALSE(measure_resident_read(root.path() / "nowhere").has_value());
}

}  // namespace
}  // namespace stallcast::collect
