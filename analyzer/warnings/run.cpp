/// Warnings about the run itself: how long, how steady, who waits for whom.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "analyzer/profile/dataset_bytes.hpp"
#include "analyzer/reads/unseen.hpp"
#include "analyzer/statistics/statistics.hpp"
#include "analyzer/steps/by_turns.hpp"
#include "analyzer/steps/job.hpp"
#include "analyzer/warnings/constants.hpp"
#include "analyzer/warnings/warnings.hpp"

namespace stallcast::sections {
namespace {

/// Time per sample of each batch that a worker of the rank made, as logarithms, by the worker's number.
std::map<std::uint32_t, std::vector<double>> makings_of(const RankView& rank) {
  std::map<std::uint32_t, std::vector<double>> makings;
  for (const SteadyStep& step : rank.window.steps) {
    if (step.delivery == nullptr || !step.delivery->made_known) continue;
    const record::BatchRecord& made = step.delivery->made;
    if (made.header.aux == UINT32_MAX || made.samples == 0 || made.end_ns <= made.begin_ns) continue;
    makings[made.header.aux].push_back(std::log(static_cast<double>(made.end_ns - made.begin_ns) / made.samples));
  }
  std::erase_if(makings, [](const auto& one) { return one.second.size() < k_fewest_made_by_worker; });
  return makings;
}

/// "; there are none of ranks 4 to 7, 9"; empty where ranks do not say which they are.
std::string numbers_missing(const Evidence& e) {
  std::set<std::int64_t> seen;
  for (const RankView& rank : e.ranks) seen.insert(rank.consumer->rank);
  const std::int64_t expected = e.profile.job.ranks_expected;
  if (*seen.begin() < 0 || *seen.rbegin() >= expected || seen.size() != e.ranks.size()) return {};
  std::string text;
  std::int64_t first = 0;
  seen.insert(expected);
  for (const std::int64_t number : seen) {
    if (first < number) {
      text += (text.empty() ? "; there are none of rank " : ", ") + std::to_string(first);
      if (first + 1 < number) text += " to " + std::to_string(number - 1);
    }
    first = number + 1;
  }
  return text;
}

/// Where a rank runs: machines that are called alike are told apart by the runs that they are in.
using Place = std::pair<std::size_t, std::string>;

Place place_of(const RankView& rank) {
  return {rank.run->machine, rank.consumer->host};
}

/// Batches that the script was given of the training loader, those included that fell into a stretch without recording.
std::int64_t batches_taken(const RankView& rank) {
  std::int64_t batches = 0;
  for (const Pass* pass : rank.window.passes) {
    if (!pass->deliveries.empty()) batches += static_cast<std::int64_t>(pass->deliveries.back().wait.batch) + 1;
  }
  return batches;
}

/// The node's ranks against those of the others; nothing where it has only one, which slow_rank names.
struct NodeWaits {
  double mean = 0.0;
  double usual = 0.0;   ///< median of the other nodes' ranks
  double surely = 0.0;  ///< by which the quickest of its ranks waits longer
};

std::optional<NodeWaits> waits_of_node(const Place& place, const Evidence& e) {
  NodeWaits waits;
  std::vector<const Rank*> own;
  std::vector<double> others;
  for (std::size_t i = 0; i < e.ranks.size(); ++i) {
    const Rank& rank = e.profile.ranks[i];
    if (!rank.wait) continue;
    if (place_of(e.ranks[i]) == place) {
      own.push_back(&rank);
    } else {
      others.push_back(rank.wait->mean);
    }
  }
  if (own.size() < 2 || others.empty()) return std::nullopt;
  waits.usual = median_of(others);
  waits.surely = 1.0;
  for (const Rank* rank : own) {
    waits.surely = std::min(waits.surely, rank->wait->ci95_low - waits.usual);
    waits.mean += rank->wait->mean / static_cast<double>(own.size());
  }
  return waits;
}

}  // namespace

std::string few_steps(const Evidence& e, double threshold) {
  std::size_t steps = 0;
  for (const RankView& rank : e.ranks) steps += rank.window.steps.size();
  if (static_cast<double>(steps) >= threshold) return {};
  return "only " + std::to_string(steps) + " steady steps were seen";
}

std::string trained_elsewhere(const Evidence& e, double threshold) {
  const RankView& rank = e.ranks.front();
  std::set<const Pass*> told(rank.window.passes.begin(), rank.window.passes.end());
  if (rank.window.by_turns) {
    for (const Turn& turn : turns_of(*rank.consumer)) told.insert(turn.pass);
  }
  std::size_t all = 0;
  std::size_t elsewhere = 0;
  std::set<std::string> names;
  for (const auto& [pass, steps] : steps_alone(*rank.consumer)) {
    all += steps;
    if (told.contains(pass)) continue;
    elsewhere += steps;
    const auto facts = rank.consumer->loaders.find(pass->loader_id);
    if (steps > 0 && facts != rank.consumer->loaders.end()) names.insert(facts->second.dataset_type);
  }
  const double part = all > 0 ? static_cast<double>(elsewhere) / static_cast<double>(all) : 0.0;
  if (!(part > threshold)) return {};
  std::string of;
  for (const std::string& name : names) of += (of.empty() ? " (of " : ", ") + name;
  return fixed(100.0 * part, 0) + " % of the steps were made on batches of other loaders" + of +
         (of.empty() ? "" : ")") + ", in other phases of the training: what is told is of those on batches of " +
         rank.window.loader.dataset_type;
}

std::string drift(const Evidence& e, double threshold) {
  const std::vector<SteadyStep>& steps = e.ranks.front().window.steps;
  if (steps.size() < k_fewest_steps_of_trend_block * k_trend_blocks) return {};
  std::vector<double> means;
  for (std::size_t block = 0; block < k_trend_blocks; ++block) {
    const std::size_t from = block * steps.size() / k_trend_blocks;
    const std::size_t to = (block + 1) * steps.size() / k_trend_blocks;
    double sum = 0.0;
    for (std::size_t i = from; i < to; ++i) sum += steps[i].step_s();
    means.push_back(sum / static_cast<double>(to - from));
  }
  const Estimate<double> trend = relative_trend(means);
  const bool clear = trend.ci95_low > 0.0 || trend.ci95_high < 0.0;
  if (!clear || std::abs(trend.mean) < threshold) return {};
  return "steps became " + fixed(100.0 * std::abs(trend.mean), 0) + (trend.mean > 0.0 ? " % slower" : " % faster") +
         " over the measured window";
}

std::string epoch_pauses(const Evidence& e, double threshold) {
  const SteadyWindow& window = e.ranks.front().window;
  if (window.pauses_s.size() < 2 || window.steps.empty()) return {};
  if (window.loader.num_workers == 0) return {};  // it is the making of a first batch, and no start of workers
  // The first epoch's pause holds imports and cold caches; the later ones are what repeats.
  const double pauses = std::accumulate(window.pauses_s.begin() + 1, window.pauses_s.end(), 0.0);
  const double steady = std::accumulate(window.steps.begin(), window.steps.end(), 0.0,
                                        [](double sum, const SteadyStep& step) { return sum + step.step_s(); });
  if (pauses < threshold * (steady + pauses)) return {};
  const double each = pauses / static_cast<double>(window.pauses_s.size() - 1);
  const std::string time = each >= 0.1 ? fixed(each, 2) + " s" : fixed(1e3 * each, 1) + " ms";
  return "each epoch begins with a pause of " + time + " until the first batch arrives";
}

std::string ranks_missing(const Evidence& e, double threshold) {
  const Job& job = e.profile.job;
  if (job.ranks_seen >= threshold * job.ranks_expected) return {};
  return "recordings of " + std::to_string(job.ranks_seen) + " ranks of " + std::to_string(job.ranks_expected) +
         " were seen" + numbers_missing(e);
}

std::string slow_rank(const Evidence& e, double threshold) {
  if (!e.profile.job.ranks_together) return {};
  std::string seen;
  double most = threshold;
  for (const Rank& rank : e.profile.ranks) {
    std::vector<double> others;
    for (const Rank& other : e.profile.ranks) {
      if (&other != &rank && other.wait) others.push_back(other.wait->mean);
    }
    if (!rank.wait || others.empty()) continue;
    const double usual = median_of(others);
    const double beyond = rank.wait->ci95_low - usual;
    if (beyond <= most) continue;
    most = beyond;
    seen = "rank " + std::to_string(rank.rank) + " (" + rank.host + ") waits for data " +
           fixed(100.0 * rank.wait->mean, 0) + " % of each step, the others " + fixed(100.0 * usual, 0) + " %";
    if (rank.last) seen += "; in " + fixed(100.0 * *rank.last, 0) + " % of the steps its batch comes last";
  }
  return seen;
}

std::string slow_node(const Evidence& e, double threshold) {
  if (!e.profile.job.ranks_together) return {};
  std::set<Place> places;
  for (const RankView& rank : e.ranks) places.insert(place_of(rank));
  std::string seen;
  double most = threshold;
  for (const Place& place : places) {
    const auto waits = waits_of_node(place, e);
    if (!waits || waits->surely <= most) continue;
    most = waits->surely;
    seen = "all ranks of " + place.second + " wait for data " + fixed(100.0 * waits->mean, 0) +
           " % of each step, those of the other nodes " + fixed(100.0 * waits->usual, 0) + " %";
  }
  return seen;
}

std::string uneven_ranks(const Evidence& e, double threshold) {
  if (e.ranks.size() < 2 || !e.profile.job.ranks_together) return {};
  std::vector<double> batches;
  for (const RankView& rank : e.ranks) batches.push_back(static_cast<double>(batches_taken(rank)));
  const double usual = median_of(batches);
  std::string seen;
  double most = std::max(threshold * usual, k_uneven_batches_by_recording);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    if (std::abs(batches[i] - usual) <= most) continue;
    most = std::abs(batches[i] - usual);
    const Rank& rank = e.profile.ranks[i];
    seen = "rank " + std::to_string(rank.rank) + " (" + rank.host + ") took " + fixed(batches[i], 0) +
           " batches, the median of all is " + fixed(usual, 0);
  }
  return seen;
}

