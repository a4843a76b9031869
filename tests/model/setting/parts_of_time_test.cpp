/// Streams, whose shards a cache holds whole, and page caches, whose hits fall over an epoch.
#include "model/setting/parts_of_time.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "model/analytic/cache.hpp"
#include "tests/model/asking.hpp"
#include "tests/model/made_profile.hpp"

namespace stallcast {
namespace {

using made::answer;
using made::TrueJob;

/// A stream of 200 samples/s from storage and far more from memory, as its blocks tell it.
Profile stream() {
  TrueJob job;
  job.cores = 8.0;
  job.batch = 8.0;
  job.cpu_s = 0.0005;
  job.device_s = 0.023;
  job.disk_s = 0.005;
  job.miss = 1.0;
  job.cv_make = job.cv_step = 0.01;
  Profile profile = made::profile_of(job);
  profile.job.loader_kind = "iterable";
  profile.dataset.layout = "shards";
  for (const char* phase : {"cold", "cached", "synthetic"}) {
    made::add_differential(profile, job, phase, {{"workers", "2"}});
  }
  return profile;
}

double rate_of(const Profile& profile, const std::vector<std::string>& settings) {
  return answer(profile, settings).throughput.mean.value();
}

TEST_CASE("the pace of a stream is that of the slower of storage and workers, however many of them read") {
  const Profile profile = stream();
  CHECK(rate_of(profile, {"workers=1"}) == doctest::Approx(200.0).epsilon(0.03));
  CHECK(rate_of(profile, {"workers=4"}) == doctest::Approx(200.0).epsilon(0.03));
  const double bytes = profile.dataset.bytes_per_sample->value();
  const auto storage = [&](double samples_per_s) {
    return "storage_bandwidth=" + std::to_string(std::llround(samples_per_s * bytes)) + "B/s";
  };
  CHECK(rate_of(profile, {storage(100.0)}) == doctest::Approx(100.0).epsilon(0.03));
  CHECK(rate_of(profile, {storage(260.0)}) == doctest::Approx(260.0).epsilon(0.03));
}

TEST_CASE("of a cache that holds shards whole, the time is the mean over how many workers read from storage") {
  const Profile profile = stream();
  const double memory = rate_of(profile, {"cache=100%", "cache_policy=minio"});
  REQUIRE(memory == doctest::Approx(296.0).epsilon(0.03));
  // Worked in parts_of_time.hpp: storage binds only while both read from there.
  const double both = 0.65 * 0.65;
  const double expected = 1.0 / (both / 200.0 + (1.0 - both) / memory);
  CHECK(rate_of(profile, {"cache=35%", "cache_policy=minio"}) == doctest::Approx(expected).epsilon(0.03));
}

/// The same stream in shards of 10 MB, read ahead by up to 8 MiB in one piece.
Profile stream_of_shards() {
  Profile profile = stream();
  Distribution sizes;
  for (int i = 0; i < 20; ++i) sizes.add(10e6);
  profile.dataset.file_size_bytes = sizes;
  profile.storage.read_ahead = Bytes(8388608.0);
  profile.storage.at_once = Bytes(8388608.0);
  return profile;
}

TEST_CASE("one reader of shards of a few windows leaves storage idle while it computes") {
  // A step takes 2.9 ms of a sample, its storage 5: without workers they overlap by a part.
  const double alone = rate_of(stream_of_shards(), {"workers=0"});
  CHECK(alone < 0.95 * rate_of(stream(), {"workers=0"}));
  CHECK(alone > 1.0 / (0.005 + 0.0029 + 0.0007));
  // A worker hides its storage, but for what it computes while nothing more is read.
  const double worker = rate_of(stream_of_shards(), {"workers=1"});
  CHECK(worker > alone);
  CHECK(worker <= 200.0 * 1.03);
  // Two workers of a cache that holds half: where one reads from storage, it holds up the other.
  const std::vector<std::string> half{"cache=50%", "cache_policy=minio"};
  CHECK(rate_of(stream_of_shards(), half) <= 1.001 * rate_of(stream(), half));
}

TEST_CASE("files that are read beside the shards do not make these small") {
  Profile beside = stream_of_shards();
  Distribution sizes = *beside.dataset.file_size_bytes;
  for (int i = 0; i < 57; ++i) sizes.add(40.0);
  beside.dataset.file_size_bytes = sizes;
  const double expected = rate_of(stream_of_shards(), {"workers=0"});
  CHECK(rate_of(beside, {"workers=0"}) == doctest::Approx(expected).epsilon(0.01));
}

TEST_CASE("the parts of a setting add up to it") {
  const auto job = job_model(stream());
  REQUIRE(job.ok());
  for (const char* cached : {"cache=35%", "cache=70%"}) {
    const auto setting = resolve(job.value(), made::ask({cached, "cache_policy=minio", "workers=3"}));
    REQUIRE(setting.ok());
    double weight = 0.0;
    double miss = 0.0;
    for (const PartOfTime& part : parts_of_time(job.value(), setting.value())) {
      weight += part.weight;
      miss += part.weight * part.setting.miss;
    }
    CHECK(weight == doctest::Approx(1.0));
    CHECK(miss == doctest::Approx(setting.value().miss));
  }
  CHECK(parts_of_time(job.value(), as_found(job.value())).size() == 1);
  Profile files = stream();
  files.job.loader_kind = "map";  // samples of any file, in any order
  const auto of_files = job_model(files);
  REQUIRE(of_files.ok());
  const auto cached = resolve(of_files.value(), made::ask({"cache=35%", "cache_policy=minio"}));
  REQUIRE(cached.ok());
  CHECK(parts_of_time(of_files.value(), cached.value()).size() == 1);
}

/// A job of files, of which storage gives 190 a second and its cores 361.
Profile of_files() {
  TrueJob job;
  job.cores = 8.0;
  job.batch = 19.0;
  job.cpu_s = 0.001;
  job.device_s = 19.0 / 370.0;
  job.disk_s = 1.0 / 190.0;
  job.miss = 1.0;
  job.cv_make = job.cv_step = 0.01;
  Profile profile = made::profile_of(job);
  for (const char* phase : {"cold", "cached", "synthetic"}) {
    made::add_differential(profile, job, phase, {{"workers", "2"}});
  }
  return profile;
}

TEST_CASE("over an epoch the hits of a page cache fall, and the job takes longer than at their mean") {
  const Profile profile = of_files();
  const double memory = rate_of(profile, {"cache=100%"});
  const double storage = rate_of(profile, {"cache=0%"});
  double seconds = 0.0;
  constexpr int k_places = 1000;
  for (int i = 0; i < k_places; ++i) {
    const double miss = 1.0 - PageCacheEpoch(0.76, 1).at((i + 0.5) / k_places).mean;
    seconds += std::max(1.0 / memory, miss / storage) / k_places;
  }
  const double at_mean = std::min(memory, storage / (1.0 - hit_page_cache(0.76).mean));
  const double rate = rate_of(profile, {"cache=76%", "cache_policy=page-cache"});
  CHECK(rate == doctest::Approx(1.0 / seconds).epsilon(0.03));
  CHECK(rate < 0.93 * at_mean);
  // A cache that never evicts serves as much all the time.
  const double mean_hits = 100.0 * hit_page_cache(0.76).mean;
  const double even = rate_of(profile, {"cache=" + std::to_string(mean_hits) + "%", "cache_policy=minio"});
  CHECK(even == doctest::Approx(at_mean).epsilon(0.03));
}

TEST_CASE("the parts of an epoch add up to it") {
  const auto job = job_model(of_files());
  REQUIRE(job.ok());
  for (const std::vector<std::string>& ask : {std::vector<std::string>{"cache=35%"}, {"cache=76%"}}) {
    const auto setting = resolve(job.value(), made::ask(ask));
    REQUIRE(setting.ok());
    const auto parts = parts_of_time(job.value(), setting.value());
    REQUIRE(parts.size() > 1);
    Setting sum;
    for (const PartOfTime& part : parts) {
      sum.miss += part.weight * part.setting.miss;
      sum.miss_least += part.weight * part.setting.miss_least;
      sum.miss_most += part.weight * part.setting.miss_most;
    }
    CHECK(std::abs(sum.miss - setting.value().miss) < 0.002);
    CHECK(std::abs(sum.miss_least - setting.value().miss_least) < 0.002);
    CHECK(std::abs(sum.miss_most - setting.value().miss_most) < 0.002);
    CHECK(parts.front().setting.miss < parts.back().setting.miss);
  }
}

}  // namespace
}  // namespace stallcast
