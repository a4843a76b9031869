/// Rules, not predictions: each looks at what was measured and names something to do. Numbers in them are measured.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "analyzer/profile/dataset_bytes.hpp"
#include "analyzer/profile/loader_terms.hpp"
#include "reports/findings/constants.hpp"
#include "reports/findings/derived.hpp"
#include "reports/findings/findings.hpp"
#include "reports/findings/next_step_rules.hpp"
#include "reports/words/format.hpp"

namespace stallcast::reports {
namespace {

/// Pauses between epochs are no part of the steps, and of short epochs the larger part of what is lost.
std::optional<NextStep> keep_workers(const Case& c) {
  if (!c.has_workers() || c.p.job.persistent_workers.value_or(true)) return std::nullopt;
  const auto* pause = usable(c.p.stalls.epoch_pause);
  const auto* rate = usable(c.p.rates.as_is);
  if (pause == nullptr || rate == nullptr || c.p.job.dataset_samples.value_or(0) <= 0) return std::nullopt;
  const Seconds steps(static_cast<double>(*c.p.job.dataset_samples) / rate->mean.value());
  const double share = pause->mean / (pause->mean + steps);
  if (!(share >= k_moderate_from)) return std::nullopt;
  return NextStep{
      "keep-workers", "Keep the workers between epochs (one loader for all of them, with persistent_workers=True)",
      fmt::format("the steps of an epoch take {}, and the pause before them, until the first batch is there, {}: {} of "
                  "the time. Workers that are kept start once; what their first batch takes remains",
                  duration(steps), duration(pause->mean), percent(share)),
      share};
}

std::optional<NextStep> leave_it(const Case& c) {
  if (!c.d.wait || *c.d.wait >= k_moderate_from || keep_workers(c)) return std::nullopt;
  std::string why = "the loader keeps up: more workers, a cache or faster storage would bring next to nothing";
  const auto* supply = usable(c.d.cold ? c.p.rates.supply_cold : c.p.rates.supply_cached);
  const auto* now = usable(c.d.cold ? c.p.rates.cold : c.p.rates.as_is);
  if (supply != nullptr && now != nullptr && supply->mean > now->mean) {
    why += fmt::format("; it could deliver {} where the job takes {}", rate(supply->mean), rate(now->mean));
  }
  return NextStep{"leave-it", "Leave the loader as it is, and speed up the step itself", why, 1.0};
}

/// Batches are made by the script's own code, between two steps.
bool is_own_loop(const Job& job) {
  return job.loader_kind == "function" || job.loader_kind == "python";
}

std::optional<NextStep> make_ahead(const Case& c) {
  if (!c.d.prep && !c.d.fetch) return std::nullopt;  // what it waits for is not known
  const std::string maker = c.p.job.dataset_type.empty() ? "the loop" : c.p.job.dataset_type;
  const char* loader = trains_without_torch(c.p.job.framework) ? "grain's mp_prefetch" : "a DataLoader";
  std::string why = fmt::format(
      "{} makes every batch between two steps, so its whole time is waiting. Worker processes ({} with "
      "num_workers=1 or more) make batches during the steps; a thread that is one batch ahead hides what waits for "
      "storage",
      maker, loader);
  if (c.d.cores_usable) why += fmt::format("; {} cores are usable", cores(*c.d.cores_usable));
  return NextStep{"make-ahead", "Make batches ahead, during the step", why, c.wait};
}

std::optional<NextStep> start_workers(const Case& c) {
  if (!c.waits() || !c.p.job.num_workers || *c.p.job.num_workers > 0) return std::nullopt;
  if (has_issue(c, "nested-loader")) return std::nullopt;             // its workers could have none of their own
  if (terms_of(c.p.job.loader_kind) != nullptr) return std::nullopt;  // more_threads
  if (is_own_loop(c.p.job)) return make_ahead(c);
  std::string why = "with num_workers=0 every batch is made between two steps, so its whole time is waiting";
  if (c.d.cores_usable) why += fmt::format("; {} cores are usable", cores(*c.d.cores_usable));
  return NextStep{"start-workers", "Load in worker processes (num_workers=1 or more)", why, c.wait};
}

/// In the words of the loader's own library.
std::optional<NextStep> more_at_a_time(const Case& c, const LoaderTerms& terms) {
  std::string why = std::string(terms.more) + "; profile again and compare (stallcast diff)";
  if (c.d.cores_free && c.d.cores_usable) {
    why += fmt::format(". {} of {} usable cores are idle", cores(*c.d.cores_free), cores(*c.d.cores_usable));
  }
  return NextStep{"more-threads", std::string(terms.title), why, 0.9 * c.wait};
}

std::optional<NextStep> more_threads(const Case& c) {
  const LoaderTerms* terms = terms_of(c.p.job.loader_kind);
  if (!c.waits() || terms == nullptr) return std::nullopt;
  return more_at_a_time(c, *terms);
}

std::optional<NextStep> more_workers(const Case& c) {
  if (!c.waits() || !c.has_workers() || !c.d.worker_busy || *c.d.worker_busy < k_busy_workers_from) return std::nullopt;
  const bool reads_overlap = c.fetch > c.prep && c.from_storage();
  if (c.workers_queue() || (!c.cores_are_free() && !(reads_overlap && !c.cores_are_busy()))) return std::nullopt;
  std::string why =
      fmt::format("the {} are busy {} of the time", plural(*c.p.job.num_workers, "worker"), percent(*c.d.worker_busy));
  if (c.cores_are_free()) {
    why += fmt::format(", while {} of {} usable cores are idle", cores(*c.d.cores_free), cores(*c.d.cores_usable));
  }
  if (reads_overlap) why += "; reads of more workers overlap, up to what the storage can deliver";
  return NextStep{"more-workers", fmt::format("More workers than {}", *c.p.job.num_workers), why, 0.9 * c.wait};
}

std::optional<NextStep> more_cores(const Case& c) {
  if (!c.prepares() || !c.cores_are_busy()) return std::nullopt;
  const Host& host = c.p.host;
  if (host.usable_cpus + k_free_core > host.logical_cpus || host.usable_cpus_limited_by == "nothing")
    return std::nullopt;
  return NextStep{
      "more-cores", "Ask for more cores",
      fmt::format("only {} of this machine's {} cores are usable here (limited by {}), and {} are busy",
                  cores(host.usable_cpus), host.logical_cpus, host.usable_cpus_limited_by, cores(*c.d.cores_busy)),
      1.05 * c.prep};
}

std::optional<NextStep> cheaper_prep(const Case& c) {
  if (!c.prepares() || !c.cores_are_busy()) return std::nullopt;
  return NextStep{
      "cheaper-prep", "Make preparing a sample cheaper",
      fmt::format("{} of {} usable cores are busy, so more workers would only share them: decode at reduced "
                  "size, resize the files once ahead of time, use a faster decoder, or move work to the "
                  "accelerator",
                  cores(*c.d.cores_busy), cores(*c.d.cores_usable)),
      c.prep};
}

std::optional<NextStep> cheaper_handover(const Case& c) {
  if (c.receive < k_moderate_from) return std::nullopt;
  return NextStep{
      "cheaper-handover", "Make batches cheaper to receive",
      fmt::format("{} of each step goes into receiving batches that were ready, which neither workers nor "
                  "storage change: use smaller types (uint8 images, converted on the device), a few tensors "
                  "instead of many objects",
                  percent(c.receive)),
      c.receive};
}

std::optional<NextStep> hide_copies(const Case& c) {
  const auto* exposed = usable(c.p.gpu.exposed);
  if (exposed == nullptr || holds_zero(*exposed) || exposed->mean < k_moderate_from) return std::nullopt;
  std::string why =
      fmt::format("the GPU waits {} of each step for copies that no kernel hides", percent(exposed->mean));
  if (c.p.gpu.pageable && *c.p.gpu.pageable > 0.0) {
    why += fmt::format("; {} of the bytes come from memory that is not pinned", percent(*c.p.gpu.pageable));
  }
  return NextStep{"hide-copies", "Copy the next batch while this one computes",
                  why + ": pin_memory=True, .to(device, non_blocking=True) one batch ahead on a stream of its own",
                  exposed->mean};
}

std::optional<NextStep> contended_cores(const Case& c) {
  if (!c.waits() || !c.workers_queue() || !c.cores_are_idle()) return std::nullopt;
  return NextStep{
      "contended-cores", "Find what else uses these cores",
      fmt::format("workers are ready to run but wait for a core {} of their time, while this job keeps only "
                  "{} of {} usable cores busy: other processes or a CPU quota take the rest",
                  percent(*c.d.run_delay), cores(*c.d.cores_busy), cores(*c.d.cores_usable)),
      0.95 * c.wait};
}

std::optional<NextStep> fewer_threads(const Case& c) {
  if (!c.prepares() || !c.p.job.threads_per_worker || !c.d.workers || !c.d.cores_usable) return std::nullopt;
  const double threads = static_cast<double>(*c.p.job.threads_per_worker) * *c.d.workers;
  if (*c.p.job.threads_per_worker < 2 || threads <= *c.d.cores_usable) return std::nullopt;
  return NextStep{"fewer-threads", "Use one thread in each worker",
                  fmt::format("{} workers with {} threads each share {} usable cores (OMP_NUM_THREADS=1, "
                              "cv2.setNumThreads(0))",
                              number(*c.d.workers), *c.p.job.threads_per_worker, cores(*c.d.cores_usable)),
                  0.9 * c.prep};
}

std::optional<NextStep> keep_a_copy(const Case& c) {
  if (!c.fetches() || !c.over_network()) return std::nullopt;
  const auto& all = c.p.dataset.bytes_total;
  return NextStep{"keep-a-copy", "Keep a copy of the data here: on a local disk, or in a cache of the loader's own",
                  (all ? "about " + bytes(*all) : "the data") +
                      " come over the network again in every epoch: no page "
                      "cache holds them",
                  1.05 * c.fetch};
}

std::optional<NextStep> nearer_store(const Case& c) {
  if (!c.fetches() || !c.over_network()) return std::nullopt;
  return NextStep{"nearer-store", "Ask for several samples at once, or read from a store that is nearer or faster",
                  fmt::format("workers wait for the network, over which {} of a sample come",
                              bytes(Bytes(c.p.dataset.received_per_sample->value()))),
                  0.95 * c.fetch};
}

std::optional<NextStep> keep_in_memory(const Case& c) {
  if (c.over_network()) return std::nullopt;
  if (!c.fetches() || !c.from_storage() || !c.p.dataset.bytes_total || !c.p.resources.page_cache_available) {
    return std::nullopt;
  }
  const Bytes data = *c.p.dataset.bytes_total;
  const Bytes room = *c.p.resources.page_cache_available;
  if (c.was_in_memory() && data.value() <= k_fits_memory_share * room.value()) {
    return NextStep{"keep-in-memory", "Keep the data set in memory, as it was found",
                    fmt::format("as found, reads came from memory, and only from storage do they take {} of each "
                                "step; about {} of data, {} of memory left",
                                percent(c.fetch), bytes(data), bytes(room)),
                    1.05 * c.fetch};
  }
  if (data.value() <= k_fits_memory_share * room.value()) {
    return NextStep{"keep-in-memory", "Keep the data set in memory",
                    fmt::format("about {} of data fit the {} of memory left: after a first pass the reads should come "
                                "from memory",
                                bytes(data), bytes(room)),
                    1.05 * c.fetch};
  }
  return NextStep{"keep-in-memory",
                  "Hold more of the data near: more memory, a cache that keeps its files, or a local disk",
                  fmt::format("about {} of data do not fit the {} of memory left", bytes(data), bytes(room)), c.fetch};
}

std::optional<NextStep> faster_storage(const Case& c) {
  if (!c.fetches() || !c.from_storage() || c.over_network()) return std::nullopt;
  std::string why = "workers wait in reads";
  if (c.was_in_memory()) {
    // Of data that stay in memory, what is read ahead for one sample serves others in a first epoch.
    const bool is_like_first = !read_ahead_factor(c.p.dataset, c.p.job.dataset_samples);
    why = is_like_first ? "where reads do not come from memory, as in a first epoch, workers wait in them"
                        : "where the data do not stay in memory, workers wait in reads";
  } else if (c.p.resources.bytes_from_storage) {
    why += fmt::format("; {}{} of the bytes came from storage", c.d.cold ? "as found, " : "",
                       percent(*c.p.resources.bytes_from_storage));
  }
  if (c.p.resources.storage_bandwidth && !c.was_in_memory())
    why += ", at " + bandwidth(*c.p.resources.storage_bandwidth);
  if (!c.p.dataset.filesystem.empty()) why += fmt::format(" ({})", c.p.dataset.filesystem);
  return NextStep{"faster-storage", "Read from faster storage, or copy the data to a local disk first", why,
                  0.95 * c.fetch};
}

std::optional<NextStep> larger_reads(const Case& c) {
  if (!c.fetches() || c.p.dataset.layout != "files" || !c.p.dataset.bytes_per_sample) return std::nullopt;
  const double size = c.p.dataset.bytes_per_sample->value();
  if (!(size < k_small_sample_bytes)) return std::nullopt;
  return NextStep{"larger-reads", "Pack samples into larger files (shards)",
                  fmt::format("each sample is a file of its own and reads {}: every one pays for an open and the "
                              "storage's latency",
                              bytes(Bytes(size))),
                  0.8 * c.fetch};
}

std::optional<NextStep> resident_reads(const Case& c) {
  if (!c.fetches() || c.from_storage()) return std::nullopt;
  return NextStep{"resident-reads", "Read in fewer, larger calls",
                  "the bytes come from memory already, so faster storage would not help: the time goes into the calls "
                  "themselves",
                  c.fetch};
}

std::optional<NextStep> slow_rank(const Case& c) {
  std::vector<std::pair<double, const Rank*>> waits;
  for (const Rank& rank : c.p.ranks) {
    if (const auto* wait = usable(rank.wait)) waits.emplace_back(wait->mean, &rank);
  }
  if (waits.size() < 2 || !c.p.job.ranks_together) return std::nullopt;
  std::sort(waits.begin(), waits.end());
  const auto& [most, worst] = waits.back();
  const double median = waits[(waits.size() - 1) / 2].first;
  if (most - median < k_rank_spread) return std::nullopt;
  return NextStep{"slow-rank", fmt::format("Look at rank {} on {} first", worst->rank, worst->host),
                  fmt::format("it waits for data {} of its steps, the median rank {}; the others then wait for it in "
                              "every all-reduce",
                              percent(most), percent(median)),
                  1.1 * most};
}

std::optional<NextStep> choose_ahead(const Case& c) {
  if (c.sampler < k_moderate_from) return std::nullopt;
  const auto* step = usable(c.p.resources.step);
  std::string why = fmt::format("the sampler takes {} of each step in the training process itself, within next()",
                                step != nullptr ? duration(step->mean * c.sampler) : percent(c.sampler));
  why += ": neither workers nor cores for them, a cache or storage shorten that";
  return NextStep{"choose-ahead",
                  "Choose the samples ahead: before the epoch, in a thread, or in the data set's workers", why,
                  1.1 * c.sampler};
}

std::optional<NextStep> keep_iterator(const Case& c) {
  const auto is_told = [](const DataIssue& issue) { return issue.id == "iterator-per-step"; };
  if (!c.waits() || std::none_of(c.p.issues.begin(), c.p.issues.end(), is_told)) return std::nullopt;
  std::string why = fmt::format(
      "next(iter(loader)) starts workers for one batch of each step: {} of the time is "
      "waiting for that",
      percent(c.wait));
  const auto* synthetic = usable(c.p.rates.synthetic);
  if (synthetic != nullptr) why += fmt::format("; the steps alone would take {}", rate(synthetic->mean));
  return NextStep{"keep-iterator", "Keep the iterator: loop over the loader, or make it once and call next() on it",
                  why, 1.2 * c.wait};
}

std::optional<NextStep> all_ranks(const Case& c) {
  if (c.p.job.ranks_seen < 1 || c.p.job.ranks_seen >= c.p.job.ranks_expected) return std::nullopt;
  return NextStep{
      "all-ranks", "Collect the recordings of all ranks",
      fmt::format("{} of {} were seen: a slow one may be among the rest", c.p.job.ranks_seen, c.p.job.ranks_expected),
      0.04};
}

constexpr std::array<Rule, 25> k_rules = {
    make_it_run,     keep_workers,  no_loader,      look_within, run_longer,   keep_iterator,    choose_ahead,
    leave_it,        start_workers, more_workers,   more_cores,  cheaper_prep, cheaper_handover, hide_copies,
    contended_cores, fewer_threads, keep_in_memory, keep_a_copy, nearer_store, faster_storage,   larger_reads,
    resident_reads,  slow_rank,     all_ranks,      more_threads};

/// What cannot be told from 0 calls for nothing to be bought.
double told_from_zero(const MeasuredEstimate<Fraction>& share) {
  const auto* estimate = usable(share);
  return estimate != nullptr && !holds_zero(*estimate) ? estimate->mean : 0.0;
}

}  // namespace

std::vector<NextStep> next_steps_of(const Profile& p, Level level) {
  Case c{p, derive(p)};
  if (level != Level::unknown) {
    c.wait = c.d.wait.value_or(0.0);
    const auto& fetch = c.d.cold ? p.stalls.fetch : p.stalls.as_is_fetch;
    const auto& prep = c.d.cold ? p.stalls.prep : p.stalls.as_is_prep;
    c.fetch = told_from_zero(fetch);
    c.prep = told_from_zero(prep);
    c.sampler = told_from_zero(p.stalls.as_is_sampler);
    // Where the report says that the wait was not divided, no part of it is a reason for anything.
    if (fetch && prep) c.receive = told_from_zero(c.d.cold ? p.stalls.receive : p.stalls.as_is_receive);
  }
  std::vector<NextStep> steps;
  for (const Rule rule : k_rules) {
    if (auto step = rule(c)) steps.push_back(std::move(*step));
  }
  std::stable_sort(steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.weight > b.weight; });
  if (steps.size() > k_most_next_steps) steps.resize(k_most_next_steps);
  return steps;
}

}  // namespace stallcast::reports
