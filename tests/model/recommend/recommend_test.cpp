#include "model/recommend/recommend.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "model/predict/prediction_json.hpp"
#include "model/recommend/recommendation_json.hpp"
#include "tests/model/made_profile.hpp"

namespace stallcast {
namespace {

using made::profile_of;
using made::TrueJob;

Recommendation advice_for(const Profile& profile) {
  auto recommendation = recommend(profile);
  REQUIRE(recommendation.ok());
  return recommendation.value();
}

bool has(const std::vector<std::string>& lines, const char* words) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(words) != std::string::npos; });
}

TEST_CASE("a starved job gets the knee, not the maximum") {
  TrueJob job;
  job.cores = 16.0;
  job.cpu_s = 0.01;  // 320 ms a batch for a step of 104 ms: 3.1 workers
  const Recommendation out = advice_for(profile_of(job));
  CHECK(out.change_loader);
  CHECK(out.best.workers >= 4);
  CHECK(out.best.workers <= 5);
  CHECK(out.gain.mean == doctest::Approx(0.55).epsilon(0.1));
  CHECK(out.gain.ci90_low > 0.4);
  CHECK(out.verdict.rfind("change", 0) == 0);
  CHECK(out.loader_line.find("num_workers=" + std::to_string(out.best.workers)) != std::string::npos);
  CHECK(out.loader_line.rfind("DataLoader(dataset, batch_size=32, shuffle=True, ", 0) == 0);
  CHECK(out.loader_line.find("persistent_workers=True") != std::string::npos);
  TrueJob changed = job;
  changed.workers = out.best.workers;
  changed.prefetch = out.best.prefetch;
  CHECK(out.predicted.throughput.mean.value() == doctest::Approx(made::play(changed).rate).epsilon(0.02));
}

TEST_CASE("a compute-bound job is told to change nothing") {
  TrueJob job;
  job.cpu_s = 0.002;
  job.miss = 0.5;
  job.latency_s = 0.001;
  const Recommendation out = advice_for(profile_of(job));
  CHECK_FALSE(out.change_loader);
  CHECK(out.verdict.rfind("change nothing", 0) == 0);
  CHECK(out.remedies.empty());
  CHECK(out.best == out.found);
  CHECK(out.loader_line.find("num_workers=2") != std::string::npos);
  CHECK(out.loader_line.find("persistent_workers=False") != std::string::npos);
}

TEST_CASE("a job that was seen to wait where the model has it not wait is not told that it hardly waits") {
  TrueJob job;
  job.cpu_s = 0.002;
  Profile profile = profile_of(job);
  profile.stalls.as_is_wait = Estimate<Fraction>{0.18, 0.10, 0.25, 100};
  CHECK(advice_for(profile).verdict.find("does not tell what for") != std::string::npos);
  profile.stalls.as_is_wait = Estimate<Fraction>{0.02, 0.01, 0.03, 100};
  CHECK(advice_for(profile).verdict == "change nothing: the job hardly waits for data");
}

TEST_CASE("no number of workers is named of a loader of another library that does not tell its own") {
  TrueJob job;
  job.cores = 16.0;
  job.cpu_s = 0.01;
  Profile profile = profile_of(job);
  profile.job.loader_kind = "keras";
  CHECK(advice_for(profile).loader_line.find("PyDataset(workers=4, ") == 0);
  profile.job.num_workers = Measured<std::int64_t>::absent("the loader does not say");
  const Recommendation out = advice_for(profile);
  CHECK_FALSE(out.change_loader);
  CHECK(out.loader_line == "PyDataset(workers=..., use_multiprocessing=True, max_queue_size=...)");
  CHECK(out.verdict.find("how many workers make its batches is not known") != std::string::npos);
}

TEST_CASE("a loader of workers that read ahead in threads of their own keeps its number of workers") {
  Profile profile = profile_of(TrueJob{});
  profile.job.loader_kind = "iterable";
  profile.job.composition = "overlapped";
  profile.job.num_workers = 4;
  const Recommendation out = advice_for(profile);
  CHECK_FALSE(out.change_loader);
  CHECK(out.loader_line.find("num_workers=4") != std::string::npos);
}

TEST_CASE("a job short of cores is not sent after workers, but told what cores would bring") {
  TrueJob job;
  job.workers = 4;
  job.cores = 2.0;
  job.cpu_s = 0.02;
  const Recommendation out = advice_for(profile_of(job));
  CHECK_FALSE(out.change_loader);
  REQUIRE_FALSE(out.remedies.empty());
  CHECK(out.remedies.front().title.rfind("twice the CPU cores", 0) == 0);
  CHECK(out.remedies.front().gain.mean > 0.7);
}

