#include "model/analytic/staging.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

using namespace stallcast;
using namespace stallcast::staging;

namespace {

constexpr staging::Rates k_example{500.0, 4000.0, 4000.0, 2000.0, 1000.0};

TEST_CASE("the worked example") {
  CHECK(direct_s(1e5, 10, k_example) == doctest::Approx(2000.0));
  CHECK(before_s(1e5, 10, k_example) == doctest::Approx(1200.0));
  CHECK(overlap_s(1e5, 10, 0.0, k_example) == doctest::Approx(1100.0));
}

/// Stations in a row, each serving one sample after the other: when the last sample leaves the last of them.
double tandem_s(int samples, const std::vector<double>& rates) {
  std::vector<double> free_at(rates.size(), 0.0);
  double left = 0.0;
  for (int i = 0; i < samples; ++i) {
    left = 0.0;
    for (std::size_t at = 0; at < rates.size(); ++at) {
      left = std::max(left, free_at[at]) + 1.0 / rates[at];
      free_at[at] = left;
    }
  }
  return left;
}

TEST_CASE("each form is what stations in a row take, but for filling them once") {
  constexpr int k_samples = 20'000;
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> rate(100.0, 4000.0);
  for (int trial = 0; trial < 20; ++trial) {
    CAPTURE(trial);
    const staging::Rates r{rate(random), rate(random), rate(random), rate(random), rate(random)};
    const double local = tandem_s(k_samples, {r.disk_read, r.prep, r.train});
    CHECK(direct_s(k_samples, 3, r) ==
          doctest::Approx(3.0 * tandem_s(k_samples, {r.storage, r.prep, r.train})).epsilon(0.01));
    CHECK(before_s(k_samples, 3, r) ==
          doctest::Approx(tandem_s(k_samples, {r.storage, r.disk_write}) + 3.0 * local).epsilon(0.01));
    CHECK(overlap_s(k_samples, 3, 0.0, r) ==
          doctest::Approx(tandem_s(k_samples, {r.storage, r.disk_write, r.prep, r.train}) + 2.0 * local).epsilon(0.01));
  }
}

TEST_CASE("overlapping is never slower than copying first, and a fast disk never slower than reading directly") {
  std::mt19937_64 random(12);
  std::uniform_real_distribution<double> rate(100.0, 4000.0);
  for (int trial = 0; trial < 200; ++trial) {
    const staging::Rates r{rate(random), rate(random), rate(random), rate(random), rate(random)};
    for (const int epochs : {1, 2, 30}) {
      CHECK(overlap_s(1e4, epochs, 0.0, r) <= before_s(1e4, epochs, r) * (1.0 + 1e-9));
      staging::Rates fast = r;
      fast.disk_read = fast.disk_write = 1e6;
      CHECK(overlap_s(1e4, epochs, 0.0, fast) <= direct_s(1e4, epochs, r) * (1.0 + 1e-9));
    }
  }
}

/// Serizawa & Tatebe publish reads 1.38 to 6.19 times as fast and trainings 1.26 to 1.74 times: whatever is prepared
/// and trained meanwhile, a training gains no more than its reads do.
TEST_CASE("a training gains between nothing and what its reads gain") {
  for (const double faster : {1.38, 6.19}) {
    double most = 0.0;
    for (double train = 100.0; train < 1e5; train *= 1.5) {
      const staging::Rates r{500.0, 500.0 * faster, 1e6, 1e5, train};
      const double gain = direct_s(1e4, 1, r) / local_epoch_s(1e4, r);
      CHECK(gain >= 1.0);
      CHECK(gain <= faster * (1.0 + 1e-9));
      most = std::max(most, gain);
    }
    CHECK(most == doctest::Approx(faster));
    CHECK((faster < 1.74 || most >= 1.74));
  }
}

TEST_CASE("dealt anew each epoch: what a node has staged, played") {
  constexpr int k_samples = 20'000;
  std::mt19937_64 random(13);
  for (const int nodes : {2, 8}) {
    std::vector<bool> staged(k_samples, false);
    std::vector<int> order(k_samples);
    for (int i = 0; i < k_samples; ++i) order[static_cast<std::size_t>(i)] = i;
    for (int epoch = 1; epoch <= 12; ++epoch) {
      std::shuffle(order.begin(), order.end(), random);
      for (int i = 0; i < k_samples / nodes; ++i) {
        staged[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = true;
      }
      const auto count = static_cast<double>(std::count(staged.begin(), staged.end(), true));
      CHECK(staged_share(nodes, epoch) == doctest::Approx(count / k_samples).epsilon(0.03));
    }
  }
  CHECK(staged_share(1, 1) == 1.0);
  CHECK(epochs_to_stage(1, 0.95) == 1);
  for (const int nodes : {2, 8, 100}) {
    const int epochs = epochs_to_stage(nodes, 0.95);
    CHECK(staged_share(nodes, epochs) >= 0.95);
    CHECK(staged_share(nodes, epochs - 1) < 0.95);
  }
}

TEST_CASE("a disk smaller than the data keeps what came first") {
  CHECK(disk_share(5e11, 1e12) == doctest::Approx(0.5));
  CHECK(disk_share(2e12, 1e12) == 1.0);
  CHECK(disk_share(0.0, 1e12) == 0.0);
}

}  // namespace
