/// The part of a storage probe that a profile keeps, and the file that it is kept in beside the recordings.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "analyzer/profile/profile.hpp"
#include "core/data_issue.hpp"
#include "core/result.hpp"
#include "probes/record/storage_recording.hpp"

namespace stallcast {

/// What storage saves up while nobody reads. Worked example. All the time it gives 20 MB/s at most; read in every
/// second stretch of 50 ms it gives 19.6 MB/s of the whole time where a disk would give 10: 96 % of what the pauses
/// cost comes back. Absent where no such window is proven cold, or the ceiling is not known.
[[nodiscard]] Measured<Fraction> saved_in_pauses(const record::StorageRecording& recording,
                                                 const MeasuredEstimate<BytesPerSecond>& ceiling);

/// Time of a read that finds the storage idle: the median of the first that is known of each stretch. Absent where too
/// few of them lie in windows that are proven cold.
[[nodiscard]] Measured<Seconds> idle_read(const record::StorageRecording& recording);

/// What the job itself read cold from the storage of one host, its readers taken together.
struct JobReading {
  std::int64_t in_flight = 1;  ///< readers: each waits for one read at a time
  Estimate<BytesPerSecond> bandwidth{};
  bool waiting = false;  ///< nearly all of the time all of them were in reads: it got what that many at once get
};

/// From the run as found, where nearly all came from storage and its readers hardly did anything but wait for it: so
/// many get no less than what came from there, and no more than as if all had, in the share of the time that they
/// waited. Else from the higher of its cold rates, with the trainer and without. Without workers the trainer alone
/// reads, and between two reads storage may save up: of its own makings nothing follows. None where none of these was
/// measured, or not what a sample reads.
///
/// Worked example. Four workers, 32.4 samples/s of 152 kB as found, 122 ms of reading each: 3.95 of four are in reads,
/// 99 % of the time. They got 4.92 MB/s, so that four at once get that and at most 4.98.
[[nodiscard]] std::optional<JobReading> job_reading(const Profile& profile);

/// Rates of whole files where they were read whole, else of large blocks. `job` counts as one more point of the curve
/// where the probe, which is short, has not come to the ceiling, or where the job waited for the storage alone: two
/// workers that got 20 MB/s for a minute tell more than a second of reading with two in flight.
[[nodiscard]] Storage storage_summary(const record::StorageRecording& recording,
                                      const std::optional<JobReading>& job = std::nullopt);

/// Of what a loader delivers alone from storage: no more than storage gives for long. More was saved up while the step
/// computed and nobody read, as many limits let it be, and is no rate that lasts: the profile's `supply_cold` is absent
/// then, with that reason, its rate and its point.
///
/// Worked example. 258 samples/s (247 to 270) of 105 kB would be 26 to 28 MB/s, from storage that gives 19.6 to 20.4.
void check_supply(Profile& profile);

/// Writes `recordings`/storage.json: the section "storage" of profile.json, with the reasons of what is absent.
[[nodiscard]] Status save_storage(const Storage& storage, const std::filesystem::path& recordings);

/// What save_storage wrote; a Storage without a path where there is no such file. One that cannot be read is an issue.
[[nodiscard]] Storage load_storage(const std::filesystem::path& recordings, std::vector<DataIssue>& issues);

}  // namespace stallcast
