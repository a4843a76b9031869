/// What each operator of the workers costs. The rows add up to the workers' busy time: reads, operators, what samples
/// and collates do beside them, waiting for a core between them, and what else lies outside of both.
#include "analyzer/resources/operators.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "analyzer/resources/constants.hpp"
#include "analyzer/resources/operator_times.hpp"
#include "analyzer/statistics/statistics.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {
namespace {

constexpr const char* k_reads_cpu = "what reads compute is not told from what they wait";
constexpr const char* k_core_wait_each = "waiting for a core is known of batches, and of no sample";
constexpr const char* k_rest_cpu = "it is what the other rows leave of the wall time";

template <class Q>
Estimate<Q> as(const Estimate<double>& plain) {
  return {Q(plain.mean), Q(plain.ci95_low), Q(plain.ci95_high), plain.n};
}

/// Of values none of which is negative: a few large ones make an interval that reaches below 0.
Estimate<double> ratio(const std::vector<double>& top, const std::vector<double>& bottom) {
  Estimate<double> estimate = ratio_of_sums(top, bottom);
  estimate.ci95_low = std::max(0.0, estimate.ci95_low);
  return estimate;
}

/// One row's values, whole by whole.
struct Series {
  std::vector<double> wall{};
  std::vector<double> cpu{};
  double calls = 0.0;
  Distribution each{};  ///< of the wholes in which it ran
};

/// What they are divided by.
struct Bases {
  std::vector<double> samples{};
  std::vector<double> busy{};
  std::vector<double> busy_cpu{};
};

Bases bases_of(const std::vector<DividedWhole>& wholes) {
  Bases bases;
  for (const DividedWhole& whole : wholes) {
    bases.samples.push_back(whole.samples);
    bases.busy.push_back(whole.busy_s);
    bases.busy_cpu.push_back(whole.busy_cpu_s);
  }
  return bases;
}

double sum(const std::vector<double>& values) {
  double total = 0.0;
  for (const double value : values) total += value;
  return total;
}

void set_wall(Operator& row, const Series& series, const Bases& bases) {
  row.samples = static_cast<std::int64_t>(std::llround(sum(bases.samples)));
  row.calls_per_sample = series.calls / sum(bases.samples);
  row.wall = as<SecondsPerSample>(ratio(series.wall, bases.samples));
  row.busy = ratio(series.wall, bases.busy);
  row.wall_s = series.each;
}

void set_cpu(Operator& row, const Series& series, const Bases& bases) {
  row.cpu = as<SecondsPerSample>(ratio(series.cpu, bases.samples));
  if (sum(bases.busy_cpu) > 0.0) {
    row.cpu_share = ratio(series.cpu, bases.busy_cpu);
  } else {
    row.cpu_share = MeasuredEstimate<Fraction>::absent("the making thread's CPU clock was not recorded");
  }
}

/// Rows of the operators in `wholes`, those that took no time left out.
void add_operators(const OperatorTimes& times, const std::vector<DividedWhole>& wholes, std::vector<Operator>& rows) {
  const Bases bases = bases_of(wholes);
  std::vector<Series> all(times.names.size());
  for (std::size_t i = 0; i < wholes.size(); ++i) {
    for (const auto& [index, time] : wholes[i].operators) {
      Series& own = all[index];
      own.wall.resize(wholes.size(), 0.0);
      own.cpu.resize(wholes.size(), 0.0);
      own.wall[i] = time.wall_s;
      own.cpu[i] = time.cpu_s;
      own.calls += time.calls;
      own.each.add(time.wall_s);
    }
  }
  for (std::size_t index = 0; index < all.size(); ++index) {
    if (all[index].wall.empty()) continue;
    Operator row;
    row.name = times.names[index].name;
    row.where = times.names[index].where;
    row.kind = index == k_rest_of_sample ? "getitem" : index == k_rest_of_collate ? "collate" : "operator";
    if (row.kind == "operator" && times.names[index].in_collate && row.where.empty()) row.where = "collate";
    set_wall(row, all[index], bases);
    set_cpu(row, all[index], bases);
    rows.push_back(std::move(row));
  }
}

Operator reads_of(const std::vector<DividedWhole>& samples) {
  Operator row;
  row.name = "reading files";
  row.kind = "read";
  Series series;
  for (const DividedWhole& sample : samples) {
    series.wall.push_back(sample.read_s);
    series.calls += sample.read_s > 0.0 ? 1.0 : 0.0;
    series.each.add(sample.read_s);
  }
  set_wall(row, series, bases_of(samples));
  row.cpu = MeasuredEstimate<SecondsPerSample>::absent(k_reads_cpu);
  row.cpu_share = MeasuredEstimate<Fraction>::absent(k_reads_cpu);
  return row;
}

/// What all rows have of the busy time, and its uncertainty.
struct Told {
  double share = 0.0;
  double half = 0.0;
};

Told told_by(const std::vector<Operator>& rows) {
  Told told;
  double variance = 0.0;
  for (const Operator& row : rows) {
    told.share += row.busy->mean;
    variance += std::pow(0.5 * (row.busy->ci95_high - row.busy->ci95_low), 2.0);
  }
  told.half = std::sqrt(variance);
  return told;
}

/// Seconds of a whole in which its operators neither computed nor read: they waited, for a core or something else.
double waited_within(const DividedWhole& whole) {
  double waited_s = 0.0;
  for (const auto& [index, time] : whole.operators) waited_s += time.wall_s - time.cpu_s;
  return waited_s;
}

/// What the workers surely waited for a core between samples and collates (probes/capture/parts.hpp), which is no
/// operator's: all that they waited for one, less all that they waited within. None where that leaves next to nothing,
/// or it was not recorded.
std::optional<Operator> core_wait_of(const std::vector<Operator>& rows, const OperatorTimes& times) {
  const Bases bases = bases_of(times.samples);
  const double busy_s = sum(bases.busy) / sum(bases.samples);
  std::vector<double> waits;
  for (const DividedWhole& whole : times.samples) {
    if (!whole.core_wait_s) return std::nullopt;
    waits.push_back(*whole.core_wait_s - waited_within(whole));
  }
  double collating_s = 0.0;
  for (const DividedWhole& whole : times.collates) collating_s += waited_within(whole);
  const double collated = sum(bases_of(times.collates).samples);
  const Estimate<double> beyond = ratio_of_sums(waits, bases.busy);
  const double between = beyond.mean - (collated > 0.0 ? collating_s / collated / busy_s : 0.0);
  const Told others = told_by(rows);
  const double share = std::min(between, 1.0 - others.share);
  if (share < k_core_wait_worth_a_row) return std::nullopt;
  const double half = share < between ? others.half : 0.5 * (beyond.ci95_high - beyond.ci95_low);
  const double low = std::max(0.0, share - half);
  const std::int64_t n = beyond.n;
  Operator row;
  row.name = "waiting for a core";
  row.kind = "core";
  row.samples = static_cast<std::int64_t>(std::llround(sum(bases.samples)));
  row.busy = Estimate<Fraction>{share, low, share + half, n};
  row.wall = as<SecondsPerSample>({share * busy_s, low * busy_s, (share + half) * busy_s, n});
  row.wall_s = Measured<Distribution>::absent(k_core_wait_each);
  row.cpu = as<SecondsPerSample>({0.0, 0.0, 0.0, n});
  row.cpu_share = Estimate<Fraction>{0.0, 0.0, 0.0, n};
  return row;
}

/// What the rows leave of the busy time, with the intervals of all of them.
Operator rest_of(const std::vector<Operator>& rows, const std::vector<DividedWhole>& wholes) {
  const Told others = told_by(rows);
  const double share = 1.0 - others.share;
  const double half = others.half;
  const Bases bases = bases_of(wholes);
  const double busy = sum(bases.busy) / sum(bases.samples);
  Operator row;
  row.name = "the rest of the batch";
  row.kind = "rest";
  row.samples = static_cast<std::int64_t>(std::llround(sum(bases.samples)));
  row.calls_per_sample = 0.0;
  const auto n = static_cast<std::int64_t>(wholes.size());
  row.busy = Estimate<Fraction>{share, share - half, share + half, n};
  row.wall = as<SecondsPerSample>({share * busy, (share - half) * busy, (share + half) * busy, n});
  row.wall_s = Measured<Distribution>::absent(k_rest_cpu);
  row.cpu = MeasuredEstimate<SecondsPerSample>::absent(k_rest_cpu);
  row.cpu_share = MeasuredEstimate<Fraction>::absent(k_rest_cpu);
  return row;
}

void check(const OperatorTimes& times, const std::vector<Operator>& rows, std::vector<DataIssue>& issues) {
  const Operator& rest = rows.back();
  const bool waits = std::any_of(rows.begin(), rows.end(), [](const Operator& row) { return row.kind == "core"; });
  const double off = std::abs(rest.busy->mean);
  if (off - 0.5 * (rest.busy->ci95_high - rest.busy->ci95_low) > k_operators_disagree) {
    char text[192];
    std::snprintf(text, sizeof text,
                  "%s make up %.1f %% of the time that workers spent on batches: the cost per operator is that much "
                  "uncertain",
                  waits ? "samples, collates and waiting for a core" : "samples and collates",
                  100.0 * (1.0 - rest.busy->mean));
    add_issue(issues, {"operators-do-not-add-up", Severity::warning, 1, text, ""});
  }
  if (times.undivided > 0) {
    add_issue(issues, {"operators-undivided", Severity::info, times.undivided,
                       "calls of operators were too many or too deep within one sample to be told apart: their time "
                       "counts for what called them",
                       ""});
  }
}

}  // namespace

