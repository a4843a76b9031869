/// Makes measured runs as they would have been recorded, of jobs whose truth is known: one pass whose batches belong to
/// blocks and to bursts behind holds, played through a loader; the speed of the machine drifts meanwhile.
#pragma once

#include <cstdint>

#include "analyzer/load/run_data.hpp"
#include "probes/record/control.hpp"
#include "tests/analyzer/run_builder.hpp"

namespace stallcast::synthetic {

/// The log of the machine's speed wanders: an autoregressive process of first order in time.
struct Drift {
  double sd = 0.0;             ///< of the log speed; 0: none
  double correlation_s = 8.0;  ///< time after which its autocorrelation is 1/e
};

/// The job (its read_s is what a cold batch reads) and its blocks, in batches. A round is a cold block, bursts made
/// cold, a cached block, bursts made cached; without workers it has no bursts.
struct PhasedSpec {
  JobSpec job{};
  Drift drift{};
  int as_is = 60;  ///< before the first round, as cold as the cold blocks
  int rounds = 6;
  int block = 30;            ///< of a cold and of a cached block
  int bursts = 2;            ///< behind each of them, of as many batches as are under way
  bool stream = false;       ///< rounds are a block as found and bursts made as found
  int at_once = 0;           ///< rounds end with a cached block of so many at a time; 0: none
  int tail = 20;             ///< as found, after the last round
  double as_is_reads = 1.0;  ///< how long a read takes as found, in those of a cold block
  double content_cv = 0.0;   ///< of what batches are made of: the bytes, and with them the time to read and to prepare
  double file_batches =
      0.125;  ///< how many batches fill one of the files that they open; from 1 on, of a rank's shards
  double cold_resident_share = 0.0;
  double cold_storage_share = 1.0;
  double cached_resident_share = 1.0;
  double cached_storage_share = 0.0;
  bool storage_known = true;
  int slow_round = -1;  ///< one in which everything takes `slow` times as long
  double slow = 1.0;
  int lacking_rank = -1;  ///< a rank that did not run the last round's cold block
};

/// Steps of 100 ms against makings of 0.3 s and reads of 0.3 s in two workers: both stalls.
[[nodiscard]] inline PhasedSpec phased_both_stalls() {
  PhasedSpec spec;
  spec.job.read_s = 0.3;
  spec.job.cpu_s = 0.3;
  return spec;
}

/// The run as read back, joined.
[[nodiscard]] RunData make_phased_run(const PhasedSpec& spec);

/// Seconds per batch of each phase, without end: from long runs of nothing else. Drift slows all times alike.
struct PhasedTruth {
  double cold_s = 0.0;
  double cached_s = 0.0;
  double synthetic_s = 0.0;
  double supply_s = 0.0;  ///< of batches in memory: their making, shared by the workers

  [[nodiscard]] double fetch() const { return (cold_s - cached_s) / cold_s; }
  [[nodiscard]] double prep() const { return (cached_s - synthetic_s) / cold_s; }
};
[[nodiscard]] PhasedTruth truth_of(const PhasedSpec& spec, int batches = 8000);

}  // namespace stallcast::synthetic
