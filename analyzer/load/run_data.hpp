/// A run as recorded: the tool's log and every process's recording, joined into passes over loaders.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyzer/load/gpu_recording.hpp"
#include "analyzer/load/run_log.hpp"
#include "core/data_issue.hpp"
#include "core/result.hpp"
#include "probes/record/cpu_recording.hpp"
#include "probes/record/reader.hpp"

namespace stallcast {

/// One loader object as its process described it; -1 and empty where the description says nothing.
struct LoaderFacts {
  std::uint64_t loader_id = 0;
  std::string kind = "c_api";
  std::optional<std::uint64_t> part_of{};  ///< loader_id of what its batches are parts of (load/batch_parts.hpp)
  /// As the loader says: serial, overlapped or unknown (Job::composition). Who says nothing makes each batch in one
  /// thread, as torch's workers do and as the marks of a batch suppose.
  std::string composition = "serial";
  std::string dataset_type{};
  std::string multiprocessing_context{};
  std::int64_t batch_size = -1;
  std::int64_t num_workers = -1;
  std::int64_t prefetch_factor = -1;
  std::int64_t dataset_samples = -1;
  int pin_memory = -1;   ///< 0, 1, or -1 for not known; likewise below
  int pins_memory = -1;  ///< whether it does: pin_memory asks for it, and there is an accelerator
  int persistent_workers = -1;
  int in_order = -1;
  int drop_last = -1;
  int shuffled = -1;
  bool works_in_next = false;  ///< on each batch, in the process that trains, when that has been taken over

