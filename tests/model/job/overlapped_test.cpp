/// Loaders that fetch and prepare side by side: rate = min(1/max(F, P), G), and what cannot be asked of them.
#include "model/job/overlapped.hpp"

#include "model/recommend/recommend.hpp"
#include "tests/model/asking.hpp"

namespace stallcast {
namespace {

using made::answer;
using made::ask;

template <class Q>
Estimate<Q> about(double mean) {
  return {Q(mean), Q(0.99 * mean), Q(1.01 * mean), 300};
}

/// As analysed from a passive recording: batches of 32 in `step_s`, of which the consumer computes `compute_s`.
Profile tf_job(double step_s, double compute_s) {
  Profile p;
  p.host.usable_cpus = 8.0;
  p.job.framework = "tensorflow";
  p.job.loader_kind = "tf.data";
  p.job.composition = "overlapped";
  p.job.batch_size = 32;
  p.job.dataset_samples = 64'000;
  p.job.ranks_seen = 1;
  p.rates.as_is = about<SamplesPerSecond>(32.0 / step_s);
  p.resources.step = about<Seconds>(step_s);
  p.resources.compute = about<Seconds>(compute_s);
  p.resources.consumer_cpu = about<SecondsPerSample>(3.0 * step_s / 32.0);
  return p;
}

double overlapped_rate(const Profile& p, const std::vector<std::string>& settings) {
  return answer(p, settings).throughput.mean.value();
}

Error refusal(const Profile& p, const std::vector<std::string>& settings) {
  auto prediction = predict(p, ask(settings));
  REQUIRE_FALSE(prediction.ok());
  return prediction.error();
}

}  // namespace

TEST_CASE("the run as found is predicted as measured") {
  const Prediction found = answer(tf_job(0.05, 0.02), {});
  CHECK(found.throughput.mean.value() == doctest::Approx(640.0));
  CHECK(found.stall == doctest::Approx(0.6));
  CHECK(found.bound == "loader");
  CHECK(found.next_bound == "gpu");
}

TEST_CASE("the slower of loader and step decides") {
  const Profile p = tf_job(0.05, 0.02);
  CHECK(overlapped_rate(p, {"gpu_speedup=4"}) == doctest::Approx(640.0).epsilon(0.02));
  CHECK(overlapped_rate(p, {"gpu_speedup=0.5"}) == doctest::Approx(640.0).epsilon(0.02));
  CHECK(overlapped_rate(p, {"gpu_speedup=0.25"}) == doctest::Approx(400.0).epsilon(0.02));
  CHECK(answer(p, {"gpu_speedup=0.25"}).bound == "gpu");
  CHECK(overlapped_rate(p, {"batch=64"}) == doctest::Approx(640.0).epsilon(0.02));
  CHECK(overlapped_rate(p, {"nodes=2", "network_bandwidth=100Gbit/s", "gradients=1MB"}) ==
        doctest::Approx(1280.0).epsilon(0.03));
}

TEST_CASE("where nothing was fetched, what binds is prep") {
  Profile p = tf_job(0.05, 0.02);
  p.rates.cached = p.rates.as_is;
  p.stalls.as_is_fetch = Estimate<Fraction>{0.0, 0.0, 0.02, 300};
  CHECK(answer(p, {"gpu_speedup=2"}).bound == "prep");
}

TEST_CASE("keys of worker processes mean nothing here") {
  const Profile p = tf_job(0.05, 0.02);
  for (const char* setting : {"workers=8", "prefetch=4"}) {
    const Error error = refusal(p, {setting});
    CHECK(error.code == ErrorCode::usage);
    CHECK(error.what.find("tf.data") != std::string::npos);
  }
}

TEST_CASE("keys that need fetch and prep by themselves are refused with the reason") {
  const Profile p = tf_job(0.05, 0.02);
  for (const char* setting :
       {"cache=50%", "cache=10GB", "cache_policy=minio", "cpus=16", "storage_bandwidth=1GB/s", "storage_latency=1ms",
        "jobs=2", "prep_cpus=64", "gpus_per_node=2", "shared_storage_bandwidth=1GB/s",
        "shared_storage_files_per_s=1000/s", "shared_storage_metadata_per_s=1000/s", "shared_storage_contention=2%",
        "shared_storage_coherence=1%", "coordinated_prep=on", "operator=any:x2", "storage_iops=500/s",
        "layout=shards:4MiB", "metadata=snapshot"}) {
    INFO(setting);
    const Error error = refusal(p, {setting});
    CHECK(error.code == ErrorCode::not_enough_data);
    CHECK(error.what.find("side by side") != std::string::npos);
  }
}

TEST_CASE("a job that hardly waits does not show how fast its loader is") {
  const Profile p = tf_job(0.05, 0.049);
  CHECK(refusal(p, {"gpu_speedup=2"}).what.find("hardly waits") != std::string::npos);
  CHECK(overlapped_rate(p, {"gpu_speedup=0.5"}) == doctest::Approx(32.0 / 0.099).epsilon(0.03));
}

TEST_CASE("every key is available or says why not") {
  auto predictor = Predictor::make(tf_job(0.05, 0.02));
  REQUIRE(predictor.ok());
  int refused = 0;
  for (const KeyAvailability& key : predictor.value().keys()) {
    if (!key.available) ++refused;
    CHECK(key.available == key.reason.empty());
  }
  CHECK(refused >= 13);
}

TEST_CASE("the recommendation is no setting of a DataLoader") {
  const auto out = recommend(tf_job(0.05, 0.02));
  REQUIRE(out.ok());
  CHECK_FALSE(out.value().change_loader);
  CHECK(out.value().loader_line.find("DataLoader") == std::string::npos);
  CHECK(out.value().verdict.find("side by side") != std::string::npos);
  CHECK(out.value().remedies.empty());
}

TEST_CASE("a serial profile is untouched by all of this") {
  Profile p = tf_job(0.05, 0.02);
  p.job.composition = "unknown";
  const auto prediction = predict(p, {});
  REQUIRE_FALSE(prediction.ok());
  CHECK(prediction.error().what.find("cost of making a batch") != std::string::npos);
}

}  // namespace stallcast
