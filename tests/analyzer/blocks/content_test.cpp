/// What the samples of a block are made of, and what that does to its time.
#include "analyzer/blocks/content.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/phased_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

/// Groups whose time follows their bytes as far as `share`, with noise.
BlockContent content_of(double share, double noise, double spread, int blocks = 4, int groups = 12) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  BlockContent all;
  for (int block = 0; block < blocks; ++block) {
    const double drift = 1.0 + 0.2 * normal(random);  // of a block, not of what it holds
    std::vector<ContentGroup> made;
    for (int i = 0; i < groups; ++i) {
      const double bytes = 100e3 * (1.0 + spread * normal(random));
      const double seconds = 5e-3 * drift * (1.0 + share * (bytes / 100e3 - 1.0) + noise * normal(random));
      made.push_back({bytes, seconds});
    }
    BlockContent one;
    add_groups(made, one);
    add_content(one, all);
  }
  return all;
}

/// Of the 95 % interval, as a share of the mean.
double half(const MeasuredEstimate<SamplesPerSecond>& rate) {
  return (rate->ci95_high - rate->ci95_low).value() / 2.0 / rate->mean.value();
}

/// A run of a data set without end: what was read of it is never all of it.
RunData endless(const PhasedSpec& spec) {
  RunData run = make_phased_run(spec);
  for (Consumer& consumer : run.consumers) {
    for (auto& [id, loader] : consumer.loaders) loader.dataset_samples = -1;
  }
  return run;
}

PhasedSpec of_photos() {
  PhasedSpec spec;
  spec.job.read_s = 0.30;
  spec.job.cpu_s = 0.10;
  spec.job.device_s = 0.02;
  spec.job.read_cv = spec.job.cpu_cv = 0.03;
  spec.rounds = 5;
  spec.content_cv = 0.12;
  return spec;
}

}  // namespace

TEST_CASE("times that follow the bytes, and such that do not") {
  CHECK(elasticity(content_of(0.8, 0.02, 0.1), 100e3, 5e-3) == doctest::Approx(0.8).epsilon(0.1));
  CHECK(elasticity(content_of(0.0, 0.05, 0.1), 100e3, 5e-3) < 0.1);
  CHECK(elasticity(content_of(1.6, 0.02, 0.1), 100e3, 5e-3) == 1.0);  // no more than twice the time of twice the bytes
  CHECK(elasticity(content_of(-0.5, 0.02, 0.1), 100e3, 5e-3) == 0.0);
  CHECK(elasticity(content_of(0.8, 0.02, 0.001), 100e3, 5e-3) == 0.0);      // samples of one size
  CHECK(elasticity(content_of(0.8, 0.02, 0.1, 1, 5), 100e3, 5e-3) == 0.0);  // too few
  const double noisy = elasticity(content_of(0.8, 0.2, 0.1), 100e3, 5e-3);
  const double quiet = elasticity(content_of(0.8, 0.01, 0.1), 100e3, 5e-3);
  CHECK(noisy < quiet);  // shrunk by what may be chance
}

TEST_CASE("rates of blocks that hold other samples than their share are those of all samples") {
  const PhasedTruth truth = truth_of(of_photos(), 20000);
  double adjusted = 0.0;
  double plain = 0.0;
  double width = 0.0;
  double plain_width = 0.0;
  int covered = 0;
  constexpr int k_runs = 120;
  for (int run = 1; run <= k_runs; ++run) {
    PhasedSpec spec = of_photos();
    spec.job.seed = static_cast<std::uint64_t>(run);
    RunData made = endless(spec);
    const Profile profile = analyze_run(made);
    for (Consumer& consumer : made.consumers) {
      for (Pass& pass : consumer.passes) {
        for (Delivery& delivery : pass.deliveries) delivery.made.io.read_bytes = 3'200'000;
      }
    }
    const Profile unseen = analyze_run(made);
    const double cold = 32.0 / truth.cold_s;
    adjusted += std::pow(std::log(profile.rates.cold->mean.value() / cold), 2.0) / k_runs;
    plain += std::pow(std::log(unseen.rates.cold->mean.value() / cold), 2.0) / k_runs;
    width += half(profile.rates.cold) / k_runs;
    plain_width += half(unseen.rates.cold) / k_runs;
    covered += profile.rates.cold->ci95_low.value() <= cold && cold <= profile.rates.cold->ci95_high.value() ? 1 : 0;
  }
  MESSAGE("error of the cold rate " << 100.0 * std::sqrt(adjusted) << " %, without the bytes "
                                    << 100.0 * std::sqrt(plain) << " %; half-width " << 100.0 * width << " %, "
                                    << 100.0 * plain_width << " %; covered " << covered << " of " << k_runs);
  CHECK(std::sqrt(adjusted) < 0.95 * std::sqrt(plain));  // what is read for rates is much of all that is read
  CHECK(width < 0.8 * plain_width);
  CHECK(covered >= 0.90 * k_runs);
}

TEST_CASE("what was adjusted is told, and a run of equal samples is not adjusted") {
  const auto told = [](double cv) {
    PhasedSpec spec = of_photos();
    spec.content_cv = cv;
    return issue_of(analyze_run(make_phased_run(spec)), "content-adjusted") != nullptr;
  };
  CHECK(told(0.2));
  CHECK_FALSE(told(0.0));
}

TEST_CASE("the mean content of a stream is that of its whole passes, or of the second half of what is seen of one") {
  Consumer consumer;
  consumer.loaders[1].kind = "iterable";
  const auto pass = [](std::initializer_list<std::uint64_t> bytes, bool is_over) {
    Pass made;
    made.loader_id = 1;
    made.is_over = is_over;
    for (const std::uint64_t read : bytes) {
      Delivery delivery;
      delivery.wait.batch = made.deliveries.size();
      delivery.wait.samples = 1;
      delivery.made_known = true;
      delivery.made.io.read_bytes = read;
      made.deliveries.push_back(delivery);
    }
    return made;
  };
  consumer.passes = {pass({200, 200, 200, 200, 100, 100, 100, 100}, false)};  // a buffer is filled in its first half
  CHECK(mean_content(consumer, 0.0).bytes == doctest::Approx(100.0));
  consumer.passes.push_back(pass({200, 200, 100, 100, 0, 0}, true));
  CHECK(mean_content(consumer, 0.0).bytes == doctest::Approx(100.0));
  consumer.loaders[1].kind = "map";
  CHECK(mean_content(consumer, 0.0).bytes == doctest::Approx(1800.0 / 14.0));
}

TEST_CASE("the mean content is that of all batches") {
  const PhasedSpec spec = of_photos();
  const RunData run = make_phased_run(spec);
  double bytes = 0.0;
  double batches = 0.0;
  for (const Delivery& delivery : run.consumers[0].passes[0].deliveries) {
    bytes += static_cast<double>(delivery.made.io.read_bytes);
    batches += 1.0;
  }
  const MeanContent mean = mean_content(run.consumers[0], 0.0);
  CHECK(mean.bytes == doctest::Approx(bytes / batches / 32.0));
  CHECK(mean.relative_sd == doctest::Approx(0.12 / std::sqrt(batches)).epsilon(0.3));
  CHECK(mean_content(run.consumers[0], batches * 32.0).relative_sd < 1e-6);  // all of the data set
}