std::vector<Operator> operators_of(Nodes nodes, const std::vector<RankView>& ranks,
                                   const std::vector<Premise>& premises, std::vector<DataIssue>& issues) {
  const bool proven =
      std::none_of(premises.begin(), premises.end(), [](const Premise& p) { return p.phase == "cached" && !p.holds; });
  const OperatorTimes times = operator_times(nodes, ranks, proven);
  std::vector<Operator> rows;
  if (times.samples.size() < k_fewest_timed_samples) {
    if (times.samples.empty() && times.collates.size() >= k_fewest_timed_samples) {
      add_issue(issues,
                {"operators-not-seen", Severity::info, 1,
                 "no sample was seen being made (an iterable data set, or one whose __getitems__ makes a batch at "
                 "once): what each operator costs is not known",
                 ""});
    }
    return rows;
  }
  add_operators(times, times.samples, rows);
  if (times.collates.size() >= 2) add_operators(times, times.collates, rows);
  rows.push_back(reads_of(times.samples));
  if (auto waiting = core_wait_of(rows, times)) rows.push_back(std::move(*waiting));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Operator& a, const Operator& b) { return a.busy->mean > b.busy->mean; });
  rows.push_back(rest_of(rows, times.samples));
  for (Operator& row : rows) row.state = times.state;
  check(times, rows, issues);
  return rows;
}

}  // namespace stallcast::sections