  /// Whether its data set is iterated: torch's, or what Keras makes of a PyDataset or a generator on torch.
  [[nodiscard]] bool is_stream() const { return kind == "iterable" || kind == "keras"; }
};

/// A loader that a data set takes its samples from.
struct NestedLoader {
  std::int64_t workers = 0;
  std::int64_t batches = 0;  ///< of the loader around it, for which it was asked: as many, or up to twice that
  std::string dataset_type{};
};

/// A batch that the consumer was given, and how it was made.
struct Delivery {
  record::WaitRecord wait{};
  bool made_known = false;
  record::BatchRecord made{};           ///< what came over the network counts in its reads (load/received.hpp)
  std::uint64_t received_bytes = 0;     ///< over the network, for this batch
  std::uint64_t sampler_ns = 0;         ///< what the script's next() took to choose a batch; `wait` begins after it
  bool steps_with_predecessor = false;  ///< the batch before it (by number) was recorded too
};

/// When a batch's maker was done with it: handed it to its queue's feeder or, where there is no queue, had made it.
[[nodiscard]] inline std::uint64_t handed_over_ns(const record::BatchRecord& made) {
  return std::max(made.put_ns, made.end_ns);
}

/// The part of a wait until the batch's worker handed it over; the rest went into taking it over. The whole wait where
/// nobody recorded when that was, and where the consumer makes its batches itself.
///
/// Worked example. Asked for at 100 ms, handed over at 130 ms, in the consumer's hands at 134 ms: 30 ms. Handed over
/// at 90 ms: 0.
[[nodiscard]] double seconds_until_made(const Delivery& delivery);

/// One pass over one loader: deliveries in order of batch number. The end-of-epoch wait is not among them.
struct Pass {
  std::uint64_t iterator_id = 0;
  std::uint64_t loader_id = 0;
  std::int64_t epoch = 0;
  std::vector<std::int64_t> worker_pids{};
  std::uint64_t made_ns = 0;  ///< that making its iterator took
  std::uint64_t given_up_ns =
      0;                   ///< that sending its workers away took, where the script dropped it within its batches
  double sampler_s = 0.0;  ///< choosing a batch, in the process that trains: mean of all draws
  std::vector<Delivery> deliveries{};
  bool is_over = false;  ///< the script has seen its end
  /// Batches at its beginning that the script took without training, to fill a buffer of its own (shuffling).
  std::size_t filling = 0;
  bool is_evaluation = false;  ///< none of its batches was trained on, those of passes alike were (trained_on.hpp)
};

/// The loader whose batches another thread takes, and hands on to the training.
struct LoaderBehind {
  LoaderFacts facts{};
  double busy = -1.0;  ///< share of the time that each of its workers makes batches; negative: not known
};

/// A process that takes batches from loaders (a rank).
struct Consumer {
  std::int64_t pid = 0;
  std::int64_t rank = -1;
  std::string host{};
  std::int64_t world_size = 0;  ///< ranks of the job, by its environment; 0: not known
  std::uint32_t restart = 0;    ///< of an elastic job: how often its agent had started it anew
  bool elastic = false;
  std::int64_t parent_pid = 0;
  std::uint64_t born_ns = 0;  ///< CLOCK_MONOTONIC
  std::string description{};  ///< its process text (JSON), empty if there was none
  std::map<std::uint64_t, LoaderFacts> loaders{};
  std::map<std::uint64_t, NestedLoader> nested{};  ///< by the loader_id of the one around it
  /// Functions that gave batches and were made anew unseen: no passes over these are kept.
  std::set<std::uint64_t> lost_loaders{};
  std::vector<Pass> passes{};
  std::vector<record::StepRecord> steps{};
  /// When the first phase began; UINT64_MAX in a passive run. What comes after shows states that we made, not the one
  /// that was found: between two blocks, too, the queue and the page cache are what the block before has left.
  std::uint64_t phases_begin_ns = UINT64_MAX;
  /// Another thread than the training's takes the batches from the loader. Where it was not seen how it hands them
  /// over, `passes` are over the loader, whose waits are none of the training's.
  bool takes_in_thread = false;
  bool sees_queue = false;  ///< `passes` are over what batches are handed over by, from a thread or a process
  std::optional<LoaderBehind> behind{};  ///< what fills that queue, if it is a loader of this process
  bool without_files = false;            ///< its batches are made of no file (load/no_files.hpp)
};

struct RunData {
  std::string name{};       ///< of the folder that it came from, where a profile is made of several
  std::size_t machine = 0;  ///< runs of one profile with the same number were recorded on one machine
  RunLog log{};
  bool has_log = false;
  std::vector<record::ProcessRecording> processes{};
  std::vector<Consumer> consumers{};
  std::optional<record::CpuRecording> cpu{};  ///< absent: an older run, one without the CPU probe, or a killed tool
  std::vector<GpuRecording> gpus{};           ///< of the processes that used one
  std::vector<DataIssue> issues{};
};

/// Loads every recording under `folder` (the folder itself, or its `recordings/`). Recordings of another run than the
/// log's are left out and counted. bad_input if there is nothing to read.
[[nodiscard]] Result<RunData> load_run(const std::filesystem::path& folder);

/// The folder that holds the recordings: `folder`/recordings where there is one, else `folder`.
[[nodiscard]] std::filesystem::path recordings_of(const std::filesystem::path& folder);

/// The launches that one profile is made of: the run itself, or each of recordings/PART (--strategy separate), in the
/// order in which they began. Errors as load_run.
[[nodiscard]] Result<std::vector<RunData>> load_launches(const std::filesystem::path& folder);

/// Whether the launches are those of one job's nodes, as `stallcast merge` leaves them, and not of one phase each.
[[nodiscard]] bool holds_nodes(const std::filesystem::path& folder);

/// The joining alone, on what was read.
void join_run(RunData& run);

/// An elastic agent starts all ranks anew when one fails: the last start counts. Leaves out the consumers of earlier
/// ones, and names them. Clocks of one node only.
void keep_last_start(RunData& run);

/// Of processes of which one started the other, and that no launcher numbered apart: those that train, evaluate or fill
/// a queue beside a training that goes on. They are left out, with an issue.
void leave_out_beside(RunData& run);

}  // namespace stallcast
