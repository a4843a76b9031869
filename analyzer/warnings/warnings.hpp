/// What users trip over in a training job, said with the figures that show it. One table (warnings/warnings.cpp) holds
/// every threshold; each row's question is answered by one function of the evidence.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {

/// All that a warning may look at: of the whole job or, where it is about a machine, of one node. `profile` is complete
/// but for its issues.
struct Evidence {
  const RunData& run;  ///< of the node; of the first one where it is about the job
  const std::vector<RankView>& ranks;
  const Profile& profile;
};

struct Warning {
  const char* id;
  Severity severity;
  double threshold;  ///< from which, or beyond which, it is worth a word
  const char* of;    ///< what the threshold is a number of, with its unit
  /// What was seen, with numbers; empty where the threshold is not met or the evidence is missing.
  std::string (*look)(const Evidence& evidence, double threshold);
  const char* hint;
  bool of_node = false;  ///< asked of each node by itself
};

/// Every warning, in the order in which they are said.
[[nodiscard]] std::span<const Warning> warning_table();

/// Adds to the profile's issues what the table finds.
void add_warnings(Nodes nodes, const std::vector<RankView>& ranks, Profile& profile);

/// `value` with so many digits behind the point.
[[nodiscard]] std::string fixed(double value, int digits);

/// Bytes in the unit that fits: "512 MB", "1.3 GB".
[[nodiscard]] std::string data_size(double bytes);

// The questions: of the run (warnings/run.cpp) ...
[[nodiscard]] std::string few_steps(const Evidence& e, double threshold);
[[nodiscard]] std::string drift(const Evidence& e, double threshold);
[[nodiscard]] std::string trained_elsewhere(const Evidence& e, double threshold);
[[nodiscard]] std::string epoch_pauses(const Evidence& e, double threshold);
[[nodiscard]] std::string ranks_missing(const Evidence& e, double threshold);
[[nodiscard]] std::string slow_rank(const Evidence& e, double threshold);
[[nodiscard]] std::string slow_node(const Evidence& e, double threshold);
[[nodiscard]] std::string uneven_ranks(const Evidence& e, double threshold);
[[nodiscard]] std::string slow_worker(const Evidence& e, double threshold);
[[nodiscard]] std::string reads_unseen(const Evidence& e, double threshold);
[[nodiscard]] std::string read_ahead_unused(const Evidence& e, double threshold);
[[nodiscard]] std::string not_pinned(const Evidence& e, double threshold);

// ... of streams (warnings/streams.cpp) ...
[[nodiscard]] std::string worker_without_data(const Evidence& e, double threshold);
[[nodiscard]] std::string uneven_workers(const Evidence& e, double threshold);
[[nodiscard]] std::string all_read_everything(const Evidence& e, double threshold);

// ... and of the machine (warnings/machine.cpp).
[[nodiscard]] std::string oversubscribed(const Evidence& e, double threshold);
[[nodiscard]] std::string opencv_threads(const Evidence& e, double threshold);
[[nodiscard]] std::string cores_limited(const Evidence& e, double threshold);
[[nodiscard]] std::string workers_pinned(const Evidence& e, double threshold);
[[nodiscard]] std::string cpu_throttled(const Evidence& e, double threshold);
[[nodiscard]] std::string cpu_stolen(const Evidence& e, double threshold);
[[nodiscard]] std::string shm_nearly_full(const Evidence& e, double threshold);
[[nodiscard]] std::string swapping(const Evidence& e, double threshold);
[[nodiscard]] std::string memory_anew(const Evidence& e, double threshold);
[[nodiscard]] std::string memory_growth(const Evidence& e, double threshold);

}  // namespace stallcast::sections
