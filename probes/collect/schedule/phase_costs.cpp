#include "probes/collect/schedule/phase_costs.hpp"

#include <algorithm>

#include "probes/collect/schedule/constants.hpp"

namespace stallcast::collect {

using record::Phase;

void PhaseCosts::follow(const record::Segment* segment, std::uint64_t turn, std::uint64_t now_ns) {
  if (followed_ns_ != 0) {
    Spent& spent = spent_[static_cast<std::uint32_t>(followed_)];
    spent.seconds += static_cast<double>(now_ns - followed_ns_) * 1e-9;
    if (turn > followed_turn_) spent.batches += static_cast<double>(turn - followed_turn_);
  }
  followed_ = segment == nullptr ? Phase::as_is : static_cast<Phase>(segment->phase);
  followed_ns_ = now_ns;
  followed_turn_ = turn;
}

double PhaseCosts::batches_per_s(Phase phase) const {
  const Spent& spent = spent_[static_cast<std::uint32_t>(phase)];
  return spent.seconds > 0.0 ? spent.batches / spent.seconds : 0.0;
}

double PhaseCosts::seconds_of(Phase phase, double batches, double otherwise) const {
  for (const Phase like : {phase, Phase::cached}) {
    const Spent& spent = spent_[static_cast<std::uint32_t>(like)];
    if (spent.batches >= 1.0 && (like == phase || phase > Phase::synthetic)) {
      return batches * spent.seconds / spent.batches;
    }
  }
  return batches / std::max(otherwise, k_slowest_batch_rate);
}

}  // namespace stallcast::collect
