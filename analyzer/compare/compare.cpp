#include "analyzer/compare/compare.hpp"

#include <algorithm>
#include <array>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <set>
#include <string_view>

#include "analyzer/compare/compare_fields.hpp"
#include "analyzer/compare/constants.hpp"

namespace stallcast {
namespace {

using fields::CollectedNumber;
using fields::Collector;

/// Half an interval: the wider side, since the other may be cut off where the number cannot lie.
double half_of(double mean, double low, double high) {
  return std::max(mean - low, high - mean);
}

struct Tested {
  double center = 0.0;
  double half = 0.0;
};

/// Two-sided probability of a change of this size where there is none; 0.05 where the interval just touches 0.
double p_value_of(const Tested& tested, double degrees) {
  if (std::abs(tested.center) <= k_rounding_of_change) return 1.0;
  if (!(tested.half > 0.0)) return 0.0;  // both known exactly
  const boost::math::students_t t(degrees);
  const double z = std::abs(tested.center) / tested.half * boost::math::quantile(t, 1.0 - k_significance / 2.0);
  return 2.0 * boost::math::cdf(boost::math::complement(t, z));
}

bool is_share(std::string_view key) {
  return key.ends_with("_frac");
}

bool finite(const Estimate<double>& e) {
  return std::isfinite(e.mean) && std::isfinite(e.ci95_low) && std::isfinite(e.ci95_high);
}

/// Why two numbers cannot be compared; empty where they can.
std::string obstacle(const Measured<Estimate<double>>& before, const Measured<Estimate<double>>& after) {
  const auto why = [](const Measured<Estimate<double>>& value) {
    const bool told = !value && !value.reason().empty() && value.reason() != "not measured";
    return told ? ": " + value.reason() : std::string();
  };
  const auto absent = [](const Measured<Estimate<double>>& value) { return !value || !finite(*value); };
  if (absent(before) && absent(after)) return "not measured on either side" + why(after);
  if (absent(before)) return "not measured before" + why(before);
  if (absent(after)) return "not measured after" + why(after);
  const auto exact = [](const Estimate<double>& e) { return !(half_of(e.mean, e.ci95_low, e.ci95_high) > 0.0); };
  if (exact(*before) || exact(*after)) return "without an interval, so that noise cannot be told from a change";
  return "";
}

void measure_change(ComparedNumber& number) {
  const Estimate<double>& a = *number.before;
  const Estimate<double>& b = *number.after;
  const double degrees =
      std::clamp(static_cast<double>(a.n) + static_cast<double>(b.n) - 2.0, 1.0, k_most_degrees_of_change);
  Tested tested;
  if (!is_share(number.key) && a.ci95_low > 0.0 && b.ci95_low > 0.0) {
    tested.center = std::log(b.mean / a.mean);
    tested.half = std::hypot(half_of(std::log(a.mean), std::log(a.ci95_low), std::log(a.ci95_high)),
                             half_of(std::log(b.mean), std::log(b.ci95_low), std::log(b.ci95_high)));
    number.change = Change{ChangeKind::ratio, std::expm1(tested.center), std::expm1(tested.center - tested.half),
                           std::expm1(tested.center + tested.half)};
  } else {
    tested.center = b.mean - a.mean;
    tested.half = std::hypot(half_of(a.mean, a.ci95_low, a.ci95_high), half_of(b.mean, b.ci95_low, b.ci95_high));
    number.change =
        Change{ChangeKind::difference, tested.center, tested.center - tested.half, tested.center + tested.half};
  }
  number.p_value = p_value_of(tested, degrees);
}

/// Holm's step-down over the numbers that could be compared.
void give_verdicts(std::vector<ComparedNumber>& numbers) {
  std::vector<ComparedNumber*> tested;
  for (ComparedNumber& number : numbers) {
    if (number.change) tested.push_back(&number);
  }
  std::sort(tested.begin(), tested.end(),
            [](const ComparedNumber* a, const ComparedNumber* b) { return a->p_value < b->p_value; });
  bool stands = true;
  for (std::size_t i = 0; i < tested.size(); ++i) {
    stands = stands && tested[i]->p_value * static_cast<double>(tested.size() - i) < k_significance;
    tested[i]->verdict = stands                                ? ChangeVerdict::changed
                         : tested[i]->p_value < k_significance ? ChangeVerdict::perhaps
                                                               : ChangeVerdict::within_noise;
  }
}

template <class Section>
Collector collected(const Section& section) {
  Collector collector;
  fields::describe(collector, section);
  return collector;
}

template <class Section>
void add_numbers(const char* name, const Section& before, const Section& after, Comparison& out) {
  const std::vector<CollectedNumber> a = collected(before).numbers;
  const std::vector<CollectedNumber> b = collected(after).numbers;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ComparedNumber number{name, a[i].key};
    if (a[i].value && finite(*a[i].value)) number.before = *a[i].value;
    if (b[i].value && finite(*b[i].value)) number.after = *b[i].value;
    number.reason = obstacle(a[i].value, b[i].value);
    if (number.reason.empty()) measure_change(number);
    out.numbers.push_back(std::move(number));
  }
}

/// What differs from run to run, or grows with a run, and is no setting.
bool is_setting(std::string_view key) {
  constexpr std::array<std::string_view, 7> k_states{"shm_free_bytes", "example_path",     "folder",     "files",
                                                     "bytes",          "bytes_per_sample", "bytes_total"};
  return std::find(k_states.begin(), k_states.end(), key) == k_states.end();
}

template <class Section>
void add_settings(const char* name, const Section& before, const Section& after, Comparison& out) {
  const auto a = collected(before).settings;
  const auto b = collected(after).settings;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].value != b[i].value && is_setting(a[i].key))
      out.settings.push_back({name, a[i].key, a[i].value, b[i].value});
  }
}

