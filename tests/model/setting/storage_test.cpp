/// What a profile's storage probe brings to predictions: the ceiling that all workers share, and what pauses save up.
#include <doctest/doctest.h>

#include <cmath>

#include "model/job/job_model.hpp"
#include "model/setting/setting.hpp"
#include "model/setting/storage_cost.hpp"
#include "tests/model/asking.hpp"
#include "tests/model/made_profile.hpp"

namespace stallcast {
namespace {

using made::answer;
using made::half_width;
using made::TrueJob;

/// Workers that read all the time from one disk of 500 samples a second.
TrueJob at_the_disk() {
  TrueJob job;
  job.cores = 8.0;
  job.cpu_s = 0.0005;
  job.disk_s = 0.002;
  job.miss = 1.0;
  job.device_s = 0.02;
  return job;
}

void probe(Profile& profile, double bytes_per_s, double saved) {
  profile.storage.path = "/data";
  profile.storage.read = "whole_file";
  profile.storage.read_size = Bytes(profile.dataset.bytes_per_sample->value());
  const BytesPerSecond most(bytes_per_s);
  profile.storage.ceiling_bandwidth = Estimate<BytesPerSecond>{most, 0.97 * most, 1.03 * most, 8};
  profile.storage.saved = saved;
  profile.storage.idle_read = Seconds(0.0001);
}

TEST_CASE("at a ceiling that was measured more workers bring nothing, and half of it cached twice as much") {
  const TrueJob truth = at_the_disk();
  Profile profile = made::profile_of(truth);
  const double guessed = half_width(answer(profile, {"workers=8"}));
  probe(profile, truth.sample_bytes / truth.disk_s, 0.0);

  TrueJob changed = truth;
  changed.workers = 8;
  const Prediction more = answer(profile, {"workers=8"});
  CHECK(more.throughput.mean.value() == doctest::Approx(made::play(changed).rate).epsilon(0.05));
  CHECK(half_width(more) < guessed);

  changed = truth;
  changed.miss = 0.5;
  const Prediction half = answer(profile, {"cache=50%", "cache_policy=minio"});
  CHECK(half.throughput.mean.value() == doctest::Approx(made::play(changed).rate).epsilon(0.08));

  changed = truth;
  changed.disk_s = 0.004;
  const Prediction slow = answer(profile, {"storage_bandwidth=27.5MB/s"});
  CHECK(slow.throughput.mean.value() == doctest::Approx(made::play(changed).rate).epsilon(0.08));
}

TEST_CASE("a token bucket caps the rate; whoever stays below it does not wait") {
  // Saturated: 500 samples a second, whatever the workers do. Read at once, each sample would take 0.1 ms.
  TrueJob truth = at_the_disk();
  truth.workers = 2;
  Profile profile = made::profile_of(truth);
  probe(profile, truth.sample_bytes / truth.disk_s, 1.0);
  const double found = profile.rates.as_is->mean.value();
  CHECK(answer(profile, {"workers=1"}).throughput.mean.value() == doctest::Approx(found).epsilon(0.05));
  // A disk of the same rate makes the one worker wait for each sample before it computes.
  probe(profile, truth.sample_bytes / truth.disk_s, 0.0);
  CHECK(answer(profile, {"workers=1"}).throughput.mean.value() < 0.92 * found);
}

TEST_CASE("where storage saves up, a read takes what it took the probe, however long the job's own waited") {
  Profile profile = made::profile_of(at_the_disk());
  probe(profile, 55e6, 1.0);
  const auto saving = job_model(profile);
  REQUIRE(saving.ok());
  Parameters longer;
  longer.storage = 0.4;
  const double probed_s = profile.storage.idle_read->value();
  CHECK(storage_cost(saving.value(), as_found(saving.value()), {}).latency_s == doctest::Approx(probed_s));
  CHECK(storage_cost(saving.value(), as_found(saving.value()), longer).latency_s == doctest::Approx(probed_s));

  probe(profile, 55e6, 0.0);  // here the job's waiting is all that tells of it
  const auto plain = job_model(profile);
  REQUIRE(plain.ok());
  const double found_s = storage_cost(plain.value(), as_found(plain.value()), {}).latency_s;
  CHECK(storage_cost(plain.value(), as_found(plain.value()), longer).latency_s > 1.2 * found_s);
}

TEST_CASE("where no probe reached a ceiling, other readers of the storage are doubtful, and what is in memory is not") {
  TrueJob truth = at_the_disk();
  truth.workers = 2;
  Profile profile = made::profile_of(truth);
  for (const char* phase : {"cold", "cached", "supply_cold", "supply_cached", "synthetic"}) {
    made::add_differential(profile, truth, phase, {{"workers", "2"}});
  }
  Profile seen = profile;
  probe(seen, truth.sample_bytes / truth.disk_s, 1.0);
  const double found = profile.rates.as_is->mean.value();
  const Prediction fewer = answer(profile, {"workers=1"});
  CHECK(half_width(fewer) > 2.0 * half_width(answer(seen, {"workers=1"})));
  CHECK(fewer.throughput.ci90_high.value() > 0.95 * found);  // it may be a token bucket
  const std::vector<std::string> cached{"workers=1", "cache=100%", "cache_policy=minio"};
  CHECK(half_width(answer(profile, cached)) == doctest::Approx(half_width(answer(seen, cached))).epsilon(0.2));
}

TEST_CASE("faster storage never slows a job down that a probe has shown") {
  for (const double saved : {0.0, 0.5, 1.0}) {
    Profile profile = made::profile_of(at_the_disk());
    probe(profile, 55e6, saved);
    double before = 0.0;
    for (const char* bandwidth : {"20MB/s", "40MB/s", "55MB/s", "80MB/s", "160MB/s", "1GB/s"}) {
      const double rate = answer(profile, {std::string("storage_bandwidth=") + bandwidth}).throughput.mean.value();
      CHECK(rate >= before * 0.995);
      before = rate;
    }
  }
}

TEST_CASE("bytes that a sample reads twice are read from storage once") {
  TrueJob truth = at_the_disk();
  Profile profile = made::profile_of(truth);
  Distribution sizes;
  for (int i = 0; i < 100; ++i) sizes.add(truth.sample_bytes);
  profile.dataset.file_size_bytes = sizes;
  profile.dataset.layout = "files";
  profile.dataset.bytes_per_sample = BytesPerSample(1.2 * truth.sample_bytes);
  const auto job = job_model(profile);
  REQUIRE(job.ok());
  CHECK(*job.value().sample_bytes == doctest::Approx(truth.sample_bytes).epsilon(0.01));
  CHECK(job.value().miss == doctest::Approx(1.0).epsilon(0.01));
  CHECK(*job.value().stored_bytes < 1.1 * truth.sample_bytes);
}

TEST_CASE("what the kernel reads ahead takes its part of the storage's bandwidth") {
  const TrueJob truth = at_the_disk();
  Profile profile = made::profile_of(truth);
  const auto at = [&profile](const char* bandwidth) { return answer(profile, {bandwidth}).throughput.mean.value(); };
  const double before = at("storage_bandwidth=10MB/s");
  profile.dataset.stored_bytes_per_sample = BytesPerSample(4.0 * truth.sample_bytes);
  CHECK(at("storage_bandwidth=10MB/s") == doctest::Approx(before / 4.0).epsilon(0.05));
}

TEST_CASE("a ceiling that is hardly known gives answers that are hardly known") {
  const TrueJob truth = at_the_disk();
  Profile profile = made::profile_of(truth);
  probe(profile, 1.2 * truth.sample_bytes / truth.disk_s, 0.0);
  const Prediction sure = answer(profile, {"workers=8"});
  const BytesPerSecond most = profile.storage.ceiling_bandwidth->mean;
  profile.storage.ceiling_bandwidth = Estimate<BytesPerSecond>{most, 0.65 * most, 1.35 * most, 3};
  const Prediction doubtful = answer(profile, {"workers=8"});
  CHECK(half_width(doubtful) > 1.5 * half_width(sure));
  TrueJob changed = truth;
  changed.workers = 8;
  CHECK(doubtful.throughput.ci90_low.value() < made::play(changed).rate);
}

TEST_CASE("a read of the idle storage is no longer than those of the job: more workers do not take longer") {
  const TrueJob truth = at_the_disk();
  Profile profile = made::profile_of(truth);
  probe(profile, truth.sample_bytes / truth.disk_s, 1.0);
  const double before = answer(profile, {"workers=4"}).throughput.mean.value();
  profile.storage.idle_read = Seconds(0.1);  // the first read after a pause took long
  CHECK(answer(profile, {"workers=4"}).throughput.mean.value() > 0.5 * before);
}

TEST_CASE("the job's quickest reads tell of idle storage, where all of them came from there") {
  Profile profile = made::profile_of(at_the_disk());
  probe(profile, 55e6, 1.0);
  profile.storage.idle_read = Seconds(0.002);
  Distribution reads;
  for (int i = 0; i < 100; ++i) reads.add(i < 40 ? 0.0005 : 0.01);
  profile.resources.distributions["sample_read_s"] = reads;
  CHECK(*job_model(profile).value().idle_read_s == doctest::Approx(0.0005).epsilon(0.1));
  profile.resources.bytes_from_storage = Measured<Fraction>::absent("not counted");
  CHECK(*job_model(profile).value().idle_read_s == doctest::Approx(0.002).epsilon(0.1));
}

TEST_CASE("a ceiling of gigabytes a second is a ceiling like any other") {
  const TrueJob truth = at_the_disk();
  Profile profile = made::profile_of(truth);
  for (const double ceiling : {0.5e9, 2e9, 20e9}) {
    probe(profile, ceiling, 0.0);
    const auto job = job_model(profile);
    REQUIRE(job.ok());
    REQUIRE(job.value().storage_demand_s);
    CHECK(*job.value().storage_demand_s == doctest::Approx(truth.sample_bytes / ceiling));
  }
}

TEST_CASE("a cache of data that come over the network is the loader's own, never Linux'") {
  const TrueJob truth = at_the_disk();
  const Profile files = made::profile_of(truth);
  Profile network = files;
  network.dataset.layout = "network";
  network.dataset.filesystem.clear();
  const auto rate = [](const Profile& profile, const std::vector<std::string>& settings) {
    return answer(profile, settings).throughput.mean.value();
  };
  CHECK(rate(network, {"cache=50%"}) == rate(files, {"cache=50%", "cache_policy=minio"}));
  CHECK(rate(network, {"cache=50%"}) > rate(files, {"cache=50%"}));
  const auto refused = predict(network, made::ask({"cache=50%", "cache_policy=page-cache"}));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::usage);
  CHECK(refused.error().hint.find("minio") != std::string::npos);
}

}  // namespace
}  // namespace stallcast
