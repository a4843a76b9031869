/// What this room takes for much and little: thresholds and tolerances, with what set them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stallcast {

// told_by_passes.cpp: batches that a script takes before its first step, to fill a buffer of its own.

/// Batches before the first step. Chosen: fewer are a warm-up, and more must not be needed, since leaving such batches
/// in as steps makes the steps too short. tests/analyzer/blocks/streams_test.cpp has a buffer that is filled.
inline constexpr std::size_t k_fewest_filling_batches = 4;
/// Times the batches that usually lie between two steps. Chosen: gradient accumulation takes its usual number before
/// the first step, and one number more where it begins elsewhere; a buffer takes many.
inline constexpr double k_filling_times_usual = 2.5;

// trained_on.cpp. Held by tests/analyzer/load/trained_on_test.cpp.

/// Steps after the last delivery, from which batches are said to be given again, if they are most of all. Chosen: fewer
/// are a tail of gradient accumulation or a step at the end of the job.
inline constexpr std::int64_t k_fewest_steps_given_again = 16;
/// Batches after the last step of a pass, from which its steps are said to have gone unseen: so many times those that a
/// step has, and so many more. Chosen: the rest of gradient accumulation, and what a script takes ahead, are less; a
/// captured graph leaves all of the pass.
inline constexpr double k_late_times_usual = 2.0;
inline constexpr double k_most_late_batches = 8.0;

// machines.cpp

/// Seconds between the boots of two recordings, as each clock of the day puts them, from which these are two machines.
/// Chosen: setting the clock moves a boot by less, hosts of one name were hardly started within a minute. Held by
/// "machines that are called alike are told apart by when they were started" (tests/analyzer/load/machines_test.cpp).
inline constexpr double k_clock_was_set_s = 60.0;

// run_data.cpp

/// Workers, or batches ahead, that a loader may say it has. Chosen far above any loader: a damaged number would be
/// allocated for by whoever replays it. Held by "a loader that claims a million workers is not believed"
/// (tests/analyzer/load).
inline constexpr std::int64_t k_most_of_loader_count = 4096;

// no_files.cpp. Held by tests/analyzer/blocks/without_files_test.cpp.

/// Batches whose making is known, from which it can be said that they read no file. Chosen: fewer may all lie in one
/// group of rows that was read before.
inline constexpr std::int64_t k_fewest_without_file = 16;
/// Bytes read, and files opened, for a sample, up to which it is made of none. Chosen: less than any sample's header
/// (k_least_file_bytes_of_sample of analyzer/reads); a library may look at a file now and then.
inline constexpr double k_no_file_bytes_of_sample = 256.0;
inline constexpr double k_no_file_opens_of_sample = 0.01;
/// Bytes from storage that are libraries' in any run. Chosen: a module that is imported late.
inline constexpr double k_late_imports_bytes = 4e6;

// queue.cpp

/// Times the batches of a loader, of which another one in the same process gave most: below it that one is no candidate
/// for what a thread takes. Chosen: an evaluation of a tenth of the data is none.
inline constexpr std::size_t k_part_of_batches = 8;

// gpu_recording.cpp

/// Nanoseconds of a bin of the GPU probe. Chosen far above what the probe writes: a wider one is damage.
inline constexpr std::uint64_t k_widest_gpu_bin_ns = 10'000'000'000ULL;

}  // namespace stallcast
