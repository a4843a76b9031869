#include "probes/collect/phase_costs.hpp"

#include <algorithm>

namespace stallcast::collect {

using record::Phase;
using record::Segment;

bool is_supply(const Segment& segment) {
  return segment.phase == static_cast<std::uint32_t>(Phase::supply_cached) ||
         segment.phase == static_cast<std::uint32_t>(Phase::supply_cold);
}

void PhaseCosts::follow(const Segment* segment, std::uint64_t turn, std::uint64_t now_ns) {
  if (followed_ns_ != 0) {
    Spent& spent = spent_[followed_ == nullptr ? 0 : followed_->phase];
    spent.seconds += static_cast<double>(now_ns - followed_ns_) * 1e-9;
    if (followed_ != nullptr && is_supply(*followed_)) {
      if (followed_ != segment) spent.batches += followed_->batches;
    } else if (turn > followed_turn_) {  // a rank that arms later is slower at first
      spent.batches += static_cast<double>(turn - followed_turn_);
    }
  }
  followed_ = segment;
  followed_ns_ = now_ns;
  followed_turn_ = turn;
}

double PhaseCosts::batches_per_s(Phase phase) const {
  const Spent& spent = spent_[static_cast<std::uint32_t>(phase)];
  return spent.seconds > 0.0 ? spent.batches / spent.seconds : 0.0;
}

double PhaseCosts::seconds_of(Phase phase, double batches, double otherwise) const {
  const bool is_cold = phase == Phase::cold || phase == Phase::supply_cold;
  for (const Phase like : {phase, is_cold ? Phase::cold : Phase::cached}) {
    const Spent& spent = spent_[static_cast<std::uint32_t>(like)];
    if (spent.batches >= 1.0) return batches * spent.seconds / spent.batches;
  }
  return batches / std::max(otherwise, 1e-3);
}

}  // namespace stallcast::collect
