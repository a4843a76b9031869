#include "model/validate/verification_premises.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "model/scenario/formatted.hpp"
#include "model/validate/constants.hpp"

namespace stallcast {
namespace {

constexpr std::int64_t k_default_prefetch = 2;  // of torch, and of the model where a run had no workers
constexpr char k_as_is[] = "as_is";

std::string counted(std::int64_t value) {
  return value < 0 ? "not known" : std::to_string(value);
}

/// "2", or "2 and 4" where the ranks differ.
std::string distinct(std::span<const RankSetting> ranks, std::int64_t RankSetting::*member) {
  std::vector<std::int64_t> values;
  for (const RankSetting& rank : ranks) {
    if (std::find(values.begin(), values.end(), rank.*member) == values.end()) values.push_back(rank.*member);
  }
  std::string text;
  for (const std::int64_t value : values) text += (text.empty() ? "" : " and ") + counted(value);
  return text.empty() ? "not known" : text;
}

/// Every rank has `expected` as `member`.
Premise each_rank(const char* check, std::int64_t expected, std::span<const RankSetting> ranks,
                  std::int64_t RankSetting::*member) {
  const bool holds = !ranks.empty() && std::all_of(ranks.begin(), ranks.end(),
                                                   [&](const RankSetting& rank) { return rank.*member == expected; });
  return {k_as_is, check, counted(expected), distinct(ranks, member), holds};
}

/// The attribute of the loader and the processes that were started for it: the one could be set without the other.
void check_workers(std::int64_t expected, std::span<const RankSetting> ranks, std::vector<Premise>& premises) {
  premises.push_back(each_rank("num_workers", expected, ranks, &RankSetting::num_workers));
  Premise started = each_rank("worker_processes", expected, ranks, &RankSetting::fewest_workers);
  const Premise most = each_rank("worker_processes", expected, ranks, &RankSetting::most_workers);
  if (started.seen != most.seen) started.seen += " to " + most.seen;
  started.holds = started.holds && most.holds;
  premises.push_back(std::move(started));
}

std::string words_of(const Measured<std::int64_t>& value) {
  return value ? std::to_string(*value) : "not known";
}

Premise same(const char* check, std::string before, std::string now) {
  const bool holds = before == now;
  return {k_as_is, check, std::move(before), std::move(now), holds};
}

/// Bytes that came from storage for each sample, over the whole run.
std::optional<double> storage_bytes_per_sample(const Profile& profile) {
  const auto& rate = profile.rates.as_is;
  if (!profile.resources.storage_bandwidth || !rate || !(rate->mean.value() > 0.0)) return std::nullopt;
  return profile.resources.storage_bandwidth->value() / rate->mean.value();
}

Premise storage_premise(const Profile& before, const Profile& run) {
  Premise premise{k_as_is, "storage_bytes", "", "", false};
  const auto& then = before.resources.bytes_from_storage;
  const auto& now = run.resources.bytes_from_storage;
  if (then && now) {
    premise.expected = percent_words(*then) + " of its bytes";
    premise.seen = percent_words(*now);
    premise.holds = std::abs(*then - *now) <= k_same_storage_share;
    return premise;
  }
  premise.expected = then ? percent_words(*then) + " of its bytes" : "not known (" + then.reason() + ")";
  premise.seen = now ? percent_words(*now) : "not known (" + now.reason() + ")";
  const auto bytes_then = storage_bytes_per_sample(before);
  const auto bytes_now = storage_bytes_per_sample(run);
  if (!then && !now && bytes_then && bytes_now && std::max(*bytes_then, *bytes_now) < k_hardly_any_bytes) {
    premise.expected = premise.seen = "hardly anything from storage";
    premise.holds = true;
  }
  return premise;
}

/// That the emulation was asked for what the scenario says.
Premise asked_premise(const char* check, const AppliedSettings& applied, const Emulation& seen) {
  std::string expected;
  std::string had;
  for (const std::string& setting : applied.emulated) {
    const std::string key = setting.substr(0, setting.find('='));
    const auto found = seen.settings.find(key);
    expected += (expected.empty() ? "" : " ") + setting;
    if (found != seen.settings.end()) had += (had.empty() ? "" : " ") + key + "=" + found->second;
  }
  return {k_as_is, check, expected, had.empty() ? "nothing" : had, had == expected};
}

/// The emulation's own counters: that reads went through it, past it none, and that it was the emulated storage which
/// they waited for.
void check_interposer(const AppliedSettings& applied, const Emulation& seen, std::vector<Premise>& premises) {
  premises.push_back(asked_premise("emulated_storage", applied, seen));
  const bool read = seen.requests.value_or(0) > 0 || seen.hits.value_or(0) > 0;
  const bool mapped = seen.mapped_files.value_or(0) > 0;
  premises.push_back({k_as_is, "emulated_reads", "all",
                      !read    ? "none"
                      : mapped ? "not of mapped files"
                               : "all",
                      read && !mapped});
  const double waited = seen.waited.value_or(Seconds(0.0)).value();
  const double late = waited > 0.0 ? seen.late.value_or(Seconds(0.0)).value() / waited : 0.0;
  premises.push_back({k_as_is, "real_storage", "as fast as the emulated one",
                      late <= k_most_late_share ? "as fast as the emulated one" : percent_words(late) + " slower",
                      late <= k_most_late_share});
}

/// The kernel's own counters: that its limits stood until the end, and that reads met a limited disk, past them none.
void check_kernel(const AppliedSettings& applied, const Profile& run, std::vector<Premise>& premises) {
  const Emulation& seen = run.emulation;
  const bool by_kernel = seen.with == "kernel";
  premises.push_back(asked_premise("kernel_limits", applied, seen));
  premises.back().holds = premises.back().holds && by_kernel;
  const bool changed = std::any_of(run.issues.begin(), run.issues.end(),
                                   [](const DataIssue& issue) { return issue.id == "emulation-limits-changed"; });
  const bool read_back = by_kernel && !seen.controls.empty();
  premises.push_back({k_as_is, "limits_at_the_end", "as set",
                      !read_back ? "not read back"
                      : changed  ? "changed"
                                 : "as set",
                      read_back && !changed});
  if (!by_kernel || seen.disks.empty()) return;
  const double limited = seen.limited_files.value_or(0.0);
  const bool read = seen.requests.value_or(0) > 0;
  premises.push_back({k_as_is, "limited_reads", "all files",
                      !seen.limited_files ? "not known (" + seen.limited_files.reason() + ")"
                      : !read             ? "no read met a limited disk"
                      : limited < 1.0     ? percent_words(limited) + " of the files"
                                          : "all files",
                      read && limited >= 1.0});
}

}  // namespace

std::string percent_words(double fraction) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f %%", 100.0 * fraction);
  return text;
}

