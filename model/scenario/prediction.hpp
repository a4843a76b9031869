/// What a change would bring: the answer of the model to one scenario.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/measured.hpp"
#include "core/quantity.hpp"

namespace stallcast {

/// Mean with the two-sided 90 % prediction interval.
template <class Q>
struct Forecast {
  Q mean{};
  Q ci90_low{};
  Q ci90_high{};
};

/// One "key=value" of a scenario, as the user wrote it.
struct ScenarioItem {
  std::string key{};
  std::string value{};
};

/// One epoch of a simulated job; shares of samples by where they came from, which add up to 1.
struct SimulatedEpoch {
  Seconds duration{};
  Seconds step_mean{};  ///< without the steps in which the epoch's queues fill or run dry
  Seconds step_p50{};
  Seconds step_p99{};
  Fraction waiting = 0.0;     ///< of the time: for data, receiving included, mean of the ranks
  Fraction straggling = 0.0;  ///< likewise: for the slowest rank
  Fraction local = 0.0;
  Fraction remote = 0.0;
  Fraction storage = 0.0;
  std::string bound{};  ///< as Prediction::bound
};

/// How busy something is in the last epoch.
struct SimulatedLoad {
  std::string name{};  ///< gpu | exchange | workers | node_storage | shared_storage | network
  Fraction busy = 0.0;
};

/// The job played batch by batch on its cluster, with caches that are empty at first.
struct SimulatedCluster {
  int nodes = 1;
  int ranks = 1;
  std::int64_t steps = 0;  ///< of an epoch
  std::uint64_t seed = 1;
  std::vector<SimulatedEpoch> epochs{};
  std::size_t judged = 0;         ///< the epoch that stands beside the closed form: the last that no loss has touched
  SamplesPerSecond throughput{};  ///< of that epoch's mean step
  Fraction least_waiting = 0.0;   ///< of the nodes, in the last epoch
  Fraction most_waiting = 0.0;
  Fraction most_last = 0.0;  ///< the share of steps in which one and the same node was the last, of the largest
  std::vector<SimulatedLoad> loads{};  ///< the busiest first; what is not there is left out
  bool lost_node = false;              ///< when the last epoch began
  bool within_interval = true;         ///< throughput lies in the 90 % interval of the closed form
  std::vector<std::string> notes{};
};

struct Prediction {
  std::vector<ScenarioItem> scenario{};
  Forecast<SamplesPerSecond> throughput{};
  Seconds step{};
  Measured<Seconds> epoch{};  ///< absent where the size of the data set is not known
  /// Of the first epoch, where the scenario stages data in it or before it (the copying included); `epoch` is one of
  /// those after it: E epochs take first_epoch + (E - 1) epoch. Empty where the scenario stages nothing.
  std::optional<Measured<Seconds>> first_epoch{};
  Fraction stall = 0.0;       ///< share of the step spent waiting for data
  std::string bound = "gpu";  ///< gpu | prep | fetch | loader (prep or fetch) | main | cpu | network
  std::string next_bound{};   ///< what binds once `bound` is lifted
  Fraction headroom = 0.0;    ///< how much faster the binding stage may become before next_bound takes over
  bool extrapolated = false;  ///< outside twice the measured range
  std::vector<std::string> notes{};
  std::optional<SimulatedCluster> simulation{};  ///< only where it was asked for
};

/// One key of a grid: its values in the order of a slider.
struct GridAxis {
  std::string key{};
  std::vector<std::string> values{};  ///< as `whatif --set KEY=` takes them; empty where the value is that of the run
  std::vector<std::string> labels{};  ///< as people read them
  std::size_t found = 0;              ///< the place of the run as profiled
};

/// A key that is not on the grid, and why.
struct GridGap {
  std::string key{};
  std::string reason{};
};

/// Answers to every combination of a few values, made in advance for a page that cannot ask the model.
struct PredictionGrid {
  std::vector<GridAxis> axes{};
  std::vector<GridGap> gaps{};
  std::vector<Prediction> points{};
  /// Place in `points` of each combination, the last axis varying fastest; combinations that differ only in what has no
  /// effect share one.
  std::vector<std::size_t> index{};
};

/// Share of an epoch's bytes that a cache of the memory at hand would serve, once it is filled.
struct PolicyHits {
  std::string policy{};  ///< words for people
  double low = 0.0;
  double mean = 0.0;
  double high = 0.0;  ///< low and high differ only where the policy has no exact model
};

/// One line of a curve: the same change in more or less of it.
struct CurveLine {
  std::string name{};           ///< "predicted", "page cache of Linux"
  std::vector<double> x{};      ///< number of workers; share of the data set
  std::vector<Prediction> y{};  ///< as many
};

/// How the rate follows one key.
struct PredictionCurve {
  std::string key{};  ///< workers | cache
  std::vector<CurveLine> lines{};
  std::optional<double> found{};        ///< x of the run as profiled, where it is one
  std::optional<double> recommended{};  ///< x that is recommended, likewise
  std::string absent{};                 ///< why there is none; empty where there is one
};

}  // namespace stallcast
