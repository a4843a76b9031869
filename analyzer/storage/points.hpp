/// From the windows of a storage probe to its points: steady rates, latencies, and what was proven of their state.
#pragma once

#include <span>
#include <vector>

#include "analyzer/storage/probe_result.hpp"

namespace stallcast {

/// The steady part of one window.
///
/// Worked example. A window of 0.5 s with 4 in flight: the first 0.125 s are left out (an idle throttle lets a first
/// burst pass: the kernel's own hands out budgets of 20-100 ms), and what comes in after stop_s, when streams fall idle
/// one by one. Between the last completion before 0.125 s and the last before stop_s lie 7.4 MB and 0.37 s: 20 MB/s.
/// Where completions come in bursts (a throttle's), both ends are put at ends of bursts: a window that ended with the
/// first completion of the next burst would count a pause too many (25 % in a window of four).
struct SteadyPart {
  double seconds = 0.0;
  double reads = 0.0;
  double bytes = 0.0;
};

/// The steady part of `window`; where fewer than four reads ended in it, the whole window.
[[nodiscard]] SteadyPart steady_part(const record::StorageWindow& window);

/// Whether the evidence of `window` proves its state, and a read ended in it. Nothing else may enter a figure.
[[nodiscard]] bool state_is_proven(const record::StorageWindow& window);

/// Seconds at the begin of a window that the steady part leaves out.
[[nodiscard]] double lead_seconds(const record::StorageWindow& window);

/// A point with the windows that it stands on.
struct StoragePointData {
  record::StorageRead read = record::StorageRead::whole_file;
  record::StorageState state = record::StorageState::cold;
  int in_flight = 0;
  std::vector<const record::StorageWindow*> windows{};  ///< whose premises hold, in the order of time
  StoragePoint point{};
};

/// All points of `recording`, which must outlive the result, in the order of reads, states and numbers in flight.
[[nodiscard]] std::vector<StoragePointData> storage_points(const record::StorageRecording& recording);

}  // namespace stallcast