std::vector<Premise> applied_premises(const AppliedSettings& applied, const Profile& run,
                                      std::span<const RankSetting> ranks) {
  std::vector<Premise> premises;
  if (applied.workers) check_workers(*applied.workers, ranks, premises);
  if (applied.prefetch) {
    premises.push_back(each_rank("prefetch_factor", *applied.prefetch, ranks, &RankSetting::prefetch_factor));
  }
  if (applied.cpus) premises.push_back(each_rank("cpus", *applied.cpus, ranks, &RankSetting::cpus));
  if (applied.emulated.empty()) return premises;
  if (applied.by_kernel) {
    check_kernel(applied, run, premises);
  } else {
    check_interposer(applied, run.emulation, premises);
  }
  return premises;
}

std::vector<Premise> comparable_premises(const Profile& before, const AppliedSettings& applied, const Profile& run,
                                         std::span<const RankSetting> ranks) {
  std::vector<Premise> premises;
  premises.push_back(same("dataset_type", before.job.dataset_type, run.job.dataset_type));
  premises.push_back(same("dataset_samples", words_of(before.job.dataset_samples), words_of(run.job.dataset_samples)));
  premises.push_back(same("batch_size", words_of(before.job.batch_size), words_of(run.job.batch_size)));
  premises.push_back(same("ranks", std::to_string(before.job.ranks_seen), std::to_string(run.job.ranks_seen)));
  if (!applied.workers && before.job.num_workers) check_workers(*before.job.num_workers, ranks, premises);
  const bool has_workers = applied.workers.value_or(static_cast<int>(before.job.num_workers.value_or(0))) > 0;
  if (!applied.prefetch && has_workers) {
    const std::int64_t prefetch = before.job.prefetch_factor.value_or(k_default_prefetch);
    premises.push_back(each_rank("prefetch_factor", prefetch, ranks, &RankSetting::prefetch_factor));
  }
  premises.push_back(same("cpu_model", before.host.cpu_model, run.host.cpu_model));
  if (!applied.cpus && !applied.cpu_quota) {
    premises.push_back(
        same("usable_cpus", formatted("%g", before.host.usable_cpus), formatted("%g", run.host.usable_cpus)));
  }
  // The kernel limits storage as it is: what is in memory is read as fast as ever, so as much must be there as was.
  if (applied.emulated.empty() || applied.by_kernel) premises.push_back(storage_premise(before, run));
  return premises;
}

}  // namespace stallcast
