#include "probes/collect/system/machine_cpu.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/collect/fake_root.hpp"

namespace stallcast::collect {
namespace {

using testing::FakeRoot;

constexpr const char* k_stat =
    "cpu  900 0 90 4000 40 0 9 7 0 0\n"
    "cpu0 100 0 10 1000 10 0 1 2 0 0\n"
    "cpu1 800 0 80 3000 30 0 8 5 0 0\n"
    "intr 12345 0 0\n"
    "ctxt 99\n";

TEST_CASE("idle and stolen time of the CPUs that were asked for, in nanoseconds") {
  const auto both = parse_machine_cpu(k_stat, {0, 1});
  REQUIRE(both.has_value());
  const std::uint64_t tick = 1'000'000'000ULL / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  CHECK(both->cpus == 2);
  CHECK(both->idle_ns == 4040 * tick);
  CHECK(both->stolen_ns == 7 * tick);
  CHECK(parse_machine_cpu(k_stat, {1})->idle_ns == 3030 * tick);
}

TEST_CASE("a CPU that is not listed leaves the whole unknown") {
  CHECK_FALSE(parse_machine_cpu(k_stat, {0, 2}).has_value());
  CHECK_FALSE(parse_machine_cpu(k_stat, {}).has_value());
  CHECK_FALSE(parse_machine_cpu("cpu0 1 2 3\n", {0}).has_value());
  CHECK_FALSE(parse_machine_cpu("cpu0 100 0 10 many 10 0 1 2\n", {0}).has_value());
  CHECK_FALSE(MachineCpuReader(FakeRoot().path()).read().has_value());
}

TEST_CASE("the CPUs that this process may use") {
  FakeRoot root;
  root.put("proc/stat", k_stat).put("proc/self/status", "Name:\tx\nCpus_allowed_list:\t1\n");
  const auto seen = MachineCpuReader(root.path()).read();
  REQUIRE(seen.has_value());
  CHECK(seen->cpus == 1);
}

TEST_CASE("real CPUs are idle for no longer than time goes by") {
  const MachineCpuReader reader("/");
  const auto before = reader.read();
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const auto after = reader.read();
  const auto passed = std::chrono::steady_clock::now() - begin;
  REQUIRE(before.has_value());
  REQUIRE(after.has_value());
  const auto most = static_cast<std::uint64_t>(std::chrono::nanoseconds(passed).count() + 20'000'000) *
                    static_cast<std::uint64_t>(after->cpus);
  CHECK(after->idle_ns - before->idle_ns <= most);
}

}  // namespace
}  // namespace stallcast::collect
