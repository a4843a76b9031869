#include "analyzer/warnings/warnings.hpp"

#include <array>
#include <cstdio>

namespace stallcast::sections {
namespace {

constexpr std::array k_table{
    Warning{"few-steps", Severity::warning, 30.0, "steady steps, below which intervals are wide", few_steps,
            "let the command run longer; short runs give wide intervals"},
    Warning{"drift", Severity::warning, 0.10, "change of a step over the window, as a share of its mean", drift,
            "the cache may be filling, or another job runs here; measure longer, or a later epoch"},
    Warning{"trained-elsewhere", Severity::warning, 0.10, "steps on batches of loaders that are not told, of all",
            trained_elsewhere, "profile a run of each phase of the training by itself"},
    Warning{"oversubscribed", Severity::warning, 2.0, "computing threads of workers per usable core", oversubscribed,
            "fewer workers, or one thread per worker (torch.set_num_threads(1), OMP_NUM_THREADS=1)", true},
    Warning{"opencv-threads", Severity::warning, 2.0, "threads that OpenCV may use in workers, per usable core",
            opencv_threads, "cv2.setNumThreads(0) in the data set, or in worker_init_fn", true},
    Warning{"workers-pinned", Severity::warning, 1.0, "cores that all workers together may run on", workers_pinned,
            "ask the batch system for more cores per task (--cpus-per-task, --cpu-bind), or undo the affinity that a "
            "library has set (KMP_AFFINITY, OMP_PROC_BIND; os.sched_setaffinity in worker_init_fn)",
            true},
    Warning{"cores-limited", Severity::info, 1.0, "usable cores as a share of the machine's", cores_limited,
            "ask the batch system for more cores per task if the loader needs them", true},
    Warning{"cpu-throttled", Severity::warning, 0.05, "periods in which the CPU quota was used up", cpu_throttled,
            "a higher quota (docker: --cpus; Kubernetes: limits.cpu), or fewer threads: those that are stopped hold up "
            "the batch that is needed next",
            true},
    Warning{
        "cpu-stolen", Severity::warning, 0.05, "time of its cores in which the machine's host ran others", cpu_stolen,
        "rates hold beside this load of the host; dedicated cores, or another machine, are not disturbed by it", true},
    Warning{"shm-nearly-full", Severity::warning, 0.80, "use of what /dev/shm had free at the start", shm_nearly_full,
            "give it more room (docker: --shm-size), or lower num_workers x prefetch_factor; a full one ends workers "
            "with a bus error",
            true},
    Warning{"not-pinned", Severity::info, 0.0, "", not_pinned,
            "pin_memory=True and .to(device, non_blocking=True) let copies to the GPU run beside its computing"},
    Warning{"swapping", Severity::warning, 0.01, "the job's memory that lies on swap", swapping,
            "fewer workers or a shorter prefetch; what is on swap is read back one page at a time", true},
    Warning{"memory-anew", Severity::warning, 0.05, "CPU time that page faults of memory taken anew cost", memory_anew,
            "keep it: MALLOC_TRIM_THRESHOLD_=2000000000 MALLOC_MMAP_THRESHOLD_=33554432 in the environment, or another "
            "allocator (jemalloc, tcmalloc through LD_PRELOAD)",
            true},
    Warning{"memory-growth", Severity::warning, 0.10, "growth of the workers' memory over the window", memory_growth,
            "lists of Python objects in the data set are copied page by page as workers touch their reference counts: "
            "keep them as one array (numpy, pyarrow), or share them",
            true},
    Warning{"slow-worker", Severity::warning, 0.25, "time per sample of the slowest worker beyond the others'",
            slow_worker, "batches are delivered in order, so all wait for it: look at its core, its shard, its node"},
    Warning{"worker-without-data", Severity::warning, 1.0, "workers of a stream that made no batch",
            worker_without_data,
            "the data set has fewer parts (shards, files) than workers: fewer workers, or more and smaller parts"},
    Warning{"uneven-workers", Severity::warning, 1.5, "batches of the worker that made most in an epoch, over the mean",
            uneven_workers, "parts (shards, files) of equal size, and a multiple of the workers of them"},
    Warning{"data-not-split", Severity::warning, 0.9, "of the bytes of a stream's files, that each worker read",
            all_read_everything,
            "split by worker: torch.utils.data.get_worker_info() in __iter__, webdataset.split_by_worker"},
    Warning{"slow-rank", Severity::warning, 0.05, "waiting of a rank beyond the median of the others, of a step",
            slow_rank, "the others wait for it in the exchange of gradients: look at its node, its files, its cores"},
    Warning{"slow-node", Severity::warning, 0.05,
            "waiting of each rank of a node beyond the median of the other nodes'", slow_node,
            "all other nodes wait for it: look at its storage mount, its cores, what else runs there"},
    Warning{"uneven-ranks", Severity::warning, 0.05, "batches of a rank beyond or short of the median of all",
            uneven_ranks,
            "a rank that ended early or is given less data: the others may hang in a collective, or leave samples out"},
    Warning{"epoch-pauses", Severity::warning, 0.05, "time that pauses at epoch boundaries take", epoch_pauses,
            "workers that are kept between epochs (persistent_workers=True of torch's DataLoader) start once"},
    Warning{
        "ranks-missing", Severity::warning, 1.0, "ranks seen of those expected", ranks_missing,
        "stallcast merge puts recordings of other nodes beside these; where the launcher drops the environment, see "
        "stallcast env"},
    Warning{
        "reads-unseen", Severity::warning, 1e7, "bytes from storage that no read call asked for", reads_unseen,
        "what a sample takes beyond its CPU time is mostly reading, where nothing else blocks; data that the loader's "
        "own processes read with read() can be measured",
        true},
    Warning{"read-ahead-unused", Severity::warning, 2.0, "what storage gives of a cold sample, in its pages",
            read_ahead_unused,
            "it serves later samples where all of the data stay in memory, and none where they do not: then "
            "os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM) on the open file (of a map, madvise(mmap.MADV_RANDOM)) "
            "leaves it out, or samples in the order in which they lie in the file"},
};

}  // namespace

std::string fixed(double value, int digits) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string data_size(double bytes) {
  return bytes < 1e9 ? fixed(bytes / 1e6, 0) + " MB" : fixed(bytes / 1e9, 1) + " GB";
}

std::span<const Warning> warning_table() {
  return k_table;
}

namespace {

void ask(const Warning& warning, const Evidence& evidence, const std::string& where, std::vector<DataIssue>& issues) {
  std::string seen = warning.look(evidence, warning.threshold);
  if (seen.empty()) return;
  add_issue(issues, {warning.id, warning.severity, 1, where + seen, warning.hint});
}

}  // namespace

void add_warnings(Nodes nodes, const std::vector<RankView>& ranks, Profile& profile) {
  for (const Warning& warning : k_table) {
    if (!warning.of_node) ask(warning, {*ranks.front().run, ranks, profile}, {}, profile.issues);
    for (const Launch& node : nodes) {
      if (!warning.of_node || node.ranks.empty()) continue;
      const std::string where = nodes.size() > 1 ? node.ranks.front().consumer->host + ": " : std::string();
      ask(warning, {*node.run, node.ranks, profile}, where, profile.issues);
    }
  }
}

}  // namespace stallcast::sections
