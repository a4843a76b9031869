/// Scenarios beyond the machine that was profiled: several nodes, several jobs, another use of batches.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "model/analytic/cluster.hpp"
#include "tests/model/asking.hpp"
#include "tests/model/made_profile.hpp"

namespace stallcast {
namespace {

using made::answer;
using made::ask;
using made::profile_of;
using made::TrueJob;

/// Its loader keeps up with ease, from memory.
TrueJob compute_bound() {
  TrueJob job;
  job.cores = 8.0;
  job.cpu_s = 0.002;
  return job;
}

/// Each batch takes one of its two workers 640 ms, and the step 100.
TrueJob starved() {
  TrueJob job;
  job.cores = 8.0;
  job.cpu_s = 0.02;
  return job;
}

/// Every sample comes from storage: 1 ms of latency each, far from any ceiling.
TrueJob reading() {
  TrueJob job = compute_bound();
  job.latency_s = 0.001;
  job.miss = 1.0;
  return job;
}

double rate(const Profile& profile, const std::vector<std::string>& settings) {
  return answer(profile, settings).throughput.mean.value();
}

bool noted(const Prediction& prediction, const char* words) {
  return std::any_of(prediction.notes.begin(), prediction.notes.end(),
                     [&](const std::string& note) { return note.find(words) != std::string::npos; });
}

Error refused(const Profile& profile, const std::vector<std::string>& settings) {
  const auto prediction = predict(profile, ask(settings));
  REQUIRE_FALSE(prediction.ok());
  return prediction.error();
}

TEST_CASE("one node, one job, one use is the run as found") {
  const Profile profile = profile_of(reading());
  const double found = profile.rates.as_is->mean.value();
  CHECK(rate(profile, {"nodes=1"}) == found);
  CHECK(rate(profile, {"nodes=1", "gpus_per_node=1", "jobs=1", "echo=1", "coordinated_prep=on"}) == found);
  CHECK(rate(profile, {"network_bandwidth=1GB/s", "gradients=100MB"}) == found);
}

TEST_CASE("a job that only computes scales with its nodes, less what waiting for the slowest costs") {
  TrueJob job = compute_bound();
  job.cv_step = 0.1;
  const Profile profile = profile_of(job);
  const double found = profile.rates.as_is->mean.value();
  const Prediction eight = answer(profile, {"nodes=8", "network_bandwidth=1000GB/s", "gradients=100MB"});
  const double slowest = 1.0 + 0.1 * cluster::expected_largest(8.0);
  CHECK(eight.throughput.mean.value() == doctest::Approx(8.0 * found / slowest).epsilon(0.02));
  CHECK(eight.extrapolated);
  CHECK(noted(eight, "global batch"));
  CHECK(eight.epoch->value() == doctest::Approx(50'000.0 / eight.throughput.mean.value()));
  CHECK_FALSE(noted(eight, "upper bound"));
  CHECK(noted(answer(profile, {"nodes=8"}), "upper bound: add gradients=100MB network_bandwidth"));
  const auto predictor = Predictor::make(profile);
  REQUIRE(predictor.ok());
}

TEST_CASE("storage that all nodes share ends the scaling where its ceiling says") {
  Profile profile = profile_of(reading());
  const double found = profile.rates.as_is->mean.value();
  const std::string ceiling = std::to_string(4.0 * found * 110e3 / 1e6) + "MB/s";  // what four such nodes need
  const std::vector<std::string> shared{"shared_storage_bandwidth=" + ceiling};
  const auto at = [&](const char* nodes) { return answer(profile, {nodes, shared.front()}); };
  CHECK(at("nodes=2").throughput.mean.value() > 1.8 * found);
  CHECK(at("nodes=2").bound == "gpu");
  for (const char* nodes : {"nodes=8", "nodes=64"}) {
    const Prediction many = at(nodes);
    CHECK(many.throughput.mean.value() == doctest::Approx(4.0 * found).epsilon(0.01));
    CHECK(many.bound == "fetch");
  }
  const std::string files = std::to_string(4.0 * found) + "/s";
  CHECK(refused(profile, {"nodes=8", "shared_storage_files_per_s=" + files}).what.find("files read per sample") !=
        std::string::npos);
  profile.dataset.layout = "files";
  CHECK(rate(profile, {"nodes=8", "shared_storage_files_per_s=" + files}) ==
        doctest::Approx(4.0 * found).epsilon(0.01));
}

TEST_CASE("what a network file system gives many nodes is not guessed") {
  Profile profile = profile_of(reading());
  profile.dataset.filesystem = "nfs4";
  const Error error = refused(profile, {"nodes=4"});
  CHECK(error.code == ErrorCode::not_enough_data);
  CHECK(error.what.find("nfs4") != std::string::npos);
  CHECK(error.hint.find("shared_storage_bandwidth") != std::string::npos);
  CHECK(predict(profile, ask({"nodes=4", "shared_storage_bandwidth=10GB/s"})).ok());
  CHECK(predict(profile, ask({"nodes=4", "cache=100%"})).ok());
  profile.dataset.filesystem = "ext4";
  CHECK(noted(answer(profile, {"nodes=4"}), "its own copy"));
}

TEST_CASE("gradients are exchanged behind the backward pass that was measured") {
  Profile profile = profile_of(compute_bound());
  const double step_s = 0.104;
  profile.exchange.backend = "nccl";
  const auto about = [](double value) { return Estimate<Seconds>{Seconds(value), Seconds(value), Seconds(value), 20}; };
  const std::vector<std::string> words{"nodes=4", "network_bandwidth=1Gbit/s", "gradients=100MB"};
  const double by_default = answer(profile, words).step.value();
  profile.exchange.backward = about(0.0);
  CHECK(answer(profile, words).step.value() == doctest::Approx(step_s + 1.2).epsilon(0.06));
  profile.exchange.backward = about(0.9 * step_s);
  CHECK(answer(profile, words).step.value() < by_default);
}

TEST_CASE("a job that was profiled on several nodes tells what their network gives") {
  Profile profile = profile_of(compute_bound());
  profile.host.hosts_seen = 2;
  profile.job.ranks_seen = profile.job.ranks_expected = 2;
  const Estimate<SamplesPerSecond> one = *profile.rates.as_is;
  profile.rates.as_is = Estimate<SamplesPerSecond>{one.mean * 2.0, one.ci95_low * 2.0, one.ci95_high * 2.0, one.n};
  profile.job.gradient_bytes = Bytes(100e6);
  profile.exchange.backend = "nccl";
  const auto about = [](double value) { return Estimate<Seconds>{Seconds(value), Seconds(value), Seconds(value), 20}; };
  CHECK(noted(answer(profile, {"nodes=8"}), "upper bound"));
  // Two nodes, nothing hidden: a ring sends 2 (1/2) 100 MB in 0.8 s, so a link of 125 MB/s.
  profile.exchange.backward = about(0.0);
  profile.exchange.exposed = about(0.8);
  const Prediction measured = answer(profile, {"nodes=8"});
  CHECK(noted(measured, "125 MB/s"));
  CHECK_FALSE(noted(measured, "upper bound"));
  CHECK(measured.throughput.mean.value() ==
        doctest::Approx(answer(profile, {"nodes=8", "network_bandwidth=125MB/s"}).throughput.mean.value())
            .epsilon(0.001));
  // A hook may send less than the gradients, and then says nothing of the network.
  Profile hooked = profile;
  hooked.exchange.hook = "fp16_compress_hook";
  CHECK(noted(answer(hooked, {"nodes=8"}), "upper bound"));
  // What is given counts.
  CHECK(answer(profile, {"nodes=8", "network_bandwidth=10GB/s"}).throughput.mean.value() >
        measured.throughput.mean.value());
}

TEST_CASE("hosts that only prepare take the workers' work, as far as their cores and the network go") {
  Profile profile = profile_of(starved());
  const double found = profile.rates.as_is->mean.value();
  const std::string network = "network_bandwidth=1000GB/s";
  CHECK(refused(profile, {"prep_cpus=10", network}).what.find("bytes of a prepared sample") != std::string::npos);
  profile.job.prepared = BytesPerSample(600e3);
  CHECK(refused(profile, {"prep_cpus=10"}).hint.find("network_bandwidth") != std::string::npos);
  const Prediction few = answer(profile, {"prep_cpus=4", network});
  CHECK(few.throughput.mean.value() == doctest::Approx(4.0 / 0.02).epsilon(0.03));  // 20 ms of a core for each sample
  CHECK(few.bound == "prep");
  CHECK(few.extrapolated);
  CHECK(few.throughput.mean.value() > 1.5 * found);
  const Prediction many = answer(profile, {"prep_cpus=400", network});
  CHECK(many.bound == "gpu");
  CHECK(many.throughput.mean.value() == doctest::Approx(32.0 / 0.104).epsilon(0.03));
  // 60 MB/s carry a hundred samples of 600 KB, and two nodes have a link each, and share the cores.
  const Prediction carried = answer(profile, {"prep_cpus=400", "network_bandwidth=60MB/s"});
  CHECK(carried.throughput.mean.value() == doctest::Approx(100.0).epsilon(0.03));
  CHECK(carried.bound == "network");
  CHECK(rate(profile, {"prep_cpus=400", "network_bandwidth=60MB/s", "nodes=2", "gradients=1B"}) ==
        doctest::Approx(200.0).epsilon(0.03));
  CHECK(rate(profile, {"prep_cpus=4", network, "nodes=2", "gradients=1B"}) ==
        doctest::Approx(few.throughput.mean.value()).epsilon(0.01));
  CHECK(rate(profile, {"prep_cpus=400", network, "workers=0"}) ==
        doctest::Approx(many.throughput.mean.value()).epsilon(0.01));
}

TEST_CASE("a slow network binds through the gradients") {
  const Profile profile = profile_of(compute_bound());
  const double found = profile.rates.as_is->mean.value();
  const Prediction slow = answer(profile, {"nodes=4", "network_bandwidth=1Gbit/s", "gradients=100MB"});
  // 2 (3/4) 100 MB at 125 MB/s: 1.2 s, of which backward hides 3/4 of two thirds of the step.
  const double step_s = 0.104;
  const double exposed = 1.2 - step_s * 2.0 / 3.0 * 0.75;
  CHECK(slow.step.value() == doctest::Approx(step_s + exposed).epsilon(0.06));
  CHECK(slow.bound == "network");
  CHECK(slow.throughput.mean.value() < found);
  CHECK(rate(profile, {"nodes=4", "network_bandwidth=100Gbit/s", "gradients=100MB"}) > 3.0 * found);
}

TEST_CASE("a cache over the nodes: what one does not hold comes from another, as fast as the network lets it") {
  const Profile profile = profile_of(reading());
  const double one_cached = rate(profile, {"cache=100%"});
  const std::vector<std::string> fast{"nodes=4", "cache=25%", "network_bandwidth=1000GB/s", "gradients=1B"};
  for (const char* policy : {"cache_policy=partitioned", "cache_policy=locality"}) {
    std::vector<std::string> settings = fast;
    settings.emplace_back(policy);
    CHECK(rate(profile, settings) == doctest::Approx(4.0 * one_cached).epsilon(0.05));
  }
  // Three quarters of the samples cross a link of 10 MB/s: no node can train on more than 10 MB/s / (0.75 x 110 KB).
  const Prediction slow =
      answer(profile, {"nodes=4", "cache=25%", "cache_policy=partitioned", "network_bandwidth=10MB/s", "gradients=1B"});
  CHECK(slow.throughput.mean.value() == doctest::Approx(4.0 * 10e6 / (0.75 * 110e3)).epsilon(0.02));
  CHECK(slow.bound == "network");
  CHECK(rate(profile, {"nodes=4", "cache=25%", "cache_policy=locality", "network_bandwidth=10MB/s", "gradients=1B"}) >
        slow.throughput.mean.value());
  CHECK(refused(profile, {"nodes=4", "cache=25%", "cache_policy=partitioned"}).hint.find("network_bandwidth") !=
        std::string::npos);
}

TEST_CASE("jobs on one node share its cores, or one sweep of preparing") {
  TrueJob job = starved();
  job.cores = 2.0;
  const Profile profile = profile_of(job);
  const double found = profile.rates.as_is->mean.value();
  const double apart = rate(profile, {"jobs=2"});
  const double together = rate(profile, {"jobs=2", "coordinated_prep=on"});
  CHECK(apart == doctest::Approx(found / 2.0).epsilon(0.06));  // both cores were busy preparing
  CHECK(together == doctest::Approx(found).epsilon(0.06));     // the work of one job, on the cores of two
  CHECK(noted(answer(profile, {"jobs=2"}), "one of the jobs"));
}

TEST_CASE("a batch that is used twice makes up for a loader at half of the rate, and for no slow step") {
  const Profile waits = profile_of(starved());
  TrueJob half = starved();
  half.cpu_s /= 2.0;
  half.other_s /= 2.0;
  CHECK(rate(waits, {"echo=2"}) == doctest::Approx(made::play(half).rate).epsilon(0.03));
  const Profile computes = profile_of(compute_bound());
  CHECK(rate(computes, {"echo=4"}) == doctest::Approx(computes.rates.as_is->mean.value()).epsilon(0.02));
  CHECK(noted(answer(waits, {"echo=2"}), "teach less"));
}

TEST_CASE("more GPUs on a node share its cores") {
  TrueJob job = starved();
  job.cores = 2.0;
  const Profile profile = profile_of(job);
  const double found = profile.rates.as_is->mean.value();
  CHECK(rate(profile, {"gpus_per_node=2"}) == doctest::Approx(found).epsilon(0.06));
  CHECK(rate(profile, {"gpus_per_node=2", "cpus=4"}) == doctest::Approx(2.0 * found).epsilon(0.06));
}

TEST_CASE("more of a good thing never lowers the rate of a cluster") {
  const Profile profile = profile_of(reading());
  const auto never_lower = [&](const std::vector<std::string>& fixed, const std::vector<std::string>& rising) {
    double before = 0.0;
    for (const std::string& setting : rising) {
      std::vector<std::string> settings = fixed;
      settings.push_back(setting);
      const double now = rate(profile, settings);
      CHECK(now >= before * (1.0 - 1e-9));
      before = now;
    }
  };
  const std::vector<std::string> nodes{"nodes=16", "gradients=200MB", "network_bandwidth=10Gbit/s"};
  never_lower(nodes, {"shared_storage_bandwidth=50MB/s", "shared_storage_bandwidth=500MB/s",
                      "shared_storage_bandwidth=50GB/s"});
  never_lower({"nodes=16", "gradients=200MB"},
              {"network_bandwidth=1Gbit/s", "network_bandwidth=10Gbit/s", "network_bandwidth=400Gbit/s"});
  never_lower({"nodes=16", "network_bandwidth=10Gbit/s", "gradients=1MB", "cache_policy=partitioned"},
              {"cache=0%", "cache=2%", "cache=5%", "cache=50%"});
  never_lower({}, {"echo=1", "echo=1.5", "echo=3"});
}

}  // namespace
}  // namespace stallcast
