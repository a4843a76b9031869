/// The emulated hardware as the tool sees it: its file, its line in the log, what it says of itself in the end.
#include "probes/collect/emulation/emulation.hpp"

#include <doctest/doctest.h>
#include <sched.h>

#include <nlohmann/json.hpp>

#include "tests/collect/fake_root.hpp"

namespace stallcast::collect {
namespace {

using nlohmann::json;
using testing::FakeRoot;

EmulationOptions options() {
  EmulationOptions options;
  options.bandwidth = BytesPerSecond(20e6);
  options.items = {{"storage_bandwidth", "20MB/s"}};
  return options;
}

std::vector<std::string> issue_ids(const Emulation& emulation) {
  std::vector<std::string> ids;
  for (const DataIssue& issue : emulation.issues()) ids.push_back(issue.id);
  return ids;
}

TEST_CASE("its file is private, has its space, and is as large as what it emulates") {
  const FakeRoot folder;
  {
    const auto emulation = Emulation::create(folder.path(), options());
    REQUIRE(emulation.ok());
    CHECK(emulation.value().block().settings.ns_per_byte == doctest::Approx(50.0));
    CHECK(emulation.value().block().settings.most_units == 0);
  }
  const auto file = folder.path() / record::k_emulation_file;
  CHECK(testing::mode_of(file) == 0600);
  CHECK(std::filesystem::file_size(file) < 4096);
  CHECK_FALSE(Emulation::create(folder.path(), options()).ok());  // never over another run's
  CHECK_FALSE(Emulation::create(folder.path() / "missing", options()).ok());
  const FakeRoot other;
  EmulationOptions cached = options();
  cached.policy = record::EmulatedPolicy::lru;
  cached.cache_share = 0.35;
  const auto large = Emulation::create(other.path(), cached);
  REQUIRE(large.ok());
  CHECK(large.value().block().settings.most_units > 0);
  CHECK(std::filesystem::file_size(other.path() / record::k_emulation_file) ==
        record::emulation_bytes(large.value().block().settings));
}

TEST_CASE("it says where it does not hold, and only there") {
  const FakeRoot folder;
  auto emulation = std::move(Emulation::create(folder.path(), options())).value();
  CHECK(issue_ids(emulation) == std::vector<std::string>{"emulation-saw-no-read"});
  record::EmulationCounters& counters = emulation.block().counters;
  counters.requests = 100;
  counters.waited_ns = 10'000'000'000;
  counters.late_reads = 3;
  counters.late_ns = 100'000'000;
  CHECK(issue_ids(emulation).empty());
  counters.late_ns = 300'000'000;
  CHECK(issue_ids(emulation) == std::vector<std::string>{"emulation-too-fast"});
  counters.late_ns = 0;
  counters.hit_read_ns = 1'000'000'000;
  counters.stored_hits = 4;
  counters.stored_hit_ns = 500'000'000;
  counters.mapped_files = 1;
  counters.untracked_misses = 5;
  CHECK(issue_ids(emulation) == std::vector<std::string>{"emulated-cache-not-in-memory", "emulation-mapped-files",
                                                         "emulated-cache-table-full"});
}

TEST_CASE("its line has what was asked for, and in the end what became of it") {
  const FakeRoot folder;
  const auto emulation = std::move(Emulation::create(folder.path(), options())).value();
  const json begun = json::parse(to_line(options(), nullptr));
  CHECK(begun["kind"] == "emulation");
  CHECK(begun["settings"].size() == 1);
  CHECK(begun["settings"]["storage_bandwidth"] == "20MB/s");
  CHECK_FALSE(begun.contains("hits"));
  emulation.block().counters.misses = 7;
  emulation.block().counters.waited_ns = 1'500'000'000;
  const json ended = json::parse(to_line(options(), &emulation.block()));
  CHECK(ended["misses"] == 7);
  CHECK(ended["waited_s"].get<double>() == doctest::Approx(1.5));
}

}  // namespace
}  // namespace stallcast::collect
