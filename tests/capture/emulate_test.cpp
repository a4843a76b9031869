/// Emulated storage inside processes: who pays for which reads, by the counters of the storage.
#include <doctest/doctest.h>

#include "core/clock.hpp"
#include "probes/collect/emulation/emulation.hpp"
#include "tests/capture/phase_run.hpp"

namespace stallcast::test {
namespace {

using collect::Emulation;
using collect::EmulationOptions;

constexpr std::uint64_t k_ms = 1'000'000;
constexpr std::uint64_t k_pages_of_300000 = 303'104;

EmulationOptions fast() {
  EmulationOptions options;
  options.bandwidth = BytesPerSecond(1e15);
  options.read_ahead = Bytes(128.0 * 1024.0);
  return options;
}

EmulationOptions fast_with_cache(record::EmulatedPolicy policy, double share) {
  EmulationOptions options = fast();
  options.policy = policy;
  options.cache_share = share;
  return options;
}

/// A run with emulated storage.
struct EmulatedRun {
  explicit EmulatedRun(const EmulationOptions& options)
      : emulation(std::move(Emulation::create(run.folder().path(), options)).value()) {}

  [[nodiscard]] const record::EmulationCounters& counters() const { return emulation.block().counters; }

  PhasedRun run{};
  Emulation emulation;
};

TEST_CASE("read, fread and pread pay for the same pages, in the page cache's own requests") {
  const TemporaryFolder folder;
  const auto file = make_file(folder.path(), "a", 300'000);
  struct Case {
    std::vector<std::string> commands;
    std::uint64_t bytes;
    std::uint64_t requests;
  };
  const std::string path = file.string();
  const std::vector<Case> cases{
      {{"read:" + path}, k_pages_of_300000, 3},                       // 128 + 128 + 40 KiB
      {{"fopen:" + path}, k_pages_of_300000, 4},                      // 32 + 64 + 128 + 72
      {{"keep:" + path, "pread:0:300000"}, k_pages_of_300000, 1},     // at once
      {{"keep:" + path, "pread:0:100", "pread:100:100"}, 16'384, 1},  // read ahead
      {{"keep:" + path, "pread:150000:100"}, 4096, 1},                // nothing ahead in the middle
      {{"keep:" + path, "pread:0:0", "pread:300000:10"}, 0, 0},       // nothing was read
      {{"sized:" + path}, k_pages_of_300000, 2},                      // the last page, and all else
      {{"dup:" + path}, k_pages_of_300000, 5},                        // 16 KiB, then through the duplicate
      {{"stream:" + path, "fread:100", "fread:100"}, 16'384, 1},      // the second from libc's buffer
  };
  for (const Case& one : cases) {
    CAPTURE(one.commands.back());
    EmulatedRun run(fast());
    const auto lines = run.run.guest(one.commands);
    CHECK(run.counters().request_bytes.load() == one.bytes);
    CHECK(run.counters().requests.load() == one.requests);
    CHECK(run.counters().misses.load() == (one.bytes != 0 ? 1 : 0));
    if (one.commands.size() == 1) CHECK(lines.at(0) == line_of(read_file(file)));
  }
}

TEST_CASE("a large file is cached and fetched range by range") {
  const TemporaryFolder folder;
  const auto file = make_file(folder.path(), "shard", 9U << 20U);
  EmulatedRun run(fast_with_cache(record::EmulatedPolicy::minio, 0.5));
  run.run.guest({"read:" + file.string()});
  const record::EmulationCounters& counters = run.counters();
  CHECK(counters.hits.load() + counters.misses.load() == 72);
  CHECK(counters.hit_bytes.load() + counters.miss_bytes.load() == 9U << 20U);
  CHECK(counters.request_bytes.load() == counters.misses.load() * 128 * 1024);
  CHECK(counters.hits.load() >= 34);
  CHECK(counters.hits.load() <= 38);
}

TEST_CASE("who misses waits, all processes of the job together") {
  const TemporaryFolder folder;
  const auto file = make_file(folder.path(), "a", 300'000);
  EmulationOptions options;
  options.bandwidth = BytesPerSecond(2e6);
  EmulatedRun run(options);
  const std::uint64_t begin_ns = monotonic_ns();
  const std::string read = "read:" + file.string();
  run.run.guest({read, read, "fork", read, read});
  // Two in the parent, two more in the child; 151 ms each, less what may go at once.
  const std::uint64_t spoken_for_ns = run.emulation.block().bytes_clock_ns.load() - begin_ns;
  CHECK(spoken_for_ns >= 4 * 151 * k_ms);
  CHECK(run.counters().request_bytes.load() == 4 * k_pages_of_300000);
  CHECK(monotonic_ns() - begin_ns >= 500 * k_ms);
}

TEST_CASE("latency is paid by each read that goes to storage, and by no other") {
  const TemporaryFolder folder;
  EmulationOptions options;
  options.latency = Seconds(0.01);
  EmulatedRun run(options);
  std::vector<std::string> commands;
  for (int i = 0; i < 5; ++i) {
    const auto file = make_file(folder.path(), std::to_string(i), 1000);
    commands.insert(commands.end(), {"keep:" + file.string(), "pread:0:500", "pread:500:500"});
  }
  const std::uint64_t begin_ns = monotonic_ns();
  run.run.guest(commands);
  CHECK(run.counters().waited_ns.load() == 5 * 10 * k_ms);
  CHECK(monotonic_ns() - begin_ns >= 45 * k_ms);
}

TEST_CASE("what the emulated cache holds costs nothing") {
  const TemporaryFolder folder;
  EmulationOptions options;
  options.latency = Seconds(3600.0);
  options.policy = record::EmulatedPolicy::minio;
  options.cache_share = 1.0;
  EmulatedRun run(options);
  const auto file = make_file(folder.path(), "a", 300'000);
  run.run.guest({"read:" + file.string(), "fopen:" + file.string()});
  CHECK(run.counters().hits.load() == 2);
  CHECK(run.counters().hit_bytes.load() == 600'000);
  CHECK(run.counters().requests.load() == 0);
}

TEST_CASE("code is not data") {
  const TemporaryFolder folder;
  EmulatedRun run(fast());
  std::filesystem::create_directories(folder.path() / "site-packages");
  const auto code = make_file(folder.path(), "a.py", 1000);
  const auto table = make_file(folder.path() / "site-packages", "table", 1000);
  run.run.guest({"read:" + code.string(), "read:" + table.string(), "read:/etc/passwd", "read:/proc/self/stat"});
  CHECK(run.counters().misses.load() == 0);
  const auto issues = run.emulation.issues();
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].id == "emulation-saw-no-read");
}

TEST_CASE("maps go past it, which is counted and said") {
  const TemporaryFolder folder;
  EmulatedRun run(fast());
  const auto file = make_file(folder.path(), "a", 300'000);
  run.run.guest({"mmap:" + file.string(), "read:" + file.string()});
  CHECK(run.counters().mapped_files.load() == 1);
  CHECK(run.counters().mapped_bytes.load() == 300'000);
  const auto issues = run.emulation.issues();
  REQUIRE(!issues.empty());
  CHECK(issues.back().id == "emulation-mapped-files");
}

TEST_CASE("a cold batch pays for everything, a cached one for nothing, and neither changes the cache") {
  const TemporaryFolder folder;
  const auto file = make_file(folder.path(), "a", 300'000);
  const std::string read = "read:" + file.string();
  EmulatedRun run(fast_with_cache(record::EmulatedPolicy::minio, 1.0));
  run.run.guest({begin(Phase::cold, 0, 0, 0), read, "end", begin(Phase::cached, 1, 0, 1), read, "end"});
  const record::EmulationCounters& counters = run.counters();
  CHECK(counters.cold_misses.load() == 1);
  CHECK(counters.staged_hits.load() == 1);
  CHECK(counters.hits.load() + counters.misses.load() == 0);
  CHECK(counters.request_bytes.load() == k_pages_of_300000);
  CHECK(run.emulation.block().seen_bytes.load() == 0);
  const auto evidence = run.run.evidence();
  REQUIRE(evidence.size() == 2);
  CHECK(evidence[0].storage_bytes == 300'000);
  CHECK(evidence[0].resident_bytes == 0);
  CHECK(evidence[0].evicted_bytes == 0);
  CHECK(evidence[1].storage_bytes == 0);
  CHECK(evidence[1].resident_bytes == 300'000);
}

TEST_CASE("half-cached batches pay for their cold half") {
  const TemporaryFolder folder;
  EmulatedRun run(fast());
  std::vector<std::string> commands{begin(Phase::half_cached, 0, 0, 0, 0, 3)};
  for (int i = 0; i < 64; ++i) {
    commands.push_back("read:" + make_file(folder.path(), std::to_string(i), 5000).string());
  }
  commands.emplace_back("end");
  run.run.guest(commands);
  const std::uint64_t cold = run.counters().cold_misses.load();
  CHECK(cold + run.counters().staged_hits.load() == 64);
  CHECK(cold >= 12);
  CHECK(cold <= 52);
  const auto evidence = run.run.evidence();
  REQUIRE(evidence.size() == 1);
  CHECK(evidence[0].storage_bytes == cold * 5000);
  CHECK(evidence[0].resident_bytes == (64 - cold) * 5000);
}

TEST_CASE("without emulation nothing is there to be asked") {
  const TemporaryFolder folder;
  PhasedRun run;
  const auto file = make_file(folder.path(), "a", 300'000);
  CHECK(run.guest({"read:" + file.string()}).at(0) == line_of(read_file(file)));
  CHECK(!std::filesystem::exists(run.folder().path() / record::k_emulation_file));
}

}  // namespace
}  // namespace stallcast::test