TEST_CASE("a job that waits for its storage is offered a cache and faster storage, ranked") {
  TrueJob job;
  job.workers = 4;
  job.cores = 8.0;
  job.cpu_s = 0.002;
  job.disk_s = 0.008;
  job.miss = 1.0;
  Profile profile = profile_of(job);
  for (const char* phase : {"cold", "cached", "synthetic", "supply_cold", "supply_cached"}) {
    made::add_differential(profile, job, phase, {});
  }
  TrueJob two = job;
  two.workers = 2;
  made::add_differential(profile, two, "supply_cold", {{"workers", "2"}});
  const Recommendation out = advice_for(profile);
  CHECK_FALSE(out.change_loader);  // the disk is busy already
  REQUIRE(out.remedies.size() >= 2);
  CHECK(out.remedies[0].title.find("in memory") != std::string::npos);
  CHECK(out.remedies[1].title.find("storage of twice") != std::string::npos);
  CHECK(out.remedies[0].gain.mean >= out.remedies[1].gain.mean);
  CHECK(out.remedies[1].gain.mean == doctest::Approx(1.0).epsilon(0.1));
  CHECK(has(out.without_gain, "CPU cores"));
}

TEST_CASE("memory and /dev/shm limit the workers that are asked for") {
  TrueJob job;
  job.cores = 32.0;
  job.cpu_s = 0.03;
  Profile profile = profile_of(job);
  profile.resources.page_cache_available = Bytes(1e9);
  profile.resources.worker_memory = Bytes(250e6);
  Recommendation out = advice_for(profile);
  CHECK(out.best.workers == 4);  // half of 1 GB holds two more
  CHECK(has(out.notes, "memory allows"));
  profile.host.shm_free = Bytes(64e6);
  out = advice_for(profile);
  CHECK(out.best.workers <= 2);
  CHECK(has(out.notes, "/dev/shm"));
}

TEST_CASE("loading in the consumer is right where handing over costs most and there is no room for more workers") {
  TrueJob job;
  job.workers = 1;
  job.cores = 1.0;
  job.step_cpu_s = 0.1;
  job.device_s = 0.0001;
  job.cpu_s = 0.0001;
  job.other_s = 0.004;  // handing over costs forty times the making
  Profile profile = profile_of(job);
  profile.resources.worker_memory = Bytes(1e12);
  profile.resources.handover = Estimate<SecondsPerSample>{SecondsPerSample(0.004), {}, {}, 300};
  const Recommendation out = advice_for(profile);
  CHECK(out.change_loader);
  CHECK(out.best.workers == 0);
  CHECK(out.loader_line.find("num_workers=0") != std::string::npos);
  CHECK(out.loader_line.find("prefetch_factor") == std::string::npos);
  profile.job.loader_kind = "function";
  profile.job.dataset_type = "get_batch";
  CHECK(advice_for(profile).loader_line.rfind("get_batch behind DataLoader(dataset, ", 0) == 0);
  profile.job.num_workers = std::int64_t{0};
  CHECK(advice_for(profile).loader_line == "get_batch as it is, in the training process");
}

TEST_CASE("batches of a function that JAX or TensorFlow trains with are made ahead by Grain") {
  TrueJob job;
  job.cores = 16.0;
  job.cpu_s = 0.01;
  Profile profile = profile_of(job);
  profile.job.loader_kind = "function";
  profile.job.dataset_type = "get_batch";
  for (const char* framework : {"jax", "tensorflow"}) {
    profile.job.framework = framework;
    const Recommendation out = advice_for(profile);
    REQUIRE(out.best.workers > 0);
    CHECK(out.loader_line ==
          "get_batch behind grain's IterDataset.mp_prefetch(grain.MultiprocessingOptions(num_workers=" +
              std::to_string(out.best.workers) + ", per_worker_buffer_size=" + std::to_string(out.best.prefetch) +
              "))");
  }
}

TEST_CASE("what the profile cannot say is listed, and a profile that says nothing is refused") {
  TrueJob job;
  job.cpu_s = 0.01;
  const Recommendation out = advice_for(profile_of(job));
  const bool cache = std::any_of(out.unanswered.begin(), out.unanswered.end(),
                                 [](const KeyAvailability& key) { return key.key == "cache"; });
  CHECK(cache);
  CHECK_FALSE(recommend(Profile{}).ok());
}

TEST_CASE("a recommendation as JSON") {
  TrueJob job;
  job.cores = 16.0;
  job.cpu_s = 0.01;
  const Recommendation out = advice_for(profile_of(job));
  const auto json = to_json(out);
  CHECK(json["schema_version"] == 1);
  CHECK(json["loader"]["num_workers"] == out.best.workers);
  CHECK(json["loader_found"]["num_workers"] == 2);
  CHECK(json["gain_frac"]["mean"].get<double>() == out.gain.mean);
  CHECK(json["remedies"].is_array());
  CHECK(json["as_found"]["throughput_samples_per_s"].contains("ci90_high"));
  CHECK_FALSE(json.dump().empty());
}

}  // namespace
}  // namespace stallcast
