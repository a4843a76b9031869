#include "model/scenario/scenario.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "model/scenario/nearest_word.hpp"

namespace stallcast {
namespace {

using Words = std::vector<std::string>;

Error error_of(const Words& settings) {
  const auto scenario = parse_scenario(settings);
  REQUIRE_FALSE(scenario.ok());
  return scenario.error();
}

bool scenario_says(const Error& error, const char* words) {
  return (error.what + " / " + error.hint).find(words) != std::string::npos;
}

TEST_CASE("every key with its unit") {
  const auto parsed =
      parse_scenario(Words{"cache=35%", "cache_policy=minio", "cpus=1.5", "workers=4", "prefetch=8", "batch=64",
                           "gpu_speedup=2x", "storage_bandwidth=25Gbit/s", "storage_latency=1.5ms"});
  REQUIRE(parsed.ok());
  const Scenario& scenario = parsed.value();
  CHECK(*scenario.cache_fraction == doctest::Approx(0.35));
  CHECK(*scenario.cache_policy == CachePolicy::minio);
  CHECK(*scenario.cpus == 1.5);
  CHECK(*scenario.workers == 4);
  CHECK(*scenario.prefetch == 8);
  CHECK(*scenario.batch == 64);
  CHECK(*scenario.gpu_speedup == 2.0);
  CHECK(scenario.storage_bandwidth->value() == doctest::Approx(3.125e9));
  CHECK(scenario.storage_latency->value() == doctest::Approx(0.0015));
  REQUIRE(scenario.items.size() == 9);
  CHECK(scenario.items.front().key == "cache");
  CHECK(scenario.items.front().value == "35%");
}

TEST_CASE("every key that asks beyond the machine") {
  const auto parsed = parse_scenario(
      Words{"nodes=4", "gpus_per_node=8", "network_bandwidth=25Gbit/s", "network_latency=1us",
            "shared_storage_bandwidth=1GB/s", "shared_storage_files_per_s=20k/s", "shared_storage_metadata_per_s=50k/s",
            "shared_storage_contention=2%", "shared_storage_coherence=0.001", "prep_cpus=64", "gradients=100MB",
            "jobs=2", "coordinated_prep=on", "echo=2", "cache_policy=locality"});
  REQUIRE(parsed.ok());
  const Scenario& scenario = parsed.value();
  CHECK(*scenario.nodes == 4);
  CHECK(*scenario.gpus_per_node == 8);
  CHECK(scenario.network_bandwidth->value() == doctest::Approx(3.125e9));
  CHECK(scenario.network_latency->value() == doctest::Approx(1e-6));
  CHECK(scenario.shared_storage_bandwidth->value() == doctest::Approx(1e9));
  CHECK(scenario.shared_storage_files_per_s->value() == doctest::Approx(20e3));
  CHECK(scenario.shared_storage_metadata_per_s->value() == doctest::Approx(50e3));
  CHECK(*scenario.prep_cpus == 64.0);
  CHECK(*scenario.shared_storage_contention == doctest::Approx(0.02));
  CHECK(*scenario.shared_storage_coherence == doctest::Approx(0.001));
  CHECK(*parse_scenario(Words{"shared_storage_contention=0"}).value().shared_storage_contention == 0.0);
  CHECK(scenario.gradients->value() == doctest::Approx(100e6));
  CHECK(*scenario.jobs == 2);
  CHECK(*scenario.coordinated_prep);
  CHECK(*scenario.echo == 2.0);
  CHECK(*scenario.cache_policy == CachePolicy::locality);
  for (const ScenarioItem& item : scenario.items) CHECK(asks_beyond_machine(item.key) == (item.key != "cache_policy"));
  CHECK(parse_scenario(Words{"coordinated_prep=off"}).value().coordinated_prep == false);
}

TEST_CASE("a cache may be a size") {
  const auto parsed = parse_scenario(Words{"cache=100GiB"});
  REQUIRE(parsed.ok());
  CHECK_FALSE(parsed.value().cache_fraction.has_value());
  CHECK(parsed.value().cache_size->value() == doctest::Approx(100.0 * 1073741824.0));
}

TEST_CASE("an unknown key names the nearest one") {
  CHECK(scenario_says(error_of({"worker=4"}), "did you mean 'workers'?"));
  CHECK(scenario_says(error_of({"storage-bandwidth=1GB/s"}), "did you mean 'storage_bandwidth'?"));
  CHECK(scenario_says(error_of({"gpu_sepedup=2"}), "did you mean 'gpu_speedup'?"));
  CHECK(scenario_says(error_of({"bandwith=3"}), "did you mean one of storage_bandwidth, "));
  CHECK(scenario_says(error_of({"echoes_of_light=3"}), "keys: cache, "));
  CHECK(scenario_says(error_of({"colour=blue"}), "keys: cache"));
  CHECK(error_of({"worker=4"}).code == ErrorCode::usage);
}

TEST_CASE("every key of how the data lies") {
  const auto parsed = parse_scenario(Words{"storage_iops=10k/s", "layout=shards:4MiB", "metadata=snapshot",
                                           "staging=overlap", "local_disk_bandwidth=2GB/s", "local_disk=1TB"});
  REQUIRE(parsed.ok());
  const Scenario& scenario = parsed.value();
  CHECK(scenario.storage_iops->value() == doctest::Approx(10e3));
  CHECK(*scenario.in_shards);
  CHECK(scenario.shard.value() == 4194304.0);
  CHECK(*scenario.metadata_snapshot);
  CHECK(*scenario.staging == Staging::overlap);
  CHECK(scenario.local_disk_bandwidth->value() == doctest::Approx(2e9));
  CHECK(scenario.local_disk->value() == doctest::Approx(1e12));
  for (const ScenarioItem& item : scenario.items) CHECK_FALSE(asks_beyond_machine(item.key));
  CHECK(parse_scenario(Words{"staging=before"}).value().staging == Staging::before);
  CHECK(parse_scenario(Words{"staging=none"}).value().staging == Staging::none);
  CHECK(parse_scenario(Words{"layout=files"}).value().in_shards == false);
  CHECK(parse_scenario(Words{"metadata=remote"}).value().metadata_snapshot == false);
  const auto grid = parse_grid(Words{}, Words{"layout=files,shards:1MiB,shards:64MiB", "staging=none,before"});
  REQUIRE(grid.ok());
  CHECK(grid.value().size() == 6);
}

TEST_CASE("a change of an operator, or a layout, that cannot be says what to write") {
  const std::string change =
      "write for example operator=Resize:x2, operator=Resize:off, or operator=Resize:gpu20 on the accelerator";
  CHECK(error_of({"operator=Resize"}).hint == change);
  CHECK(error_of({"operator=:x2"}).hint == change);
  CHECK(error_of({"operator=Resize:fast"}).hint == change);
  CHECK(error_of({"operator=Resize:x2+Resize:x4"}).hint == "change each operator once");
  const std::string layout = "write layout=files, or layout=shards:4MiB with the size of a shard";
  CHECK(error_of({"layout=tar"}).hint == layout);
  CHECK(error_of({"layout=shards"}).hint == layout);
  CHECK(error_of({"layout=files:4MiB"}).hint == layout);
  CHECK(error_of({"metadata=here"}).hint != layout);
}

TEST_CASE("bad values of how the data lies say what to write") {
  CHECK(scenario_says(error_of({"layout=shards"}), "layout=shards:4MiB"));
  CHECK(scenario_says(error_of({"layout=shards:0B"}), "layout=shards:4MiB"));
  CHECK(scenario_says(error_of({"layout=files:4MiB"}), "layout=files"));
  CHECK(scenario_says(error_of({"layout=shard:4MiB"}), "did you mean 'shards'?"));
  CHECK(scenario_says(error_of({"layout=tar"}), "layout=shards:4MiB"));
  CHECK(scenario_says(error_of({"metadata=snapshots"}), "did you mean 'snapshot'?"));
  CHECK(scenario_says(error_of({"metadata=here"}), "metadata=snapshot"));
  CHECK(scenario_says(error_of({"staging=overlapped"}), "did you mean 'overlap'?"));
  CHECK(scenario_says(error_of({"staging=foo"}), "staging=overlap"));
  CHECK(scenario_says(error_of({"storage_iops=500"}), "/s"));
  CHECK(scenario_says(error_of({"stagin=before"}), "did you mean 'staging'?"));
  CHECK(scenario_says(error_of({"meta_data=remote"}), "did you mean 'metadata'?"));
}

// Long by its list: one value that cannot be, or several, for each key.
TEST_CASE("values that cannot be are refused") {
  for (const char* setting : {"cache=120%",
                              "cache=-5%",
                              "cache=35",
                              "cache=",
                              "=4",
                              "workers",
                              "workers=-1",
                              "workers=2.5",
                              "workers=4000",
                              "workers=4x",
                              "prefetch=0",
                              "batch=0",
                              "cpus=0",
                              "cpus=-2",
                              "cpus=4x",
                              "cpus=nan",
                              "gpu_speedup=0",
                              "gpu_speedup=-1",
                              "gpu_speedup=1e9",
                              "storage_bandwidth=-1MB/s",
                              "storage_bandwidth=500",
                              "storage_bandwidth=500MB",
                              "storage_latency=5",
                              "storage_latency=-1ms",
                              "cache_policy=fifo",
                              "storage_iops=500",
                              "storage_iops=-5/s",
                              "storage_iops=0/s",
                              "layout=shards",
                              "layout=shards:",
                              "layout=shards:0",
                              "layout=shards:0B",
                              "layout=shards:4",
                              "layout=shards:-4MiB",
                              "layout=files:4MiB",
                              "layout=:4MiB",
                              "metadata=local",
                              "staging=foo",
                              "local_disk=1",
                              "local_disk_bandwidth=2GB",
                              "nodes=0",
                              "nodes=2.5",
                              "gpus_per_node=0",
                              "network_bandwidth=25",
                              "network_latency=-1us",
                              "shared_storage_files_per_s=20000",
                              "shared_storage_metadata_per_s=20000",
                              "shared_storage_contention=-1%",
                              "shared_storage_contention=1.5",
                              "shared_storage_coherence=2x",
                              "prep_cpus=0",
                              "prep_cpus=2x",
                              "operator=Resize:gpu",
                              "operator=Resize:gpu0",
                              "gradients=100",
                              "jobs=0",
                              "coordinated_prep=yes",
                              "echo=0.5",
                              "echo=1e9",
                              "cpus=inf"}) {
    CAPTURE(setting);
    CHECK(error_of({setting}).code == ErrorCode::usage);
  }
  CHECK(scenario_says(error_of({"storage_bandwidth=500"}), "500MB/s"));
  CHECK(scenario_says(error_of({"cache=35"}), "35% or 100GiB"));
  CHECK(scenario_says(error_of({"cache_policy=page_cache"}), "did you mean 'page-cache'?"));
}

TEST_CASE("settings that contradict each other, or come twice") {
  CHECK(scenario_says(error_of({"workers=0", "prefetch=4"}), "prefetch"));
  CHECK(scenario_says(error_of({"workers=2", "workers=4"}), "set twice"));
  CHECK(parse_scenario(Words{"workers=0"}).ok());
}

TEST_CASE("sweeps make every combination, the last one fastest") {
  const auto grid = parse_grid(Words{"gpu_speedup=2"}, Words{"workers=1,2", "cache=0%,50%,100%"});
  REQUIRE(grid.ok());
  REQUIRE(grid.value().size() == 6);
  CHECK(*grid.value()[0].workers == 1);
  CHECK(*grid.value()[1].cache_fraction == 0.5);
  CHECK(*grid.value()[1].workers == 1);
  CHECK(*grid.value()[5].workers == 2);
  CHECK(*grid.value()[5].gpu_speedup == 2.0);
  CHECK(grid.value()[5].items.size() == 3);
}

TEST_CASE("combinations without sense fall out of a grid over both keys only") {
  const auto grid = parse_grid(Words{}, Words{"workers=0,1,2", "prefetch=2,4"});
  REQUIRE(grid.ok());
  CHECK(grid.value().size() == 4);
  CHECK_FALSE(parse_grid(Words{"prefetch=4"}, Words{"workers=0,1"}).ok());
  CHECK_FALSE(parse_grid(Words{}, Words{"workers=0", "prefetch=2,4"}).ok());
}

TEST_CASE("sweeps that are not") {
  const auto refused = [](const Words& sweeps) { return !parse_grid(Words{}, sweeps).ok(); };
  CHECK(refused({"workers"}));
  CHECK(refused({"workers=1,,2"}));
  CHECK(refused({"workers=1,2,"}));
  CHECK(refused({"workers=,"}));
  CHECK(refused({"workers=1,2", "workers=4"}));
  CHECK(refused({"worker=1,2"}));
}

TEST_CASE("a grid that is too large says so before it is made") {
  std::string values = "batch=1";
  for (int i = 2; i <= 400; ++i) values += "," + std::to_string(i);
  const auto grid = parse_grid(Words{}, Words{values, "prefetch" + values.substr(5)});
  REQUIRE_FALSE(grid.ok());
  CHECK(scenario_says(grid.error(), "100000"));
}

TEST_CASE("the nearest word") {
  const std::string_view known[] = {"workers", "cache", "cache_policy"};
  CHECK(*nearest_word("wrokers", known) == "workers");
  CHECK(*nearest_word("CACHE", known) == "cache");
  CHECK(*nearest_word("cache-policy", known) == "cache_policy");
  CHECK_FALSE(nearest_word("", known).has_value());
  CHECK(words_with_part("polici", known) == std::vector<std::string_view>{"cache_policy"});
  CHECK(words_with_part("pol", known).empty());
  CHECK(words_with_part("temperature", known).empty());
  CHECK_FALSE(nearest_word("temperature", known).has_value());
  CHECK_FALSE(nearest_word(std::string(1000, 'w'), known).has_value());
}

}  // namespace
}  // namespace stallcast
