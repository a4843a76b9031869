#include "analyzer/profile/tight_rates.hpp"

#include <algorithm>
#include <set>

#include "analyzer/profile/constants.hpp"

namespace stallcast {
namespace {

using Rate = MeasuredEstimate<SamplesPerSecond>;

bool lies_beyond(const Rate& supply, const Rates& rates) {
  double fastest = 0.0;
  for (const Rate* rate : {&rates.cold, &rates.cached, &rates.synthetic}) {
    if (*rate) fastest = std::max(fastest, (*rate)->ci95_high.value());
  }
  return supply && fastest > 0.0 && supply->ci95_low.value() > fastest;
}

}  // namespace

bool is_tight(const Rate& rate, double target) {
  if (!rate) return true;
  return (rate->ci95_high - rate->ci95_low).value() / 2.0 <= target * rate->mean.value();
}

bool rates_are_tight(const Rates& rates, double target, const std::vector<record::Phase>& awaited) {
  const auto misses = [&](const Rate& rate, record::Phase phase) {
    return !rate && std::find(awaited.begin(), awaited.end(), phase) != awaited.end();
  };
  if (misses(rates.cold, record::Phase::cold) || misses(rates.cached, record::Phase::cached) ||
      misses(rates.synthetic, record::Phase::synthetic)) {
    return false;
  }
  return is_tight(rates.cold, target) && is_tight(rates.cached, target) && is_tight(rates.synthetic, target) &&
         (is_tight(rates.supply_cached, target) || lies_beyond(rates.supply_cached, rates));
}

bool cold_blocks_fail(const Profile& profile) {
  const auto may_help = [](const DataIssue& issue) { return issue.id == "first-touch" || issue.id == "cold-not-ours"; };
  if (std::any_of(profile.issues.begin(), profile.issues.end(), may_help)) return false;
  std::set<std::int64_t> rounds;
  for (const PhaseStretch& stretch : profile.phases) {
    if (stretch.phase == "cold" && stretch.left_out.rfind(k_premise_fails, 0) == 0) rounds.insert(stretch.round);
  }
  return !profile.rates.cold && rounds.size() >= k_rounds_that_fail;
}

}  // namespace stallcast
