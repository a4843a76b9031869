/// The simulation beside the closed form: where both must agree, what only one can say, and what is refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "model/analytic/cache.hpp"
#include "model/analytic/cluster.hpp"
#include "model/predict/prediction_json.hpp"
#include "tests/model/asking.hpp"
#include "tests/model/made_profile.hpp"

namespace stallcast {
namespace {

using made::ask;
using made::profile_of;
using made::TrueJob;

TrueJob many_samples() {
  TrueJob job;
  job.cores = 8.0;
  job.cpu_s = 0.002;
  job.dataset_samples = 32'000;
  return job;
}

TrueJob many_starved() {
  TrueJob job = many_samples();
  job.cpu_s = 0.02;
  return job;
}

TrueJob many_reading() {
  TrueJob job = many_samples();
  job.latency_s = 0.012;
  job.miss = 1.0;
  return job;
}

Prediction simulated(const Profile& profile, const std::vector<std::string>& settings, const SimulationAsk& what = {}) {
  auto predictor = Predictor::make(profile);
  REQUIRE(predictor.ok());
  auto prediction = predictor.value().predict_and_simulate(ask(settings), what);
  REQUIRE(prediction.ok());
  REQUIRE(prediction.value().simulation.has_value());
  return std::move(prediction).value();
}

Error not_simulated(const Profile& profile, const std::vector<std::string>& settings, const SimulationAsk& what = {}) {
  auto predictor = Predictor::make(profile);
  REQUIRE(predictor.ok());
  const auto prediction = predictor.value().predict_and_simulate(ask(settings), what);
  REQUIRE_FALSE(prediction.ok());
  return prediction.error();
}

bool noted(const SimulatedCluster& run, const char* words) {
  return std::any_of(run.notes.begin(), run.notes.end(),
                     [&](const std::string& note) { return note.find(words) != std::string::npos; });
}

TEST_CASE("the run as found is simulated at its measured rate") {
  std::mt19937_64 random(21);
  for (const TrueJob& job : {many_samples(), many_starved(), many_reading()}) {
    const Profile profile = profile_of(job);
    const Prediction found = simulated(profile, {});
    const double measured = profile.rates.as_is->mean.value();
    CHECK(found.simulation->throughput.value() == doctest::Approx(measured).epsilon(0.02));
    CHECK(found.simulation->ranks == 1);
    CHECK(found.simulation->steps == 1000);
    CHECK(found.simulation->epochs.size() == 3);
  }
  for (int i = 0; i < 12; ++i) {
    const TrueJob job = made::random_job(random);
    const Profile profile = profile_of(job);
    const Prediction found = simulated(profile, {});
    CAPTURE(i);
    CAPTURE(job.workers);
    CAPTURE(job.cores);
    CAPTURE(job.disk_s);
    CHECK(found.simulation->throughput.value() == doctest::Approx(profile.rates.as_is->mean.value()).epsilon(0.1));
  }
}

TEST_CASE("ranks that wait for each other take the largest step, as the closed form says") {
  TrueJob job = many_samples();
  job.cv_step = 0.08;
  const Profile profile = profile_of(job);
  const Prediction one = simulated(profile, {"gpus_per_node=1"});
  const Prediction many = simulated(profile, {"nodes=32", "network_bandwidth=100Gbit/s", "gradients=1B"});
  const double longer =
      many.simulation->epochs.back().step_mean.value() / one.simulation->epochs.back().step_mean.value();
  CHECK(longer == doctest::Approx(1.0 + 0.08 * cluster::expected_largest(32)).epsilon(0.03));
  CHECK(many.simulation->within_interval);
  CHECK(many.simulation->epochs.back().straggling > 0.08);
  CHECK(many.simulation->epochs.back().step_p99.value() > many.simulation->epochs.back().step_p50.value());
}

TEST_CASE("storage that all share binds at its ceiling") {
  const Profile profile = profile_of(many_reading());
  const Prediction slow = simulated(profile, {"nodes=8", "shared_storage_bandwidth=20MB/s"});
  CHECK(slow.simulation->throughput.value() == doctest::Approx(20e6 / 110e3).epsilon(0.02));
  CHECK(slow.simulation->epochs.back().bound == "fetch");
  CHECK(slow.simulation->loads.front().name == "shared_storage");
  CHECK(slow.simulation->loads.front().busy > 0.98);
  CHECK(slow.simulation->within_interval);
}

TEST_CASE("where loading binds, ranks that wait for each other lose what prefetching cannot even out") {
  TrueJob job = many_starved();
  job.cv_make = 0.4;
  const Profile profile = profile_of(job);
  const Prediction one = simulated(profile, {});
  const Prediction many = simulated(profile, {"nodes=16", "network_bandwidth=100Gbit/s", "gradients=1B"});
  CHECK(many.simulation->throughput.value() < 0.95 * 16.0 * one.simulation->throughput.value());
  CHECK(many.simulation->epochs.back().straggling > 0.1);
  CHECK(noted(*many.simulation, "where loading is the limit"));
}

TEST_CASE("a node's own storage binds at what the profile says of it") {
  TrueJob job = many_reading();
  job.latency_s = 0.0;
  job.disk_s = 0.008;
  const Profile profile = profile_of(job);
  const double found = profile.rates.as_is->mean.value();
  const Prediction faster = simulated(profile, {"gpu_speedup=4"});
  CHECK(faster.simulation->throughput.value() == doctest::Approx(found).epsilon(0.05));
  const Prediction cached = simulated(profile, {"cache=100%", "cache_policy=minio"});
  CHECK(cached.simulation->epochs[0].storage == 1.0);
  CHECK(cached.simulation->epochs[2].storage == 0.0);
  CHECK(cached.simulation->epochs[0].step_mean.value() > 1.5 * cached.simulation->epochs[2].step_mean.value());
  CHECK(cached.simulation->within_interval);
}

TEST_CASE("caches warm up from nothing to what the closed form says") {
  const Profile profile = profile_of(many_reading());
  const Prediction minio = simulated(profile, {"cache=35%", "cache_policy=minio"});
  CHECK(minio.simulation->epochs[0].storage == 1.0);
  CHECK(minio.simulation->epochs[1].storage == doctest::Approx(0.65).epsilon(0.001));
  CHECK(minio.simulation->within_interval);
  const Prediction linux_cache = simulated(profile, {"cache=50%"}, {12, 1, false});
  CHECK(linux_cache.simulation->epochs[0].storage == 1.0);
  CHECK(std::abs(linux_cache.simulation->epochs[11].storage - (1.0 - hit_page_cache(0.5).mean)) < 0.02);
  CHECK(noted(*linux_cache.simulation, "random replacement"));
  // On 8 nodes each has seen an eighth of the data after one epoch: far from warm.
  const std::vector<std::string> several{"nodes=8", "cache=50%", "cache_policy=minio", "gradients=1B",
                                         "network_bandwidth=100Gbit/s"};
  const Prediction early = simulated(profile, several);
  CHECK(early.simulation->epochs[1].storage == doctest::Approx(7.0 / 8.0).epsilon(0.01));
  CHECK(noted(*early.simulation, "caches are warm"));
  CHECK_FALSE(early.simulation->within_interval);
  CHECK_FALSE(noted(*simulated(profile, several, {12, 1, false}).simulation, "caches are warm"));
}

TEST_CASE("a cache over the nodes, and a node that loses its part") {
  const Profile profile = profile_of(many_reading());
  const std::vector<std::string> settings{"nodes=4", "cache=25%", "cache_policy=partitioned",
                                          "network_bandwidth=100Gbit/s", "gradients=1B"};
  const Prediction whole = simulated(profile, settings);
  CHECK(whole.simulation->epochs[1].storage == 0.0);
  CHECK(whole.simulation->epochs[1].remote == doctest::Approx(0.75).epsilon(0.02));
  CHECK(whole.simulation->within_interval);
  const Prediction lost = simulated(profile, settings, {4, 1, true});
  CHECK(lost.simulation->lost_node);
  CHECK(lost.simulation->judged == 2);
  CHECK(lost.simulation->epochs[2].storage == 0.0);
  CHECK(lost.simulation->epochs[3].storage == doctest::Approx(0.25).epsilon(0.03));
  CHECK(lost.simulation->throughput.value() == doctest::Approx(whole.simulation->throughput.value()).epsilon(0.01));
  const Prediction by_place =
      simulated(profile, {"nodes=4", "cache=25%", "cache_policy=locality", "network_bandwidth=100Gbit/s"});
  CHECK(by_place.simulation->epochs[2].remote == doctest::Approx(cluster::balancing_share(4.0, 32.0)).epsilon(0.15));
}

TEST_CASE("the same seed says the same, and another one nearly") {
  const Profile profile = profile_of(many_reading());
  const std::vector<std::string> settings{"nodes=4", "cache=30%", "cache_policy=minio"};
  const auto text = [&](std::uint64_t seed) { return to_json(simulated(profile, settings, {3, seed, false})).dump(); };
  CHECK(text(5) == text(5));
  CHECK(text(5) != text(6));
  CHECK(simulated(profile, settings, {3, 5, false}).simulation->throughput.value() ==
        doctest::Approx(simulated(profile, settings, {3, 6, false}).simulation->throughput.value()).epsilon(0.02));
}

TEST_CASE("what is not simulated, not known or too large is refused, with the number") {
  const TrueJob job = many_reading();
  const Profile profile = profile_of(job);
  for (const char* setting : {"jobs=2", "echo=2"}) {
    const Error error = not_simulated(profile, {setting});
    CHECK(error.code == ErrorCode::usage);
    CHECK(error.what.find("--simulate") != std::string::npos);
  }
  Profile probed = profile;
  probed.storage.first_byte = Estimate<Seconds>{Seconds(1e-3), Seconds(0.9e-3), Seconds(1.1e-3), 8};
  probed.storage.stream_bandwidth =
      Estimate<BytesPerSecond>{BytesPerSecond(2e8), BytesPerSecond(1.9e8), BytesPerSecond(2.1e8), 8};
  CHECK(not_simulated(probed, {"staging=overlap", "local_disk_bandwidth=2GB/s"}).what.find("staging") !=
        std::string::npos);
  CHECK(not_simulated(profile, {}, {3, 1, true}).hint.find("cache") != std::string::npos);
  CHECK(not_simulated(profile, {"cache=30%"}, {1, 1, true}).code == ErrorCode::usage);
  const Error long_run = not_simulated(profile, {}, {500'000, 1, false});
  CHECK(long_run.what.find("5e+08") != std::string::npos);
  Profile unknown = profile;
  unknown.job.dataset_samples = Measured<std::int64_t>::absent("an iterable data set");
  CHECK(not_simulated(unknown, {}).code == ErrorCode::not_enough_data);
  // A cache that holds all never reads from storage once it is warm; what filling it costs was never seen.
  CHECK(made::answer(profile_of(many_samples()), {"cache=100%"}).throughput.mean.value() > 0.0);
  const Error never_read = not_simulated(profile_of(many_samples()), {"cache=100%"});
  CHECK(never_read.code == ErrorCode::not_enough_data);
  CHECK(never_read.what.find("empty caches") != std::string::npos);
  Profile shared = profile;
  shared.dataset.filesystem = "lustre";
  CHECK(not_simulated(shared, {"cache=100%", "nodes=4"}).hint.find("shared_storage_bandwidth") != std::string::npos);
  Profile as_they_come = profile;
  as_they_come.job.in_order = false;
  CHECK(not_simulated(as_they_come, {}).what.find("in_order") != std::string::npos);
  Profile huge = profile;
  huge.job.dataset_samples = std::int64_t{2'000'000'000};
  huge.dataset.bytes_total = Bytes(2e14);
  const Error memory = not_simulated(huge,
                                     {"cache=100%", "cache_policy=locality", "nodes=2", "batch=100",
                                      "network_bandwidth=25Gbit/s", "gradients=1B", "shared_storage_bandwidth=1GB/s"},
                                     {1, 1, false});
  CHECK(memory.what.find("GB of memory") != std::string::npos);
}

TEST_CASE("the JSON has the simulation where it was asked for, and only there") {
  const Profile profile = profile_of(many_reading());
  const auto with = to_json(simulated(profile, {"nodes=2", "cache=30%", "cache_policy=minio"}));
  CHECK_FALSE(to_json(made::answer(profile, {"nodes=2"})).contains("simulation"));
  const auto& block = with.at("simulation");
  CHECK(block.at("epochs").size() == 3);
  CHECK(block.at("ranks") == 2);
  for (const char* key : {"duration_s", "step_mean_s", "step_p50_s", "step_p99_s", "waiting_frac", "straggling_frac",
                          "from_own_memory_frac", "from_other_nodes_frac", "from_storage_frac", "bound"}) {
    CHECK(block.at("epochs")[0].contains(key));
  }
  for (const auto& epoch : block.at("epochs")) {
    const double sum = epoch.at("from_own_memory_frac").get<double>() +
                       epoch.at("from_other_nodes_frac").get<double>() + epoch.at("from_storage_frac").get<double>();
    CHECK(sum == doctest::Approx(1.0));
  }
}

}  // namespace
}  // namespace stallcast
