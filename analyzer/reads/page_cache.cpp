/// How much of what an epoch reads the page cache serves.
///
/// Worked example. An epoch of 3,200 samples of 110 KB reads 352 MB. /proc/PID/io of the job's processes stood at 400
/// MB from storage when it began and at 625 MB when its last batch was delivered: 225 MB came from storage, 127 MB, 36
/// %, from memory. Both readings are interpolated between the tool's ticks, and so are the samples delivered by then.
#include "analyzer/reads/page_cache.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "analyzer/load/received.hpp"
#include "analyzer/load/tick_span.hpp"
#include "analyzer/reads/constants.hpp"
#include "analyzer/reads/from_storage.hpp"
#include "analyzer/reads/network.hpp"
#include "analyzer/statistics/statistics.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {
namespace {

/// A cumulative count at the ticks where it could be read, interpolated between them.
class Course {
 public:
  void add(std::uint64_t t_ns, double value) {
    times_.push_back(static_cast<double>(t_ns));
    values_.push_back(value);
  }

  /// Nothing before the first tick and after the last.
  [[nodiscard]] std::optional<double> at(std::uint64_t t_ns) const {
    const auto time = static_cast<double>(t_ns);
    if (times_.empty() || time < times_.front() || time > times_.back()) return std::nullopt;
    const auto after = std::lower_bound(times_.begin(), times_.end(), time);
    const auto i = static_cast<std::size_t>(after - times_.begin());
    if (i == 0) return values_.front();
    const double part = (time - times_[i - 1]) / (times_[i] - times_[i - 1]);
    return values_[i - 1] + part * (values_[i] - values_[i - 1]);
  }

  [[nodiscard]] std::optional<double> between(std::uint64_t from_ns, std::uint64_t to_ns) const {
    const auto from = at(from_ns);
    const auto to = at(to_ns);
    if (!from || !to) return std::nullopt;
    return *to - *from;
  }

  [[nodiscard]] std::int64_t ticks_between(std::uint64_t from_ns, std::uint64_t to_ns) const {
    return std::count_if(times_.begin(), times_.end(), [&](double time) {
      return time >= static_cast<double>(from_ns) && time <= static_cast<double>(to_ns);
    });
  }

 private:
  std::vector<double> times_{};
  std::vector<double> values_{};
};

/// One epoch of all ranks.
struct Span {
  std::uint64_t begin_ns = UINT64_MAX;
  std::uint64_t end_ns = 0;
  std::uint64_t first_batch = 0;  ///< the first one recorded: what lies before fell into a stretch without recording
  std::uint64_t last_batch = 0;
};

std::map<std::int64_t, Span> spans_of(const std::vector<RankView>& ranks) {
  std::map<std::int64_t, Span> spans;
  for (const RankView& rank : ranks) {
    std::int64_t number = 1;  // passes are in their order; what the loader calls an epoch may begin anywhere
    for (const Pass* pass : rank.window.passes) {
      if (pass->deliveries.empty()) continue;
      const record::WaitRecord& first = pass->deliveries.front().wait;
      const record::WaitRecord& last = pass->deliveries.back().wait;
      Span& span = spans[number++];
      span.begin_ns = std::min(span.begin_ns, first.begin_ns);
      span.end_ns = std::max(span.end_ns, last.end_ns);
      span.first_batch = std::max(span.first_batch, first.batch);
      span.last_batch = std::max(span.last_batch, last.batch);
    }
  }
  return spans;
}

bool evaluated_within(const std::vector<RankView>& ranks, const Span& span) {
  for (const RankView& rank : ranks) {
    const auto asked = waits_beside_training(*rank.consumer);
    const auto first = std::lower_bound(asked.begin(), asked.end(), span.begin_ns);
    if (first != asked.end() && *first < span.end_ns) return true;
  }
  return false;
}

/// What nobody saw of an epoch's begin was prefetched by then: at most the batches that are under way at once.
bool begin_seen(const LoaderFacts& loader, const Span& span) {
  if (span.first_batch == 0) return true;
  const double ahead = static_cast<double>(std::max<std::int64_t>(loader.num_workers, 0) *
                                           std::max<std::int64_t>(loader.prefetch_factor, 1));
  return ahead <= k_most_ahead_of_epoch * static_cast<double>(span.last_batch + 1);
}

/// Why no epoch can be looked at; empty if some may.
std::string reason_against(Nodes nodes, const std::vector<RankView>& ranks, double per_sample) {
  if (nodes.size() > 1) return "the ranks were recorded in several runs, each with counts of its own";
  const RunData& run = *nodes.front().run;
  if (storage_is_emulated(run)) return "the storage was emulated: the page cache had another part";
  if (per_sample <= 0.0) return "no read of a file was seen while batches were made";
  if (is_over_network(ranks)) return "the data come over the network, and no page cache holds them";
  for (const RankView& rank : ranks) {
    if (rank.consumer->host != ranks.front().consumer->host) return "the ranks lie on several hosts";
  }
  return "";
}

struct Courses {
  Course samples{};
  Course storage{};
  std::uint64_t until_ns = UINT64_MAX;
};

Courses courses_of(const RunData& run) {
  Courses courses;
  for (const Consumer& consumer : run.consumers) {
    courses.until_ns = std::min(courses.until_ns, consumer.phases_begin_ns);
  }
  for (const Tick& tick : run.log.ticks) {
    courses.samples.add(tick.t_ns, delivered_at(tick));
    if (tick.tree_read_bytes >= 0) courses.storage.add(tick.t_ns, static_cast<double>(tick.tree_read_bytes));
  }
  return courses;
}

/// The epoch, if what it read and what came from storage can be told.
std::optional<CacheEpoch> epoch_of(std::int64_t number, const Span& span, const Courses& courses, double per_sample,
                                   std::int64_t fewest_ticks) {
  if (span.end_ns > courses.until_ns || courses.storage.ticks_between(span.begin_ns, span.end_ns) < fewest_ticks) {
    return std::nullopt;
  }
  const auto samples = courses.samples.between(span.begin_ns, span.end_ns);
  const auto storage = courses.storage.between(span.begin_ns, span.end_ns);
  if (!samples || !storage || *samples <= 0.0) return std::nullopt;
  const double read = *samples * per_sample;
  const double from_storage = std::clamp(*storage, 0.0, read);
  return CacheEpoch{number, Bytes(read), Bytes(from_storage), 1.0 - from_storage / read};
}

/// A run may have been ended within its last epoch: the part of one has another share of hits than the whole.
void keep_whole(std::vector<CacheEpoch>& epochs) {
  double most = 0.0;
  for (const CacheEpoch& epoch : epochs) most = std::max(most, epoch.read.value());
  std::erase_if(epochs, [&](const CacheEpoch& epoch) { return epoch.read.value() < k_whole_epoch * most; });
}

MeasuredEstimate<Fraction> hits_after_first(const std::vector<CacheEpoch>& epochs) {
  std::vector<double> hits;
  for (const CacheEpoch& epoch : epochs) {
    if (epoch.epoch > 1) hits.push_back(epoch.hit);
  }
  if (static_cast<std::int64_t>(hits.size()) < k_fewest_epochs_for_interval) {
    return MeasuredEstimate<Fraction>::absent("fewer than two whole epochs after the first were seen as found");
  }
  const Estimate<double> mean = mean_of(hits);
  return Estimate<Fraction>{mean.mean, std::max(0.0, mean.ci95_low), std::min(1.0, mean.ci95_high), mean.n};
}

Measured<double> room_of(const Dataset& dataset, const Resources& resources) {
  if (!dataset.bytes_total) return Measured<double>::absent(dataset.bytes_total.reason());
  if (!resources.page_cache_available) return Measured<double>::absent(resources.page_cache_available.reason());
  if (dataset.bytes_total->value() <= 0.0) return Measured<double>::absent("no read of a file was seen");
  return resources.page_cache_available->value() / dataset.bytes_total->value();
}

}  // namespace

