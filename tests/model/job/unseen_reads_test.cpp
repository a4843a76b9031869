/// Data read through maps of their files: what cannot be asked of such a profile, and how little more workers may
/// bring.
#include "model/job/unseen_reads.hpp"

#include <algorithm>

#include "tests/model/asking.hpp"
#include "tests/model/made_profile.hpp"

namespace stallcast {
namespace {

using made::answer;
using made::ask;

/// Waits for its loader, whose workers mostly sleep.
Profile of_maps() {
  made::TrueJob job;
  job.device_s = 0.02;
  job.cpu_s = 0.001;
  job.other_s = 0.004;
  Profile profile = made::profile_of(job);
  profile.issues.push_back({"reads-unseen", Severity::warning, 1, "", ""});
  return profile;
}

TEST_CASE("a moment in reads, where no byte of data was seen, is no reading of storage") {
  Profile profile = made::profile_of(made::TrueJob{});
  profile.resources.bytes_from_storage = Measured<Fraction>::absent("no read of a file was seen");
  profile.resources.read_from_memory = MeasuredEstimate<SecondsPerSample>::absent("no read of a file was seen");
  const auto noted = [](const JobModel& job) {
    return std::any_of(job.notes.begin(), job.notes.end(), [](const std::string& note) {
      return note.find("every read is taken to have come from there") != std::string::npos;
    });
  };
  const auto reading = [wall = profile.resources.worker_wall->mean.value()](double share) {
    const SecondsPerSample each(share * wall);
    return Estimate<SecondsPerSample>{each, each, each, 100};
  };
  profile.resources.read = reading(0.001);
  CHECK_FALSE(noted(job_model(profile).value()));
  CHECK(job_model(profile).value().storage_s.value_or(0.0) == 0.0);
  profile.resources.read = reading(0.02);
  CHECK(noted(job_model(profile).value()));
  CHECK(*job_model(profile).value().storage_s > 0.0);
}

}  // namespace

TEST_CASE("what would change where mapped bytes come from is refused with the reason") {
  for (const char* setting :
       {"cache=100%", "cache=35%", "storage_bandwidth=1GB/s", "storage_iops=10k/s", "layout=shards:1GiB"}) {
    CAPTURE(setting);
    const auto refused = predict(of_maps(), ask({setting}));
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == ErrorCode::not_enough_data);
    CHECK(refused.error().what.find("through maps of files") != std::string::npos);
    CHECK(refused.error().hint == "needed: a data set that the loader's own processes read with read()");
  }
}

TEST_CASE("where reading was told from preparing, the warning changes nothing") {
  Profile told = of_maps();
  told.stalls.as_is_fetch = Estimate<Fraction>{0.0, 0.0, 0.01, 300};
  CHECK(answer(told, {}).bound == "prep");
}

TEST_CASE("what page faults of the training thread took can be taken away whole, and no part of it") {
  made::TrueJob job;
  job.workers = 0;
  job.device_s = 0.02;
  job.cpu_s = 0.001;
  job.latency_s = 0.004;
  job.miss = 1.0;
  Profile profile = made::profile_of(job);
  profile.job.loader_kind = "function";
  profile.dataset.bytes_per_sample = Measured<BytesPerSample>::absent("mapped");
  profile.resources.bytes_from_storage = Measured<Fraction>::absent("no read of a file was seen");
  profile.stalls.as_is_fetch = Estimate<Fraction>{0.5, 0.49, 0.51, 300};
  REQUIRE(profile.resources.read);
  CHECK(answer(profile, {"cache=100%"}).throughput.mean.value() > 1.5 * answer(profile, {}).throughput.mean.value());
  for (const char* setting : {"cache=35%", "cache_policy=minio", "storage_bandwidth=1GB/s", "layout=shards:1GiB"}) {
    CAPTURE(setting);
    const auto refused = predict(profile, ask({setting}));
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == ErrorCode::not_enough_data);
    CHECK(refused.error().what.find("page faults") != std::string::npos);
    CHECK(refused.error().hint.find("cache=100% can be asked; else needed: a data set that") == 0);
  }
}

TEST_CASE("the loader binds, and what of it is storage stays open") {
  const Prediction found = answer(of_maps(), {});
  CHECK(found.bound == "loader");
  Profile seen = of_maps();
  seen.issues.clear();
  CHECK(answer(seen, {}).bound == "prep");
  // Four times the workers bring twice the samples or more where nothing is shared, and next to nothing where storage
  // is all of it.
  const Prediction more = answer(of_maps(), {"workers=8"});
  CHECK(made::half_width(more) > 1.5 * made::half_width(answer(seen, {"workers=8"})));
  CHECK(std::any_of(more.notes.begin(), more.notes.end(),
                    [](const std::string& note) { return note.find("not seen") != std::string::npos; }));
}

TEST_CASE("more workers are not promised to help where they may all wait for one disk") {
  auto predictor = Predictor::make(of_maps());
  REQUIRE(predictor.ok());
  const auto gain = predictor.value().gain(ask({"workers=8"}), {});
  REQUIRE(gain.ok());
  CHECK(gain.value().mean > 0.5);
  CHECK(gain.value().ci90_low <= 0.0);
}

TEST_CASE("where cold and cached blocks were made of maps, a cache and another storage are predicted") {
  made::TrueJob job;
  job.device_s = 0.02;
  job.cpu_s = 0.001;
  job.latency_s = 0.004;
  job.miss = 1.0;
  Profile profile = made::profile_of(job);
  profile.issues.push_back({"reads-unseen", Severity::warning, 1, "", ""});
  profile.stalls.as_is_fetch = profile.stalls.as_is_prep = MeasuredEstimate<Fraction>::absent("maps");
  const auto nothing = MeasuredEstimate<SecondsPerSample>(
      Estimate<SecondsPerSample>{SecondsPerSample(1e-6), SecondsPerSample(1e-6), SecondsPerSample(1e-6), 300});
  profile.resources.read = profile.resources.read_from_memory = nothing;
  profile.resources.bytes_from_storage = Measured<Fraction>::absent("maps");
  profile.dataset.bytes_per_sample = Measured<BytesPerSample>::absent("maps");
  REQUIRE_FALSE(predict(profile, ask({"cache=100%"})).ok());

  made::TrueJob cached = job;
  cached.miss = 0.0;
  profile.dataset.stored_bytes_per_sample = BytesPerSample(400e3);
  profile.resources.bytes_from_storage = 1.0;
  const auto wall = [](double seconds) {
    return Estimate<SecondsPerSample>{SecondsPerSample(seconds), SecondsPerSample(0.99 * seconds),
                                      SecondsPerSample(1.01 * seconds), 5};
  };
  profile.resources.worker_wall_cold = wall(0.0052);
  CHECK_FALSE(predict(profile, ask({"cache=100%"})).ok());  // how long a batch from memory takes is not known
  profile.resources.worker_wall_cached = wall(0.0012);
  made::add_differential(profile, job, "cold", {});
  made::add_differential(profile, cached, "cached", {});
  const double truth = made::play(cached).rate;
  CHECK(answer(profile, {"cache=100%"}).throughput.mean.value() == doctest::Approx(truth).epsilon(0.05));
  CHECK(answer(profile, {}).throughput.mean.value() == doctest::Approx(made::play(job).rate).epsilon(0.05));
  CHECK(answer(profile, {}).bound == "fetch");
  CHECK(predict(profile, ask({"storage_bandwidth=50MB/s"})).ok());
  const auto refused = predict(profile, ask({"layout=shards:1GiB"}));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().what.find("what a sample takes of its file") != std::string::npos);
}

}  // namespace stallcast
