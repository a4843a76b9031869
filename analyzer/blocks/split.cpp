/// How the time of a cold step divides, by the blocks of a measured run.
///
/// Paired over the rounds that hold all the phases it needs. Rounds of a first pass over the data set hold no cached
/// block: where fewer than two rounds are whole, the phases' own rates are set beside each other, with what each of
/// them is sure of.
///
/// Worked example. Cold 6.0 ms a sample +- 3 %, cached 4.0 ms +- 2 %: fetch is 1 - 4 / 6 = 33 %, +- 4 / 6 * (0.03^2 +
/// 0.02^2)^0.5 = 2.4 %.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "analyzer/blocks/rounds.hpp"
#include "analyzer/statistics/statistics.hpp"

namespace stallcast::sections {
namespace {

using record::Phase;

/// The blocks of one round that a split needs, each in seconds per sample.
struct Trio {
  double cold = 0.0;
  double cached = 0.0;
  double cached_late = 0.0;     ///< waiting for batches to be made
  double cached_receive = 0.0;  ///< waiting beyond that: taking them over
  double synthetic = 0.0;
};

/// Rounds that hold a valid block of all three phases: what drifts between rounds cancels within them.
std::vector<Trio> paired_rounds(const PhaseRounds& data, Phase whole) {
  std::vector<Trio> trios;
  const Rounds* cold = rounds_of(data, whole);
  const Rounds* cached = rounds_of(data, Phase::cached);
  const Rounds* synthetic = rounds_of(data, Phase::synthetic);
  if (cold == nullptr || cached == nullptr || synthetic == nullptr) return trios;
  for (const auto& [round, cell] : *cold) {
    const auto with = cached->find(round);
    const auto alone = synthetic->find(round);
    if (with == cached->end() || alone == synthetic->end()) continue;
    trios.push_back({cell.seconds / cell.samples, with->second.seconds / with->second.samples,
                     with->second.late_seconds / with->second.samples,
                     (with->second.wait_seconds - with->second.late_seconds) / with->second.samples,
                     alone->second.seconds / alone->second.samples});
  }
  return trios;
}

template <class Value>
MeasuredEstimate<Fraction> share_of_cold(const std::vector<Trio>& trios, Value value) {
  std::vector<double> shares;
  shares.reserve(trios.size());
  for (const Trio& trio : trios) shares.push_back(value(trio) / trio.cold);
  const Estimate<double> mean = mean_of(shares);
  return Estimate<Fraction>{mean.mean, std::max(-1.0, mean.ci95_low), std::min(1.0, mean.ci95_high), mean.n};
}

double difference_of(const Trio& trio) {
  return trio.cached - trio.synthetic;
}

/// How cached - synthetic divides, in seconds per sample.
struct Parts {
  double (*prep)(const Trio&) = nullptr;
  double (*receive)(const Trio&) = nullptr;
};

/// `part` of the waiting in a round's cached block, which is all there is of cached - synthetic.
double share_of_difference(const Trio& trio, double part) {
  const double waited = trio.cached_late + trio.cached_receive;
  return waited > 0.0 ? difference_of(trio) * part / waited : 0.0;
}

/// What the waiting does not explain of cached - synthetic is the compute slowed by the workers. Where a device
/// computes on while the host waits, the waiting exceeds the difference, which then is all there is. Which of the two
/// holds is a property of the job: chosen round by round, the lesser of two noisy numbers would be too low on average.
Parts parts_of_rounds(const std::vector<Trio>& trios) {
  double waited = 0.0;
  double difference = 0.0;
  for (const Trio& trio : trios) {
    waited += trio.cached_late + trio.cached_receive;
    difference += difference_of(trio);
  }
  if (waited > difference) {
    return {[](const Trio& trio) { return share_of_difference(trio, trio.cached_late); },
            [](const Trio& trio) { return share_of_difference(trio, trio.cached_receive); }};
  }
  return {[](const Trio& trio) { return trio.cached_late; }, [](const Trio& trio) { return trio.cached_receive; }};
}

std::string why_no_split(const PhaseRounds& data, Phase whole) {
  for (const Phase phase : {whole, Phase::cached, Phase::synthetic}) {
    if (rounds_of(data, phase) == nullptr) return why_absent(data, phase);
  }
  return "fewer than two rounds hold valid blocks of all the states it needs";
}

/// The phases' own rates side by side.
struct Unpaired {
  Trio mean{};
  std::array<double, 3> half{};  ///< of cold, cached, synthetic: relative half-width of the 95 % interval
  std::int64_t n = 0;            ///< fewest rounds of one of them
};

/// All rounds of a phase; absent where its rate is not known.
std::optional<RoundCell> pooled_rounds(const PhaseRounds& data, Phase phase, double& half, std::int64_t& n) {
  const auto rate = phase_rate(data, phase);
  if (!rate) return std::nullopt;
  half = (rate->ci95_high - rate->ci95_low).value() / 2.0 / rate->mean.value();
  n = std::min(n, rate->n);
  RoundCell sum;
  for (const auto& [round, cell] : *rounds_of(data, phase)) {
    sum.samples += cell.samples;
    sum.seconds += cell.seconds;
    sum.wait_seconds += cell.wait_seconds;
    sum.late_seconds += cell.late_seconds;
  }
  return sum;
}

std::optional<Unpaired> unpaired(const PhaseRounds& data, Phase whole) {
  Unpaired all;
  all.n = INT64_MAX;
  const auto cold = pooled_rounds(data, whole, all.half[0], all.n);
  const auto cached = pooled_rounds(data, Phase::cached, all.half[1], all.n);
  const auto synthetic = pooled_rounds(data, Phase::synthetic, all.half[2], all.n);
  if (!cold || !cached || !synthetic) return std::nullopt;
  all.mean = {cold->seconds / cold->samples, cached->seconds / cached->samples, cached->late_seconds / cached->samples,
              (cached->wait_seconds - cached->late_seconds) / cached->samples, synthetic->seconds / synthetic->samples};
  return all;
}

/// Its interval follows from how it moves with each of the three times.
template <class Value>
Estimate<Fraction> share_of_cold(const Unpaired& all, Value value) {
  const double mean = value(all.mean) / all.mean.cold;
  double squares = 0.0;
  for (std::size_t phase = 0; phase < all.half.size(); ++phase) {
    Trio moved = all.mean;
    const double times = 1.0 + all.half[phase];
    if (phase == 0) moved.cold *= times;
    if (phase == 1) {
      moved.cached *= times;
      moved.cached_late *= times;
      moved.cached_receive *= times;
    }
    if (phase == 2) moved.synthetic *= times;
    squares += std::pow(value(moved) / moved.cold - mean, 2.0);
  }
  const double half = std::sqrt(squares);
  return {mean, std::max(-1.0, mean - half), std::min(1.0, mean + half), all.n};
}

/// The same of whole rounds and of what is set side by side.
template <class Source>
void divide_cold(const Source& source, const Parts& parts, Stalls& stalls) {
  stalls.fetch = share_of_cold(source, [](const Trio& t) { return t.cold - t.cached; });
  stalls.prep = share_of_cold(source, parts.prep);
  stalls.receive = share_of_cold(source, parts.receive);
  stalls.interference =
      share_of_cold(source, [parts](const Trio& t) { return difference_of(t) - parts.prep(t) - parts.receive(t); });
}

}  // namespace

void fill_split(const PhaseRounds& data, Phase whole, Stalls& stalls) {
  const std::vector<Trio> trios = paired_rounds(data, whole);
  if (trios.size() >= 2) {
    divide_cold(trios, parts_of_rounds(trios), stalls);
    stalls.method = "differential";
  } else if (const auto all = unpaired(data, whole)) {
    divide_cold(*all, parts_of_rounds({all->mean}), stalls);
    stalls.method = "differential";
  } else {
    stalls.fetch = stalls.prep = stalls.receive = stalls.interference =
        MeasuredEstimate<Fraction>::absent(why_no_split(data, whole));
  }
}

}  // namespace stallcast::sections
