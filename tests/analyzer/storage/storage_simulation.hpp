/// A storage whose truth is known: reads that take latency + size/bandwidth, behind a bucket of bytes and one of reads.
#pragma once

#include <cstdint>

#include "probes/record/storage_recording.hpp"

namespace stallcast::testing {

struct SimulatedStorage {
  double latency_s = 1e-3;
  double stream_bandwidth_bytes_per_s = 200e6;
  double ceiling_bytes_per_s = 1e12;
  double ceiling_reads_per_s = 1e9;
  double bucket_s = 0.0;  ///< worth of the ceiling that passes at once after a pause, as a throttle lets it
  double tick_s = 0.0;    ///< what has to wait comes in bursts, so far apart
  double noise = 0.0;     ///< spread of the latency (log-normal sigma), mean kept
  unsigned seed = 1;
};

/// What a probe sees of it: whole files of `file_bytes` +-50 % and 4 KiB blocks, 1 to 32 in flight, `rounds` windows of
/// `window_s` each; 1 MiB blocks as well if `large`.
[[nodiscard]] record::StorageRecording simulate_probe(const SimulatedStorage& storage, double file_bytes, bool large,
                                                      int rounds = 4, double window_s = 0.5);

/// Adds a window of whole files in every second of ten stretches of `pause_s`.
void add_pauses(const SimulatedStorage& storage, double file_bytes, int in_flight, double pause_s,
                record::StorageRecording& recording);

}  // namespace stallcast::testing