std::string slow_worker(const Evidence& e, double threshold) {
  std::string seen;
  double most = std::log1p(threshold);
  for (const RankView& rank : e.ranks) {
    const auto makings = makings_of(rank);
    for (const auto& [worker, own] : makings) {
      std::vector<double> others;
      for (const auto& [other, theirs] : makings) {
        if (other != worker) others.insert(others.end(), theirs.begin(), theirs.end());
      }
      if (others.empty()) continue;
      const Estimate<double> mine = mean_of(own);
      const Estimate<double> usual = mean_of(others);
      const double sure = mine.mean - usual.mean - std::hypot(mine.mean - mine.ci95_low, usual.mean - usual.ci95_low);
      if (sure <= most) continue;
      most = sure;
      seen = "worker " + std::to_string(worker) + " takes " + fixed(std::exp(mine.mean - usual.mean), 1) +
             " times as long for a sample as the others (" + std::to_string(own.size()) + " batches)";
    }
  }
  return seen;
}

std::string reads_unseen(const Evidence& e, double threshold) {
  const std::string unseen = unseen_reading(e.run, e.ranks);
  double mapped = 0.0;
  double storage = 0.0;
  for (const record::ProcessRecording& process : e.run.processes)
    mapped += static_cast<double>(process.info.mapped_bytes);
  for (const Tick& tick : e.run.log.ticks) storage = std::max(storage, static_cast<double>(tick.tree_read_bytes));
  const Dataset& dataset = e.profile.dataset;
  const bool no_reads = !dataset.bytes_per_sample || dataset.bytes_per_sample->value() <= 0.0;
  // Cold blocks alone do not tell reading from preparing.
  const bool told = dataset.stored_bytes_per_sample && e.profile.resources.worker_wall_cached;
  if (!told && !unseen.empty()) return unseen + ": how long reading takes is not known";
  if (!no_reads || mapped <= 0.0 || storage <= threshold || told) return {};
  if (reading_by_faults(e.run, e.ranks)) return {};
  return "the data set seems to be read through mapped files (mmap): how long reading takes is not seen";
}

std::string read_ahead_unused(const Evidence& e, double threshold) {
  const Profile& profile = e.profile;
  const auto factor = read_ahead_factor(profile.dataset, profile.job.dataset_samples);
  if (!factor || *factor < threshold || !profile.stalls.fetch || profile.stalls.fetch->mean < k_read_ahead_matters)
    return {};
  return "storage gives " + fixed(*factor, 1) +
         " times the pages that a cold sample needs: the kernel reads ahead around single reads of large files";
}

std::string not_pinned(const Evidence& e, double) {
  for (const RankView& rank : e.ranks) {
    if (uses_cuda(rank) && rank.window.loader.pin_memory == 0) {
      return "a GPU is there, and its loader hands over pageable memory (pin_memory=False)";
    }
  }
  return {};
}

}  // namespace stallcast::sections
