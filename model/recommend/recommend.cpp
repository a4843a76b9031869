#include "model/recommend/recommend.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "analyzer/profile/loader_terms.hpp"
#include "model/recommend/constants.hpp"
#include "model/recommend/loader_search.hpp"
#include "model/scenario/bandwidth_words.hpp"
#include "model/scenario/formatted.hpp"
#include "model/setting/setting.hpp"

namespace stallcast {
namespace {

LoaderChoice choice_found(const Profile& profile, const JobModel& job) {
  LoaderChoice choice;
  const bool is_torch = profile.job.loader_kind == "iterable" || profile.job.loader_kind == "map";
  const auto& workers = profile.job.num_workers;  // of an overlapped loader, the model has none
  choice.workers = job.overlapped && is_torch && workers ? static_cast<int>(*workers) : job.workers;
  choice.prefetch = job.prefetch;
  const bool pauses = std::any_of(profile.issues.begin(), profile.issues.end(),
                                  [](const DataIssue& issue) { return issue.id == "epoch-pauses"; });
  choice.persistent_workers = job.workers > 0 && (pauses || profile.job.persistent_workers.value_or(false));
  if (profile.job.pin_memory) choice.pin_memory = *profile.job.pin_memory;
  return choice;
}

/// "15", and never "-0".
std::string whole_percent(double share) {
  return formatted("%.0f", std::round(100.0 * share) + 0.0);
}

std::string gigabytes(double bytes) {
  return formatted("%.3g GB", bytes / 1e9);
}

/// A question besides the loader, and what it takes to bring it about.
struct Option {
  std::string title{};
  std::string cost{};
  std::vector<std::pair<std::string, std::string>> settings{};
};

std::vector<Option> cache_options(const JobModel& job) {
  if (job.miss <= 0.0) return {};
  std::vector<Option> options;
  std::string cost = "memory for the whole data set";
  if (job.dataset_bytes) {
    cost = gigabytes(*job.dataset_bytes) + " of memory for the data set";
    if (job.page_cache_bytes) cost += " (" + gigabytes(*job.page_cache_bytes) + " are free)";
  }
  if (job.over_network) cost += ", or as much of a local disk that is fast enough";
  options.push_back({job.over_network ? "a copy of the whole data set here" : "the whole data set in memory",
                     cost,
                     {{"cache", "100%"}}});
  const bool partly = job.dataset_bytes && job.page_cache_bytes && *job.page_cache_bytes < *job.dataset_bytes;
  if (partly) {
    options.push_back({"a cache that never evicts (MinIO) in the memory there is",
                       "a change of the data set class: keep the first samples read",
                       {{"cache_policy", "minio"}}});
  }
  return options;
}

/// Remedies of how the data lies. Staging is left out: what the nodes' own disks give is not in a profile.
std::vector<Option> data_options(const JobModel& job) {
  std::vector<Option> options;
  if (!job.storage_s || job.miss <= 0.0) return options;
  if (job.files_per_sample && job.sample_bytes && job.first_byte_s &&
      *job.sample_bytes < k_tried_shard_bytes / k_fewest_samples_in_shard) {
    options.push_back({"files merged into shards of 4 MiB, read one shard at a time",
                       "writing the data set anew, and a loader that shuffles shards",
                       {{"layout", "shards:4MiB"}}});
  }
  if (job.metadata_share.value_or(0.0) >= k_worth_a_snapshot) {
    options.push_back({"opens and stats answered from a snapshot of the metadata",
                       "a data set that does not change, and a list of its files on each host",
                       {{"metadata", "snapshot"}}});
  }
  return options;
}

/// Whether a profile that lacks `key` should say so: what only matters beside others, or beyond this machine, need not.
bool is_worth_saying(const JobModel& job, std::string_view key) {
  constexpr std::array<std::string_view, 5> k_silent{"prefetch", "operator", "staging", "local_disk",
                                                     "local_disk_bandwidth"};
  constexpr std::array<std::string_view, 3> k_of_reads{"storage_iops", "layout", "metadata"};
  const auto is_in = [&](const auto& keys) { return std::find(keys.begin(), keys.end(), key) != keys.end(); };
  if (is_in(k_of_reads) && !job.storage_s) return false;  // as the other keys of storage say already
  return !is_in(k_silent) && !asks_beyond_machine(key);
}

std::vector<Option> options_for(const JobModel& job, const Predictor& predictor) {
  std::vector<Option> options = cache_options(job);
  const auto ceiling = predictor.storage_ceiling();
  if (ceiling && job.miss > 0.0) {
    const double now = ceiling->value();
    options.push_back({"storage of twice the bandwidth (" + bandwidth_words(BytesPerSecond(2.0 * now)) + ")",
                       "another disk, file system or file server",
                       {{"storage_bandwidth", formatted("%.4gMB/s", 2.0 * now / 1e6)}}});
  }
  for (Option& option : data_options(job)) options.push_back(std::move(option));
  if (job.cores < 1e5) {
    const double cores = 2.0 * job.cores * job.ranks_per_host;
    options.push_back({"twice the CPU cores (" + formatted("%.4g", cores) + ")",
                       "more cores for each host",
                       {{"cpus", formatted("%.6g", cores)}}});
  }
  return options;
}

Scenario scenario_of(const Option& option) {
  Scenario scenario;
  for (const auto& [key, value] : option.settings) {
    if (!set_key(scenario, key, value).ok()) return {};
  }
  return scenario;
}

void add_remedies(Predictor& predictor, const JobModel& job, Recommendation& out) {
  for (const Option& option : options_for(job, predictor)) {
    const Scenario alone = scenario_of(option);
    LoaderChoice loader = out.best;
    LoaderChoice before = out.best;
    if (alone.cpus) {  // more cores want more workers; what those bring without the cores is not the cores' doing
      std::vector<std::string> ignored;
      const int most = most_workers(job, *alone.cpus / job.ranks_per_host, ignored);
      loader = find_knee(predictor, alone, out.best, most);
      before = find_knee(predictor, {}, out.best, most);
    }
    const Scenario scenario = with_loader(alone, loader);
    auto prediction = predictor.predict(scenario);
    auto gain = predictor.gain(scenario, with_loader({}, before));
    if (!prediction || !gain) continue;
    if (gain.value().mean < k_worth_telling) {
      // With a wide interval it may still help: then neither list would be honest.
      if (gain.value().ci90_high < k_may_help) out.without_gain.push_back(option.title);
      continue;
    }
    out.remedies.push_back({option.title, option.cost, gain.value(), std::move(prediction).value()});
  }
  std::stable_sort(out.remedies.begin(), out.remedies.end(),
                   [](const Remedy& a, const Remedy& b) { return a.gain.mean > b.gain.mean; });
}

/// Whether the job was seen to wait where the model has it not wait: then what it waits for was not measured.
bool waits_unexplained(const Profile& profile) {
  const auto& waited = profile.stalls.as_is_wait;
  return waited && waited->ci95_low >= k_no_stall;
}

std::string verdict_of(const Profile& profile, const JobModel& job, const Recommendation& out) {
  const double stall = out.as_found.stall;
  if (job.overlapped && stall >= k_no_stall) {
    return "change the pipeline's own settings and profile again: what they would bring cannot be predicted for a "
           "loader that fetches and prepares side by side";
  }
  if (out.change_loader) {
    return std::string(out.is_sure ? "change to" : "try") + " these loader settings: about " +
           whole_percent(out.gain.mean) + " % more samples a second (" + whole_percent(out.gain.ci90_low) + " to " +
           whole_percent(out.gain.ci90_high) + " %)";
  }
  if (stall < k_no_stall && waits_unexplained(profile)) {
    return "change nothing yet: the job waits for data, and this run does not tell what for; measure again, for longer";
  }
  if (stall < k_no_stall) return "change nothing: the job hardly waits for data";
  if (!profile.job.num_workers && terms_of(profile.job.loader_kind) != nullptr) {
    return "change the loader's own settings and profile again: how many workers make its batches is not known, "
           "so what more of them would bring cannot be predicted";
  }
  if (out.remedies.empty()) return "no other number of workers or prefetch factor brings more here";
  return "no other number of workers or prefetch factor brings more here; what would help instead is listed below";
}

}  // namespace

Result<Recommendation> recommend(const Profile& profile) {
  auto read = job_model(profile);
  if (!read) return read.error();
  const JobModel& job = read.value();
  auto made = Predictor::make(profile);
  if (!made) return made.error();
  Predictor& predictor = made.value();
  auto found = predictor.predict({});
  if (!found) return found.error();

  Recommendation out;
  out.as_found = out.predicted = found.value();
  out.found = out.best = choice_found(profile, job);
  out.notes = job.notes;
  if (out.as_found.stall >= k_no_stall && !job.overlapped) {
    const LoaderChoice knee = find_knee(predictor, {}, out.found, most_workers(job, job.cores, out.notes));
    auto gain = predictor.gain(with_loader({}, knee), {});
    auto prediction = predictor.predict(with_loader({}, knee));
    if (!(knee == out.found) && gain.ok() && prediction.ok() && gain.value().mean >= k_worth_telling) {
      out.change_loader = true;
      out.best = knee;
      out.gain = gain.value();
      out.is_sure = out.gain.ci90_low > k_clear_gain;
      out.predicted = std::move(prediction).value();
    }
    add_remedies(predictor, job, out);
  }
  if (job.storage_is_shared && job.miss > 0.0 && out.as_found.stall >= k_no_stall && !job.overlapped) {
    const std::string where = job.over_network
                                  ? "come from a store that others use as well"
                                  : "lie on a file system that others use as well (" + job.filesystem + ")";
    out.notes.emplace_back(
        "the data " + where +
        ": to see what copying them to a local disk would bring, ask stallcast whatif --set staging=overlap "
        "local_disk_bandwidth=2GB/s");
  }
  out.loader_line = loader_line(profile, out.best);
  out.verdict = verdict_of(profile, job, out);
  for (const KeyAvailability& key : predictor.keys()) {
    if (!key.available && is_worth_saying(job, key.key)) out.unanswered.push_back(key);
  }
  if (out.change_loader) out.narrowed_by = predictor.narrowed_by(with_loader({}, out.best));
  if (out.narrowed_by.empty() && !out.remedies.empty()) {
    Scenario scenario;
    for (const ScenarioItem& item : out.remedies.front().prediction.scenario) {
      if (!set_key(scenario, item.key, item.value).ok()) return out;
    }
    out.narrowed_by = predictor.narrowed_by(scenario);
  }
  return out;
}

}  // namespace stallcast
