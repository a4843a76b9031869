#include "model/predict/recursion.hpp"

#include <algorithm>
#include <boost/math/distributions/gamma.hpp>
#include <cmath>
#include <numeric>
#include <random>

#include "model/predict/constants.hpp"
#include "simulation/loader.hpp"

namespace stallcast {
namespace {

/// Values with the quantiles of `measured` (or of a gamma distribution), in random order, mean 1.
std::vector<double> shape(const Distribution& measured, double cv, std::uint32_t seed) {
  std::vector<double> values(k_played_batches, 1.0);
  if (cv <= 1e-6) return values;
  const bool known = measured.n >= 8 && measured.mean > 0.0;
  const boost::math::gamma_distribution<double> gamma(1.0 / (cv * cv), cv * cv);
  double sum = 0.0;
  for (std::size_t i = 0; i < k_played_batches; ++i) {
    const double q = (static_cast<double>(i) + 0.5) / static_cast<double>(k_played_batches);
    values[i] = known ? measured.quantile(q) : boost::math::quantile(gamma, q);
    sum += values[i];
  }
  for (double& value : values) value *= static_cast<double>(k_played_batches) / sum;
  std::mt19937 random(seed);
  for (std::size_t i = k_played_batches - 1; i > 0; --i) std::swap(values[i], values[random() % (i + 1)]);
  return values;
}

double around_one(double value, double spread) {
  return std::max(k_least_batch_time, 1.0 + (value - 1.0) * spread);
}

}  // namespace

Recursion::Recursion(const JobModel& job)
    : batch_(job.batch),
      measured_step_s_(job.batch / job.rate),
      measured_own_s_(job.compute_s + job.receive_s),
      making_(shape(job.making, job.cv_make, 1)),
      step_(shape(job.step, job.cv_step, 2)) {}

/// A batch of more samples varies less, as far as its samples are independent.
std::vector<double> Recursion::relative_makings(double batch) const {
  const double spread = std::sqrt(batch_ / batch);
  std::vector<double> makings(making_);
  for (double& making : makings) making = around_one(making, spread);
  return makings;
}

std::vector<double> Recursion::making_factors(double batch) const {
  std::vector<double> factors = relative_makings(batch);
  for (double& factor : factors) factor *= making_factor_;
  return factors;
}

std::vector<double> Recursion::step_factors() const {
  std::vector<double> factors(step_);
  for (double& factor : factors) factor *= step_factor_;
  return factors;
}

double Recursion::receiving_s(const ServiceDemands& input, double batch) const {
  return input.workers > 0 ? input.receive_s + more_receiving_s_ * batch / batch_ : 0.0;
}

/// What storage or network give at most holds the workers back: they wait, and do not stand in anybody's way meanwhile.
/// How long each waits follows from what is missing: where the limit lets them, they take up some of it by queueing.
Played Recursion::play(const ServiceDemands& input, double batch) const {
  const double limit_s = std::max({limit_factor(input) * input.limit_s, input.beyond_s, input.prep_elsewhere_s});
  const Played unlimited = play_held_back(input, batch, 0.0);
  const double missing_s = limit_s - unlimited.step_s;
  Played played = unlimited;
  if (missing_s > k_at_ceiling * limit_s) {
    double held_back_s = k_held_back_share * missing_s * std::max(1, input.workers);
    for (int i = 0; i < 3; ++i) {
      const Played held = play_held_back(input, batch, held_back_s);
      if (held.step_s <= (1.0 + k_at_ceiling) * limit_s) {
        played = held;
        break;
      }
      held_back_s *= k_held_back_share * missing_s / (held.step_s - unlimited.step_s);
    }
  }
  const double limited_s = std::max(0.0, limit_s - played.step_s);
  played.step_s += limited_s;
  played.wait_s += limited_s;
  return played;
}

Played Recursion::play_held_back(const ServiceDemands& input, double batch, double held_back_s) const {
  const bool disk_shared = input.disk_s > 0.0 && input.workers > 1;
  const double receive_s = receiving_s(input, batch);
  const double latency_s = input.latency_s + held_back_s;
  const Unlimited question{.workers = input.workers,
                           .prefetch = input.prefetch,
                           .in_order = input.in_order,
                           .batch = batch,
                           .cores = input.cores,
                           .read_s = making_factor_ * (disk_shared ? input.disk_s : 0.0),
                           .cpu_s = making_factor_ * input.cpu_s,
                           // What nobody else disturbs can be done in one go.
                           .other_s = making_factor_ * (input.other_s + latency_s + (disk_shared ? 0.0 : input.disk_s)),
                           .receive_s = receive_s,
                           .receive_cpu_s = std::min(input.workers > 0 ? input.receive_cpu_s : 0.0, receive_s),
                           .device_s = step_factor_ * input.device_s,
                           .step_cpu_s = step_factor_ * input.step_cpu_s,
                           .step_threads = input.step_threads};
  const auto before = played_.find(question);
  if (before != played_.end()) return before->second;
  return played_[question] = run(question);
}

Played Recursion::run(const Unlimited& question) const {
  const std::vector<double> makings = relative_makings(question.batch);
  std::vector<simulation::BatchWork> work(k_played_batches);
  std::vector<simulation::StepWork> steps(k_played_batches);
  for (std::size_t i = 0; i < k_played_batches; ++i) {
    work[i] = {.read_s = makings[i] * question.read_s,
               .cpu_s = makings[i] * question.cpu_s,
               .other_s = makings[i] * question.other_s};
    steps[i] = {.device_s = step_[i] * question.device_s + question.receive_s - question.receive_cpu_s,
                .cpu_s = step_[i] * question.step_cpu_s + question.receive_cpu_s};
  }
  const bool disk_shared = question.read_s > 0.0;
  const bool cores_shared = question.workers + question.step_threads > question.cores;
  const simulation::LoaderSetup setup{question.workers, question.prefetch, question.in_order};
  // Workers alternate sample by sample; four turns a batch are as good as all of them, and one is not.
  const int slices = std::clamp(static_cast<int>(question.batch), 1, 4);
  const simulation::SharedMachine machine{question.cores, disk_shared, 1.0, question.step_threads, slices};
  const auto run = disk_shared || cores_shared ? simulation::run_loader_shared(setup, machine, work, steps)
                                               : simulation::run_loader(setup, work, steps);
  const auto in_flight = static_cast<std::size_t>(question.workers) * static_cast<std::size_t>(question.prefetch);
  const std::size_t first = std::min(2 * in_flight + 2, k_played_batches / 4);
  const std::size_t last = k_played_batches - 1;
  const double count = static_cast<double>(last - first);
  Played played;
  played.step_s = (run.delivered_s[last] - run.delivered_s[first]) / count;
  played.wait_s =
      std::accumulate(run.wait_s.begin() + static_cast<std::ptrdiff_t>(first) + 1, run.wait_s.end(), 0.0) / count;
  played.own_s = played.step_s - played.wait_s;
  played.wait_s += question.receive_s;
  return played;
}

/// Whether making alone, of which a limit that binds tells nothing, would be too fast for the steps as found, having
/// been corrected already, or too slow for them.
Recursion::Making Recursion::making_beside_limit(const ServiceDemands& as_found) const {
  const double off_s = play_held_back(as_found, batch_, 0.0).step_s - measured_step_s_;
  const bool off = std::abs(off_s) > k_at_ceiling * measured_step_s_;
  return {.too_fast = off && off_s < 0.0 && making_factor_ < 1.0, .too_slow = off && off_s > 0.0};
}

void Recursion::fit(const ServiceDemands& as_found) {
  const double waited_s = std::max(0.0, measured_step_s_ - measured_own_s_);
  const bool starved = waited_s > k_starved_wait_share * measured_step_s_;
  double low = starved ? 1.0 / k_most_making_factor : k_least_hidden_making_factor;
  double high = starved ? k_most_making_factor : 1.0;
  // A ceiling that binds in the model is what is off, as far as it may be; else the consumer would be said to take what
  // is missing, with all in memory too.
  const bool binds = std::max(play_held_back(as_found, batch_, 0.0).step_s, measured_own_s_) < as_found.limit_s;
  const double near = binds ? k_near_binding_ceiling : k_near_ceiling;
  const bool limited = std::abs(as_found.limit_s - measured_step_s_) < near * measured_step_s_;
  if (limited) limit_factor_ = measured_step_s_ / as_found.limit_s;
  double missing_s = 0.0;
  for (int i = 0; i < 20; ++i) {
    const Played played = play(as_found, batch_);
    missing_s = waited_s - (played.step_s - played.own_s);
    const bool own_fits = std::abs(played.own_s - measured_own_s_) <= k_recursion_fits * measured_step_s_;
    if (!own_fits && played.own_s > 0.0 && i % 3 != 2) {  // every third round goes to the workers, come what may
      step_factor_ *= std::clamp(measured_own_s_ / played.own_s, k_least_correction, k_most_correction);
      continue;
    }
    const double least_s = k_recursion_fits * measured_step_s_;
    const Making making = limited ? making_beside_limit(as_found) : Making{missing_s > least_s, missing_s < -least_s};
    if (!making.too_fast && !making.too_slow) {
      if (own_fits) break;
      continue;
    }
    if (making.too_fast && making_factor_ >= high) break;
    (making.too_slow ? high : low) = making_factor_;
    making_factor_ = std::sqrt(low * high);
  }
  if (missing_s > k_recursion_fits * measured_step_s_ && as_found.workers > 0) more_receiving_s_ = missing_s;
}

}  // namespace stallcast
