#include "model/validate/applied.hpp"

#include <doctest/doctest.h>

#include <map>

namespace stallcast {
namespace {

using Words = std::vector<std::string>;

Profile torch_job() {
  Profile profile;
  profile.job.framework = "pytorch";
  profile.job.loader_kind = "map";
  profile.job.num_workers = 1;
  profile.job.prefetch_factor = 2;
  return profile;
}

Result<AppliedSettings> apply(const Words& settings, const Profile& profile = torch_job(), double cpus = 4.0) {
  const auto scenario = parse_scenario(settings);
  REQUIRE(scenario.ok());
  return applied_settings(scenario.value(), profile, cpus);
}

TEST_CASE("what can be applied is, key by key, and said in words") {
  const auto applied = apply({"workers=4", "prefetch=3", "cpus=2"});
  REQUIRE(applied.ok());
  CHECK(applied.value().workers == 4);
  CHECK(applied.value().prefetch == 3);
  CHECK(applied.value().cpus == 2);
  REQUIRE(applied.value().keys.size() == 3);
  CHECK(applied.value().keys[0].how.find("num_workers=4 in place of 1") == 0);
  CHECK(applied.value().keys[2].value == "2");
}

TEST_CASE("nothing asked for is nothing applied") {
  const auto applied = apply({});
  REQUIRE(applied.ok());
  CHECK_FALSE(applied.value().workers.has_value());
  CHECK_FALSE(applied.value().prefetch.has_value());
  CHECK_FALSE(applied.value().cpus.has_value());
  CHECK(applied.value().keys.empty());
}

TEST_CASE("every key that the model answers is either applied or refused with a reason and a way out") {
  const std::map<std::string, std::string> beyond{{"nodes", "2"},
                                                  {"gpus_per_node", "2"},
                                                  {"network_bandwidth", "1GB/s"},
                                                  {"network_latency", "1us"},
                                                  {"prep_cpus", "64"},
                                                  {"shared_storage_bandwidth", "1GB/s"},
                                                  {"shared_storage_files_per_s", "1k/s"},
                                                  {"shared_storage_metadata_per_s", "1k/s"},
                                                  {"shared_storage_contention", "2%"},
                                                  {"shared_storage_coherence", "1%"},
                                                  {"gradients", "1MB"},
                                                  {"jobs", "2"},
                                                  {"coordinated_prep", "on"},
                                                  {"echo", "2"}};
  const std::map<std::string, std::string> values{{"cache", "35%"},
                                                  {"cache_policy", "minio"},
                                                  {"cpus", "2"},
                                                  {"workers", "2"},
                                                  {"prefetch", "4"},
                                                  {"batch", "16"},
                                                  {"gpu_speedup", "2x"},
                                                  {"storage_bandwidth", "100MB/s"},
                                                  {"storage_latency", "1ms"},
                                                  {"operator", "Resize:x2"},
                                                  {"storage_iops", "500/s"},
                                                  {"layout", "shards:4MiB"},
                                                  {"metadata", "snapshot"},
                                                  {"staging", "overlap"},
                                                  {"local_disk", "1TB"},
                                                  {"local_disk_bandwidth", "1GB/s"}};
  const auto value_of = [&](const std::string& key) {
    return asks_beyond_machine(key) ? beyond.at(key) : values.at(key);
  };
  for (const std::string_view key : scenario_keys()) {
    CAPTURE(std::string(key));
    const auto applied = apply({std::string(key) + "=" + value_of(std::string(key))});
    if (applied.ok()) {
      REQUIRE(applied.value().keys.size() == 1);
      CHECK(applied.value().keys[0].key == key);
      CHECK_FALSE(applied.value().keys[0].how.empty());
    } else {
      CHECK(applied.error().code == ErrorCode::usage);
      CHECK(applied.error().what.find(std::string(key)) != std::string::npos);
      CHECK_FALSE(applied.error().hint.empty());
    }
  }
}

TEST_CASE("a key that cannot be applied is not left out beside one that can") {
  CHECK_FALSE(apply({"workers=2", "batch=16"}).ok());
  CHECK_FALSE(apply({"cache=50%", "workers=2"}).ok());
}

TEST_CASE("storage is emulated where the profiled run read from storage, or with a cache in front of it") {
  Profile profile = torch_job();
  CHECK_FALSE(apply({"storage_bandwidth=20MB/s"}, profile).ok());  // not known where its bytes came from
  profile.resources.bytes_from_storage = 0.5;
  const auto half = apply({"storage_bandwidth=20MB/s"}, profile);
  REQUIRE_FALSE(half.ok());
  CHECK(half.error().what.find("50 %") != std::string::npos);
  profile.resources.bytes_from_storage = 1.0;
  const auto all = apply({"storage_bandwidth=20MB/s"}, profile);
  REQUIRE(all.ok());
  CHECK(all.value().emulated == Words{"storage_bandwidth=20MB/s"});
  const auto requests = apply({"storage_iops=500/s", "workers=2"}, profile);
  REQUIRE(requests.ok());
  CHECK(requests.value().emulated == Words{"storage_iops=500/s"});
  CHECK(requests.value().keys.size() == 2);
  CHECK(apply({"storage_iops=500/s", "storage_bandwidth=20MB/s"}, profile).value().emulated ==
        Words{"storage_bandwidth=20MB/s", "storage_iops=500/s"});
  profile.resources.bytes_from_storage = 0.5;
  CHECK(apply({"storage_iops=500/s"}, profile).error().what.find("storage_iops") == 0);
  const auto cached = apply({"storage_bandwidth=20MB/s", "cache=35%", "cache_policy=minio", "workers=2"}, profile);
  REQUIRE(cached.ok());
  CHECK(cached.value().emulated == Words{"storage_bandwidth=20MB/s", "cache=35%", "cache_policy=minio"});
  CHECK(cached.value().keys.size() == 4);
}

TEST_CASE("the kernel limits storage and parts of CPUs, and emulates no cache") {
  Profile profile = torch_job();
  profile.resources.bytes_from_storage = 1.0;
  const auto by_kernel = [&](const Words& settings) {
    const auto scenario = parse_scenario(settings);
    REQUIRE(scenario.ok());
    return applied_settings(scenario.value(), profile, 4.0, /*by_kernel=*/true);
  };
  const auto part = by_kernel({"storage_bandwidth=20MB/s", "cpus=1.5"});
  REQUIRE(part.ok());
  CHECK(part.value().by_kernel);
  CHECK(part.value().cpu_quota == 1.5);
  CHECK_FALSE(part.value().cpus.has_value());
  CHECK(part.value().emulated == Words{"cpus=1.5", "storage_bandwidth=20MB/s"});
  const auto whole = by_kernel({"cpus=2"});
  REQUIRE(whole.ok());
  CHECK(whole.value().cpus == 2);
  CHECK_FALSE(whole.value().cpu_quota.has_value());
  CHECK_FALSE(by_kernel({"cpus=4.5"}).ok());
  const auto cached = by_kernel({"storage_bandwidth=20MB/s", "cache=35%", "cache_policy=minio"});
  REQUIRE_FALSE(cached.ok());
  CHECK(cached.error().what.find("no cache") != std::string::npos);
}

TEST_CASE("a cache is verified in front of emulated storage, and with a policy that has an exact model") {
  CHECK_FALSE(apply({"cache=35%", "cache_policy=minio"}).ok());
  CHECK_FALSE(apply({"cache=35%", "storage_bandwidth=20MB/s"}).ok());
  CHECK_FALSE(apply({"cache_policy=minio", "storage_bandwidth=20MB/s"}).ok());
}

TEST_CASE("cpus: whole ones, and no more than there are") {
  CHECK(apply({"cpus=4"}).ok());
  const auto part = apply({"cpus=1.5"});
  REQUIRE_FALSE(part.ok());
  CHECK(part.error().code == ErrorCode::usage);
  CHECK(part.error().what.find("1.5") != std::string::npos);
  const auto more = apply({"cpus=5"});
  REQUIRE_FALSE(more.ok());
  CHECK(more.error().what.find("4 may be used") != std::string::npos);
  CHECK(apply({"cpus=2"}, torch_job(), 2.5).ok());
  CHECK_FALSE(apply({"cpus=3"}, torch_job(), 2.5).ok());
}

TEST_CASE("a loader that is not PyTorch's cannot be given settings, its CPUs can") {
  Profile profile = torch_job();
  profile.job.framework = "c_api";
  profile.job.loader_kind = "c_api";
  CHECK_FALSE(apply({"workers=2"}, profile).ok());
  CHECK_FALSE(apply({"prefetch=4"}, profile).ok());
  CHECK(apply({"cpus=1"}, profile).ok());
}

TEST_CASE("a prefetch factor needs workers, found or asked for") {
  Profile profile = torch_job();
  profile.job.num_workers = 0;
  profile.job.prefetch_factor = Measured<std::int64_t>::absent("no workers");
  CHECK_FALSE(apply({"prefetch=4"}, profile).ok());
  CHECK(apply({"prefetch=4", "workers=2"}, profile).ok());
}

}  // namespace
}  // namespace stallcast
