/// Clocks of a job's machines against each other, by the job's own barriers: ranks that exchange gradients end each
/// step together.
#include "analyzer/ranks/clocks.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "analyzer/ranks/constants.hpp"
#include "analyzer/statistics/statistics.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {
namespace {

constexpr const char* k_few = "too few steps of this rank and the first one were recorded under the same number";
constexpr const char* k_apart = "this rank and the first one do not end their steps together";

/// Seconds of a rank's own wall clock, by number of step.
using Times = std::map<std::uint64_t, double>;

/// The machine's wall clock when its monotonic one shows `t_ns`.
double wall_s(const RunData& run, std::uint64_t t_ns) {
  const double since_start_s = (static_cast<double>(t_ns) - static_cast<double>(run.log.start_monotonic_ns)) * 1e-9;
  return static_cast<double>(run.log.start_realtime_ns) * 1e-9 + since_start_s;
}

Times ends_of(const RankView& rank, double origin_s) {
  Times ends;
  for (const record::StepRecord& step : rank.consumer->steps) {
    ends.emplace(step.step, wall_s(*rank.run, step.time_ns) - origin_s);
  }
  return ends;
}

/// When the last batch before the end of each step was delivered; of steps as found.
Times deliveries_of(const RankView& rank, double origin_s) {
  Times deliveries;
  const std::vector<record::StepRecord>& steps = rank.consumer->steps;
  for (const SteadyStep& seen : rank.window.steps) {
    const auto ending =
        std::lower_bound(steps.begin(), steps.end(), seen.end_ns,
                         [](const record::StepRecord& step, std::uint64_t t_ns) { return step.time_ns < t_ns; });
    if (ending == steps.end()) continue;
    double& last = deliveries.try_emplace(ending->step, -1e300).first->second;
    last = std::max(last, wall_s(*rank.run, seen.end_ns) - origin_s);
  }
  return deliveries;
}

double quantile(std::vector<double>& values, double share) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

/// How far `other` is ahead of `first`; the reason where they do not end their steps together: what one is ahead by
/// must stay within a quarter of a step, and be the same in the beginning and in the end.
Measured<Seconds> offset_of(const Times& first, const Times& other) {
  std::vector<double> ahead;
  std::vector<double> lengths;
  std::optional<double> before;
  for (const auto& [step, end] : first) {
    const auto found = other.find(step);
    if (found == other.end()) continue;
    ahead.push_back(found->second - end);
    if (before) lengths.push_back(end - *before);
    before = end;
  }
  if (ahead.size() < k_fewest_steps_together) return Measured<Seconds>::absent(k_few);
  const auto middle = ahead.begin() + static_cast<std::ptrdiff_t>(ahead.size() / 2);
  std::vector<double> early(ahead.begin(), middle);
  std::vector<double> late(middle, ahead.end());
  const double step_s = quantile(lengths, 0.5);
  const double moved = std::abs(quantile(late, 0.5) - quantile(early, 0.5));
  const double spread = quantile(ahead, 0.75) - quantile(ahead, 0.25);
  if (std::max(moved, spread) > k_together_within_step * step_s) return Measured<Seconds>::absent(k_apart);
  return Seconds(quantile(ahead, 0.5));
}

/// Who came how late, over the steps of which all ranks know it.
void compare(const std::vector<Times>& deliveries, std::vector<Rank>& rows) {
  std::vector<std::vector<double>> late(rows.size());
  std::vector<std::size_t> last(rows.size());
  for (const auto& [step, unused] : deliveries.front()) {
    std::vector<double> at;
    for (const Times& rank : deliveries) {
      const auto found = rank.find(step);
      if (found == rank.end()) break;
      at.push_back(found->second);
    }
    if (at.size() < rows.size()) continue;
    const double first = *std::min_element(at.begin(), at.end());
    ++last[static_cast<std::size_t>(std::max_element(at.begin(), at.end()) - at.begin())];
    for (std::size_t rank = 0; rank < rows.size(); ++rank) late[rank].push_back(at[rank] - first);
  }
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    if (late[rank].size() < k_fewest_steps_together) {
      rows[rank].late = MeasuredEstimate<Seconds>::absent(k_few);
      rows[rank].last = Measured<Fraction>::absent(k_few);
      continue;
    }
    const Estimate<double> mean = mean_of(late[rank]);
    rows[rank].late = Estimate<Seconds>{Seconds(mean.mean), Seconds(mean.ci95_low), Seconds(mean.ci95_high), mean.n};
    rows[rank].last = Fraction(static_cast<double>(last[rank]) / static_cast<double>(late[rank].size()));
  }
}

}  // namespace

void align_ranks(const std::vector<RankView>& ranks, std::vector<Rank>& rows) {
  const auto leave_out = [&](const std::string& reason) {
    for (Rank& row : rows) {
      row.late = MeasuredEstimate<Seconds>::absent(reason);
      row.last = Measured<Fraction>::absent(reason);
    }
  };
  for (Rank& row : rows) row.clock_offset = Measured<Seconds>::absent("one rank has nobody's clock to go by");
  if (ranks.size() < 2) return leave_out("one rank waits for nobody");
  const double origin_s = wall_s(*ranks.front().run, ranks.front().run->log.start_monotonic_ns);
  const Times first = ends_of(ranks.front(), origin_s);
  std::vector<Times> deliveries;
  std::string apart;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    Measured<Seconds> offset = Seconds(0.0);
    if (i > 0) offset = offset_of(first, ends_of(ranks[i], origin_s));
    if (!offset && apart.empty()) apart = offset.reason();
    // Ranks of one machine have one clock; what they are apart by is when each ends its step.
    const bool same_clock = ranks[i].run->machine == ranks.front().run->machine;
    if (offset && same_clock) offset = Seconds(0.0);
    rows[i].clock_offset = offset;
    deliveries.push_back(deliveries_of(ranks[i], origin_s + (offset ? offset->value() : 0.0)));
  }
  if (!apart.empty()) return leave_out(apart);
  compare(deliveries, rows);
}

}  // namespace stallcast::sections
