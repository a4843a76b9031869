#include <doctest/doctest.h>

#include <algorithm>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

TEST_CASE("the share of the bytes that came from storage is found, and with it cold and cached") {
  for (const double share : {1.0, 0.5, 0.0}) {
    JobSpec spec = fetch_bound();
    spec.storage_share = share;
    const Profile profile = analyze_run(make_run(spec));
    REQUIRE(profile.resources.bytes_from_storage.has_value());
    CHECK(std::abs(*profile.resources.bytes_from_storage - share) < 0.02);
    REQUIRE(profile.premises.size() == 2);
    CHECK(profile.premises[0].phase == "cold");
    CHECK(profile.premises[0].holds == (share == 1.0));
    CHECK(profile.premises[1].phase == "cached");
    CHECK(profile.premises[1].holds == (share == 0.0));
    CHECK(profile.rates.cold.has_value() == (share == 1.0));
    CHECK(profile.stalls.fetch.has_value() == (share == 1.0));
    CHECK(profile.rates.supply_cold.has_value() == (share == 1.0));
  }
}

TEST_CASE("what was read before the first batch (imports, a checkpoint) is no reading of samples") {
  JobSpec spec = prep_bound();
  spec.storage_share = 0.0;
  spec.startup_s = 3.0;
  RunData run = make_run(spec);
  for (std::size_t i = 1; i < run.log.ticks.size(); ++i) run.log.ticks[i].tree_read_bytes += 5'000'000'000;
  const Profile profile = analyze_run(run);
  REQUIRE(profile.resources.bytes_from_storage.has_value());
  CHECK(*profile.resources.bytes_from_storage == 0.0);
  CHECK(profile.resources.storage_bandwidth->value() == 0.0);
}

TEST_CASE("a run as found that read everything from storage is the cold run") {
  const Profile profile = analyze_run(make_run(fetch_bound()));
  CHECK(profile.rates.cold->mean == profile.rates.as_is->mean);
  CHECK(profile.stalls.fetch->mean == profile.stalls.as_is_fetch->mean);
  CHECK(profile.stalls.prep->mean == profile.stalls.as_is_prep->mean);
}

TEST_CASE("without /proc/PID/io nothing is claimed about the cache") {
  RunData run = make_run(fetch_bound());
  for (Tick& tick : run.log.ticks) tick.tree_read_bytes = -1;
  const Profile profile = analyze_run(run);
  CHECK_FALSE(profile.resources.bytes_from_storage.has_value());
  CHECK(profile.premises.empty());
  CHECK_FALSE(profile.rates.cold.has_value());
  CHECK(profile.rates.cold.reason().find("/proc/PID/io") != std::string::npos);
  CHECK(profile.stalls.as_is_fetch.has_value());
}
