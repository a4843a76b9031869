/// Timed samples and collates with the operators (transforms) in them, joined from the recordings.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/steps/rank_view.hpp"

namespace stallcast {

/// What part records of all processes are told apart by.
struct OperatorName {
  std::string name{};
  std::string where{};      ///< where the data set holds it: "transform[2]"; empty: not known
  bool in_collate = false;  ///< part of making a batch of samples, not of a sample

  auto operator<=>(const OperatorName&) const = default;
};

/// Own time of one operator in one sample or collate, all its calls there.
struct OperatorTime {
  double wall_s = 0.0;
  double cpu_s = 0.0;
  double calls = 0.0;
};

/// A timed sample or a collate, and the batch's making that it is part of.
struct DividedWhole {
  std::uint64_t begin_ns = 0;
  double samples = 1.0;  ///< 1, or those of the batch that is collated
  double read_s = 0.0;   ///< reads, opens and stats in it
  double busy_s = 0.0;   ///< of making so many samples of its batch, from index list in hand to collated
  double busy_cpu_s = 0.0;
  std::optional<double> core_wait_s{};  ///< of busy_s: runnable, but not running; none: not recorded
  std::vector<std::pair<std::size_t, OperatorTime>> operators{};  ///< index into `names`
};

struct OperatorTimes {
  std::string state = "as_is";  ///< of the storage: as_is | cached | cold
  std::vector<OperatorName> names{};
  std::vector<DividedWhole> samples{};   ///< evenly timed (steps/timed_samples.hpp), in order of time
  std::vector<DividedWhole> collates{};  ///< likewise, all of them
  std::int64_t undivided = 0;            ///< calls that were too many in one sample to be recorded
};

/// Index of what a sample, or a collate, did beside its operators; always the first two names.
inline constexpr std::size_t k_rest_of_sample = 0;
inline constexpr std::size_t k_rest_of_collate = 1;

/// Of the training loader's batches in the state with most timed samples, as found or cached; cold only where there is
/// no other, cached only where that was proven. Batches that a phase did not really make, or made slower, are left out,
/// and so is each worker's first.
[[nodiscard]] OperatorTimes operator_times(sections::Nodes nodes, std::span<const sections::RankView> ranks,
                                           bool cached_is_proven);

}  // namespace stallcast
