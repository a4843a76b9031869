/// What to buy: every machine of a catalogue, in every number, with the data in every place, by what one profile says.
///
/// Example. A job of 100 epochs shall be done in 8 hours. Of 2 kinds of machines, in 1 to 16 nodes each, 5 are on the
/// front: no other is both faster and cheaper. The cheapest that keeps the 8 hours even at the pessimistic end of its
/// interval is the choice.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/profile/profile.hpp"
#include "core/result.hpp"
#include "model/plan/catalog.hpp"
#include "model/scenario/prediction.hpp"

namespace stallcast {

inline constexpr std::size_t k_most_curves = 6;

/// What is wanted; what is not set does not matter.
struct PlanTarget {
  std::optional<Seconds> time{};  ///< at most, for all epochs
  std::optional<double> cost{};   ///< at most, likewise
  std::optional<SamplesPerSecond> throughput{};
  double epochs = 1.0;

  [[nodiscard]] bool any() const { return time || cost || throughput; }
};

struct PlanOption {
  std::string machine{};
  int nodes = 1;
  int workers = 0;  ///< of each rank
  /// "memory", "local disk" (copied there in the first epoch where the catalogue has shared storage), "shared storage",
  /// "nodes' memory", "as profiled".
  std::string data{};
  Prediction prediction{};
  Forecast<Seconds> time{};   ///< of all epochs
  Forecast<double> cost{};    ///< likewise, in the catalogue's currency
  bool upper_bound = false;   ///< of the rate: what the nodes exchange in each step is not known, and left out
  bool meets = false;         ///< every target, by its means
  bool meets_surely = false;  ///< by the pessimistic ends of their 90 % intervals as well; never an upper bound
};

/// Whether two options are the same configuration.
[[nodiscard]] inline bool same_configuration(const PlanOption& a, const PlanOption& b) {
  return a.machine == b.machine && a.nodes == b.nodes && a.workers == b.workers && a.data == b.data;
}

/// Options of one machine by their number of nodes, which rises.
struct ScalingLine {
  std::vector<PlanOption> points{};
  /// The most nodes for which each added one brings at least half of what one brings alone, by the means; empty where
  /// that holds up to the last point, or where there is one point only.
  std::optional<int> worth_nodes{};
  std::string stops{};  ///< where that ends and what binds there, in a sentence; empty with fewer than two points
};

/// How one machine scales.
struct PlanCurve {
  std::string machine{};
  /// Each rank keeps its batch (weak scaling): for each number of nodes the fastest option.
  ScalingLine weak{};
  /// The same options with the batch of all ranks together as profiled (strong scaling), where the ranks divide it.
  ScalingLine strong{};
};

struct Plan {
  std::vector<PlanOption> front{};      ///< the faster the dearer: none is worse in both than another, by their means
  std::optional<PlanOption> choice{};   ///< the cheapest that meets the targets; empty without targets, or if none does
  std::optional<PlanOption> nearest{};  ///< where none meets them: the one that misses them by least
  std::string verdict{};
  std::string buy_next{};  ///< what binds the choice (or the nearest, or the fastest), and what comes after
  std::string hangs_on{};  ///< the measurement whose uncertainty moves it most; empty if none stands out
  /// Of the machines that can be had in several numbers, those on the front first; at most k_most_curves.
  std::vector<PlanCurve> curves{};
  std::size_t curves_left_out = 0;      ///< machines beyond those
  std::size_t candidates = 0;           ///< that were answered
  std::vector<std::string> left_out{};  ///< why others were not, each reason once
  std::vector<std::string> notes{};
};

/// Errors: as Predictor::make; not_enough_data if samples or bytes of the data set or the memory of the job are not
/// known (what fits a machine's memory would be a guess), or if no candidate could be answered.
[[nodiscard]] Result<Plan> make_plan(const Profile& profile, const Catalog& catalog, const PlanTarget& target);

}  // namespace stallcast
