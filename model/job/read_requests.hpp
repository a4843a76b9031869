/// How many requests Linux makes of a storage device for a file that is read from its beginning (mm/readahead.c): what
/// a limit on reads per second counts. probes/capture/emulation/files counts by the same rules, read by read.
///
/// Worked example. 110 KB in calls of 64 KiB, 128 KiB read ahead: half of that is asked for, so the first window is all
/// of it: one request. In calls of 8 KiB the windows grow: 16, 32, 64 KiB: three requests.
#pragma once

namespace stallcast {

/// What Linux reads ahead unless a device says otherwise (read_ahead_kb), in bytes.
inline constexpr double k_usual_read_ahead = 131072.0;

/// Largest request of a call that asks for more than is read ahead, in bytes.
inline constexpr double k_largest_request = 1048576.0;

/// Requests for a file of `bytes` read to its end in calls of `call_bytes`; at least 1. `call_bytes` above 0.
[[nodiscard]] double read_requests(double bytes, double call_bytes, double read_ahead = k_usual_read_ahead);

}  // namespace stallcast