PageCache page_cache_of(Nodes nodes, const std::vector<RankView>& ranks, const Dataset& dataset,
                        const Resources& resources) {
  PageCache out;
  out.room = room_of(dataset, resources);
  const double per_sample = read_per_sample(ranks);  // of files, as good as all where it is looked at
  const std::string against = reason_against(nodes, ranks, per_sample);
  if (!against.empty()) {
    out.hit = MeasuredEstimate<Fraction>::absent(against);
    return out;
  }
  const Courses courses = courses_of(*nodes.front().run);
  bool evaluated = false;
  for (const auto& [number, span] : spans_of(ranks)) {
    if (!begin_seen(ranks.front().window.loader, span)) continue;
    if (evaluated_within(ranks, span)) {
      evaluated = true;
      continue;
    }
    const auto epoch = epoch_of(number, span, courses, per_sample, k_fewest_ticks_for_hits);
    if (epoch) out.epochs.push_back(*epoch);
  }
  keep_whole(out.epochs);
  out.hit = hits_after_first(out.epochs);
  if (!out.hit && evaluated) {
    out.hit = MeasuredEstimate<Fraction>::absent("an evaluation read files within the epochs");
  } else if (!out.hit && courses.until_ns != UINT64_MAX) {
    out.hit = MeasuredEstimate<Fraction>::absent(
        "measuring in states began before two epochs after the first had passed; --phases as_is only records");
  }
  return out;
}

std::vector<EpochSeen> epochs_seen(Nodes nodes, const std::vector<RankView>& ranks, std::int64_t fewest_ticks) {
  const double per_sample = read_per_sample(ranks);
  if (!reason_against(nodes, ranks, per_sample).empty()) return {};
  const Courses courses = courses_of(*nodes.front().run);
  std::vector<EpochSeen> epochs;
  for (const auto& [number, span] : spans_of(ranks)) {
    if (evaluated_within(ranks, span)) return {};
    const auto epoch = epoch_of(number, span, courses, per_sample, fewest_ticks);
    if (epoch) epochs.push_back({*epoch, span.begin_ns, span.end_ns});
  }
  return epochs;
}

void check_page_cache(const PageCache& cache, std::vector<DataIssue>& issues) {
  if (!cache.hit || !cache.room || *cache.room < k_room_that_fits || cache.hit->ci95_high >= k_kept_if_it_fits) return;
  add_issue(issues, {"pages-do-not-stay", Severity::warning, 1,
                     "memory has room for the data set, but the page cache did not keep it from one epoch to the next",
                     "somebody else fills the memory, or pages are taken away early (a memory limit of a group above, "
                     "proactive reclaim); predictions for the page cache of Linux do not hold here, those for a cache "
                     "that never evicts do"});
}

}  // namespace stallcast::sections
