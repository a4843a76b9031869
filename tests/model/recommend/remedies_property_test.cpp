/// How the data lies: properties that hold for any job.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/model/asking.hpp"
#include "tests/model/data_in_files.hpp"

namespace stallcast {
namespace {

using made::ask;
using made::TrueJob;
using Words = std::vector<std::string>;

/// The analytic form is off by a percent where cores are crowded (model/analytic/closed_form.hpp), for a larger cache
/// as for these.
constexpr double k_form_misses = 0.985;

/// The rates of `settings` in their order, by the analytic form, and the first that is lower than one before it.
void check_remedies_never_lower(Predictor& predictor, const std::vector<Words>& settings) {
  double before = 0.0;
  for (const Words& each : settings) {
    CAPTURE(each.back());
    const auto now = predictor.closed_form_rate(ask(each));
    REQUIRE(now.ok());
    CHECK(now.value() >= before * k_form_misses);
    before = std::max(before, now.value());
  }
}

TEST_CASE("of random jobs: more of a good thing never lowers the rate, and no remedy takes from what there is") {
  std::mt19937_64 random(301);
  int tried = 0;
  while (tried < 25) {
    const TrueJob job = made::random_job(random);
    if (job.miss <= 0.0 || job.latency_s + job.disk_s < 1e-4) continue;
    ++tried;
    CAPTURE(tried);
    Profile profile = made::in_files(job, 0.3);
    const double idle_s = job.latency_s + job.disk_s;
    const double share = 0.1 + 0.8 * static_cast<double>(random() % 1000) / 1000.0;
    const double ceiling = job.disk_s > 0.0 ? job.sample_bytes / job.disk_s : 9e8;
    made::probe(profile, share * idle_s, job.sample_bytes / ((1.0 - share) * idle_s), ceiling);
    auto made = Predictor::make(profile);
    REQUIRE(made.ok());
    Predictor& predictor = made.value();
    check_remedies_never_lower(predictor, {{"layout=files"},
                                           {"layout=shards:110KB"},
                                           {"layout=shards:300KB"},
                                           {"layout=shards:1MB"},
                                           {"layout=shards:16MB"},
                                           {"layout=shards:1GB"}});
    check_remedies_never_lower(predictor,
                               {{"metadata=remote"}, {"metadata=snapshot"}, {"metadata=snapshot", "cache=100%"}});
    check_remedies_never_lower(predictor, {{"storage_iops=10/s"},
                                           {"storage_iops=200/s"},
                                           {"storage_iops=5k/s"},
                                           {"storage_iops=1M/s"},
                                           {"staging=none"}});
    check_remedies_never_lower(predictor, {{"staging=before", "local_disk_bandwidth=3MB/s"},
                                           {"staging=before", "local_disk_bandwidth=50MB/s"},
                                           {"staging=before", "local_disk_bandwidth=5GB/s"},
                                           {"staging=before", "local_disk_bandwidth=5GB/s", "cache=100%"}});
    check_remedies_never_lower(predictor, {{"staging=overlap", "local_disk_bandwidth=50GB/s", "local_disk=0B"},
                                           {"staging=overlap", "local_disk_bandwidth=50GB/s", "local_disk=2GB"},
                                           {"staging=overlap", "local_disk_bandwidth=50GB/s", "local_disk=1TB"}});
  }
}

}  // namespace
}  // namespace stallcast
