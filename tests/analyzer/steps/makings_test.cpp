#include "analyzer/steps/makings.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;
using sections::EpochMaking;
using sections::levels_of;
using sections::MakingLevel;

namespace {

std::vector<EpochMaking> epochs_of(const std::vector<double>& milliseconds) {
  std::vector<EpochMaking> epochs;
  for (const double ms : milliseconds) {
    EpochMaking epoch;
    epoch.epoch = static_cast<std::int64_t>(epochs.size()) + 1;
    epoch.seconds_per_sample = ms * 1e-3;
    epochs.push_back(epoch);
  }
  return epochs;
}

/// Steps of 30 ms on 8 samples that 2 workers make.
std::vector<MakingLevel> levels(const std::vector<double>& milliseconds) {
  return levels_of(epochs_of(milliseconds), 0.03, 8.0, 2.0);
}

std::vector<EpochMaking> makings(const JobSpec& spec, void (*change)(Delivery&) = nullptr) {
  RunData run = make_run(spec);
  for (Pass& pass : run.consumers.front().passes) {
    for (Delivery& delivery : pass.deliveries) {
      if (change != nullptr) change(delivery);
    }
  }
  sections::RankView rank{&run.consumers.front(), steady_window(run.consumers.front()), &run, 0};
  return sections::makings_by_epoch({rank});
}

}  // namespace

TEST_CASE("a cache that fills: the first epoch, those on the way, and those since") {
  const auto found = levels({10, 5.1, 2.4, 0.5, 0.4, 0.4});
  REQUIRE(found.size() == 3);
  CHECK(found[0].last == 0);
  CHECK(found[1].first == 1);
  CHECK(found[1].last == 2);
  CHECK(found[2].first == 3);
  CHECK(found[2].last == 5);
  const auto at_once = levels({10, 0.5, 0.4});
  REQUIRE(at_once.size() == 2);
  CHECK(at_once[1].first == 1);
}

TEST_CASE("making may take longer later, as well") {
  const auto found = levels({1, 1.1, 6});
  REQUIRE(found.size() == 2);
  CHECK(found[0].last == 1);
  CHECK(found[1].first == 2);
}

TEST_CASE("what scatters, or is nothing to a step, is one level") {
  CHECK(levels({10, 8, 11, 6}).empty());
  CHECK(levels({10}).empty());
  CHECK(levels({}).empty());
  CHECK(levels({0.3, 0.1}).empty());                                       // 0.8 ms of a step of 30
  CHECK(levels_of(epochs_of({0.3, 0.1}), 0.003, 8.0, 2.0).size() == 2);    // of 3 ms
  CHECK(levels_of(epochs_of({10, 1}), 0.03, 8.0, 0.0).front().last == 0);  // without workers
}

TEST_CASE("an epoch's making is its makers' own time: reads and waiting for cores apart") {
  JobSpec spec = fetch_bound();
  spec.passes = 2;
  spec.batches = 60;
  const auto usual = makings(spec);
  REQUIRE(usual.size() == 2);
  CHECK(usual[1].epoch == 2);
  CHECK(usual[1].begin_ns >= usual[0].end_ns);
  CHECK(near(usual[0].seconds_per_sample, spec.cpu_s / spec.batch_size, 0.1));
  spec.read_s *= 3.0;
  CHECK(near(makings(spec)[0].seconds_per_sample, usual[0].seconds_per_sample, 0.1));
  CHECK(makings(spec, [](Delivery& delivery) { delivery.made.io.major_faults = 1; }).empty());
  CHECK(makings(spec, [](Delivery& delivery) { delivery.made_known = false; }).empty());
}