/// Samples that a batch holds, where the loader does not say: what it delivers in a step.
double samples_per_step(const Profile& profile) {
  if (profile.job.batch_size || !profile.rates.as_is || !profile.resources.step) return 0.0;
  return profile.rates.as_is->mean.value() * profile.resources.step->mean.value();
}

void add_batches(const Profile& before, const Profile& after, Comparison& out) {
  const double a = samples_per_step(before);
  const double b = samples_per_step(after);
  if (!(a > 0.0) || !(b > 0.0) || std::abs(b / a - 1.0) < k_same_samples_per_step) return;
  const auto words = [](double samples) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.4g", samples);
    return std::string(digits);
  };
  out.settings.push_back({"job", "samples_per_step", words(a), words(b)});
}

std::string joined(const std::vector<std::string>& words) {
  return std::accumulate(words.begin(), words.end(), std::string(), [](std::string text, const std::string& word) {
    return text + (text.empty() ? "" : " ") + word;
  });
}

std::set<std::string> issue_ids(const Profile& profile) {
  std::set<std::string> ids;
  for (const DataIssue& issue : profile.issues) ids.insert(issue.id);
  return ids;
}

void add_issues(const Profile& before, const Profile& after, Comparison& out) {
  const std::set<std::string> a = issue_ids(before);
  const std::set<std::string> b = issue_ids(after);
  std::set_difference(b.begin(), b.end(), a.begin(), a.end(), std::back_inserter(out.new_issues));
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out.gone_issues));
}

void add_notes(const Profile& before, const Profile& after, Comparison& out) {
  for (const auto& [profile, name] : {std::pair{&before, "before"}, std::pair{&after, "after"}}) {
    if (profile->outcome.status != "measured") {
      out.notes.push_back(std::string("the run ") + name + " did not end as measured but as " +
                          profile->outcome.status);
    }
  }
  if (before.host.name != after.host.name) {
    out.notes.push_back("the runs were made on different machines: a change may be the machine's");
  }
  if (before.stalls.method != after.stalls.method) {
    out.notes.push_back("the stalls were divided by different methods (" + before.stalls.method + ", " +
                        after.stalls.method + "): a change in them may come from the method");
  }
  out.notes.emplace_back(
      "each interval covers its own run only: machine and page cache also differ from run to run, so repeat both runs "
      "where much depends on it");
}

/// Settings that say what is done, by section and key.
bool is_of_workload(const SettingChange& setting) {
  constexpr std::array<std::string_view, 11> k_job{"framework",  "samples_per_step", "loader_kind",      "dataset_type",
                                                   "batch_size", "num_workers",      "batches_per_step", "shuffled",
                                                   "drop_last",  "dataset_samples",  "ranks_expected"};
  constexpr std::array<std::string_view, 2> k_dataset{"layout", "format"};
  const auto holds = [&](const auto& keys) { return std::find(keys.begin(), keys.end(), setting.key) != keys.end(); };
  if (setting.section.empty()) return setting.key == "command";
  return (setting.section == "job" && holds(k_job)) || (setting.section == "dataset" && holds(k_dataset));
}

}  // namespace

std::vector<SettingChange> workload_changes(const Comparison& comparison) {
  std::vector<SettingChange> changes;
  std::copy_if(comparison.settings.begin(), comparison.settings.end(), std::back_inserter(changes), is_of_workload);
  return changes;
}

Comparison compare(const Profile& before, const Profile& after) {
  Comparison out;
  add_numbers("rates", before.rates, after.rates, out);
  add_numbers("stalls", before.stalls, after.stalls, out);
  add_numbers("resources", before.resources, after.resources, out);
  add_numbers("overhead", before.overhead, after.overhead, out);
  give_verdicts(out.numbers);
  const std::string a = joined(before.command);
  const std::string b = joined(after.command);
  if (a != b) out.settings.push_back({"", "command", a, b});
  if (before.tool_version != after.tool_version) {
    out.settings.push_back({"", "tool_version", before.tool_version, after.tool_version});
  }
  add_settings("job", before.job, after.job, out);
  add_batches(before, after, out);
  add_settings("host", before.host, after.host, out);
  add_settings("dataset", before.dataset, after.dataset, out);
  add_issues(before, after, out);
  add_notes(before, after, out);
  return out;
}

}  // namespace stallcast
