/// Rates and stalls of a stream: blocks as found beside bursts, paired over the rounds.
///
/// What the waiting costs in all is measured: as found less synthetic. How the waiting until batches are made divides
/// into fetch and prep is attributed, since nobody knows which files a stream reads next.
///
/// Worked example. A batch takes 100 ms as found and 40 in a burst; the script waited for 58 ms, 3 of them after the
/// batch was made. 55 ms wait for the making, 3 receive, 2 are interference. Attributed, three parts of five were
/// storage: fetch 33 %, prep 22 %.
#include <algorithm>
#include <cmath>

#include "analyzer/blocks/rounds.hpp"
#include "analyzer/statistics/statistics.hpp"

namespace stallcast::sections {
namespace {

using record::Phase;

/// The blocks of one round, in seconds per sample.
struct Pair {
  double found = 0.0;
  double late = 0.0;     ///< waiting for batches to be made
  double receive = 0.0;  ///< waiting beyond that: taking them over
  double synthetic = 0.0;

  [[nodiscard]] double difference() const { return found - synthetic; }
};

std::vector<Pair> paired(const PhaseRounds& data) {
  std::vector<Pair> pairs;
  const Rounds* found = rounds_of(data, Phase::as_is);
  const Rounds* synthetic = rounds_of(data, Phase::synthetic);
  if (found == nullptr || synthetic == nullptr) return pairs;
  for (const auto& [round, cell] : *found) {
    const auto alone = synthetic->find(round);
    if (alone == synthetic->end()) continue;
    const double samples = cell.samples;
    pairs.push_back({cell.seconds / samples, cell.late_seconds / samples,
                     (cell.wait_seconds - cell.late_seconds) / samples, alone->second.seconds / alone->second.samples});
  }
  return pairs;
}

/// Where a device computes on while the host waits, the waiting exceeds what it costs: it is scaled to that. A property
/// of the job, decided over all rounds.
double cost_of_waiting(const std::vector<Pair>& pairs) {
  double waited = 0.0;
  double difference = 0.0;
  for (const Pair& pair : pairs) {
    waited += pair.late + pair.receive;
    difference += pair.difference();
  }
  return waited > difference && waited > 0.0 ? std::max(0.0, difference / waited) : 1.0;
}

template <class Value>
Estimate<Fraction> share(const std::vector<Pair>& pairs, double correlation, Value value) {
  std::vector<double> shares;
  shares.reserve(pairs.size());
  for (const Pair& pair : pairs) shares.push_back(value(pair) / pair.found);
  const Estimate<double> mean = mean_of(shares);
  const double half = (mean.ci95_high - mean.ci95_low) / 2.0 * widening(correlation, mean.n);
  return {mean.mean, std::max(-1.0, mean.mean - half), std::min(1.0, mean.mean + half), mean.n};
}

double half_of(const Estimate<Fraction>& estimate) {
  return (estimate.ci95_high - estimate.ci95_low) / 2.0;
}

/// `part` of the waiting until batches were made. Its error is that of the whole and that of the attribution.
Estimate<Fraction> part_of(const Estimate<Fraction>& late, double part, const Estimate<Fraction>& attributed) {
  const double mean = late.mean * part;
  const double half = std::hypot(half_of(late) * part, half_of(attributed));
  return {mean, std::max(0.0, mean - half), std::min(1.0, mean + half), late.n};
}

void divide(const Estimate<Fraction>& late, Stalls& stalls) {
  stalls.method = "differential";
  if (!stalls.as_is_fetch || !stalls.as_is_prep) return;  // with the attribution's own reason
  const Estimate<Fraction> fetch = *stalls.as_is_fetch;
  const Estimate<Fraction> prep = *stalls.as_is_prep;
  const double both = fetch.mean + prep.mean;
  const double part = both > 0.0 ? std::clamp(fetch.mean / both, 0.0, 1.0) : 0.0;
  stalls.as_is_fetch = part_of(late, part, fetch);
  stalls.as_is_prep = part_of(late, 1.0 - part, prep);
  stalls.method = "differential+attributed";
}

}  // namespace

void fill_stream(const PhaseRounds& data, Profile& profile) {
  const auto found = phase_rate(data, Phase::as_is);
  if (found) profile.rates.as_is = found;
  const std::vector<Pair> pairs = paired(data);
  Stalls& stalls = profile.stalls;
  stalls.method = "attributed";
  if (pairs.size() < 2) return;
  const double cost = cost_of_waiting(pairs);
  const auto of_found = [&](auto value) { return share(pairs, data.correlation, value); };
  stalls.as_is_wait = of_found([cost](const Pair& pair) { return cost * (pair.late + pair.receive); });
  stalls.as_is_receive = of_found([cost](const Pair& pair) { return cost * pair.receive; });
  stalls.as_is_interference =
      of_found([cost](const Pair& pair) { return pair.difference() - cost * (pair.late + pair.receive); });
  divide(of_found([cost](const Pair& pair) { return cost * pair.late; }), stalls);
}

}  // namespace stallcast::sections
