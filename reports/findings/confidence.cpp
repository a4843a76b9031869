#include <fmt/format.h>

#include <algorithm>

#include "reports/findings/constants.hpp"
#include "reports/findings/derived.hpp"
#include "reports/findings/findings.hpp"
#include "reports/words/format.hpp"

namespace stallcast::reports {
namespace {

class Doubts {
 public:
  /// `grade` 1 lowers the confidence to fair, 2 to weak.
  void add(int grade, const std::string& reason) {
    worst_ = std::max(worst_, grade);
    result_.reasons.push_back(reason);
  }
  [[nodiscard]] Confidence result() {
    result_.word = worst_ == 0 ? "good" : worst_ == 1 ? "fair" : "weak";
    return result_;
  }

 private:
  int worst_ = 0;
  Confidence result_{};
};

void judge_interval(const Findings& f, Doubts& doubts) {
  const Estimate<Fraction>& compute = f.breakdowns.front().slices.front().share;
  const double low = 1.0 - compute.ci95_high;
  const double high = 1.0 - compute.ci95_low;
  const double half = (high - low) / 2.0;
  if (half > k_wide_half) {
    doubts.add(half > k_loose_half ? 2 : 1, "the interval is wide: " + percent(low) + " to " + percent(high));
  }
  if (level_of(low) != level_of(high)) {
    doubts.add(1, fmt::format("the interval reaches from \"{}\" to \"{}\"", level_name(level_of(low)),
                              level_name(level_of(high))));
  }
}

/// How long what the verdict rests on was measured: the run as found, or the phases that count. 0 if not known.
double measured_s(const Profile& p) {
  if (!speaks_of_cold(p)) return p.measured_s;
  double sum = 0.0;
  for (const PhaseStretch& stretch : p.phases) sum += stretch.left_out.empty() ? stretch.end_s - stretch.begin_s : 0.0;
  return sum;
}

void judge_run(const Profile& p, Doubts& doubts) {
  const double measured = measured_s(p);
  if (measured > 0.0 && measured < k_short_run_s) {
    const bool found = states_s(p) > 0.0 && !speaks_of_cold(p);
    doubts.add(
        1, "only " + duration(Seconds(measured)) + (found ? " of the run were as found" : " of the run were measured"));
  }
  if (p.job.ranks_seen < p.job.ranks_expected) {
    doubts.add(1, fmt::format("only {} of {} ranks were seen", p.job.ranks_seen, p.job.ranks_expected));
  }
  if (p.overhead.dropped_records > 0) {
    doubts.add(1, plural(p.overhead.dropped_records, "record") + " did not fit into the recording");
  }
  const auto* overhead = usable(p.overhead.throughput);
  if (overhead != nullptr && overhead->ci95_low > k_overhead_doubt) {
    doubts.add(1, "recording slowed the job by " + percent(overhead->mean));
  }
}

void judge_premises(const Profile& p, Doubts& doubts) {
  std::vector<std::string> failed;
  for (const Premise& premise : p.premises) {
    const std::string name = "\"" + premise.phase + "\"";
    const bool is_new = std::find(failed.begin(), failed.end(), name) == failed.end();
    if (!premise.holds && rests_on(p, premise) && is_new) failed.push_back(name);
  }
  if (!failed.empty()) {
    doubts.add(2,
               fmt::format("the premise{} of {} did not hold", failed.size() == 1 ? "" : "s", fmt::join(failed, ", ")));
  }
  for (const DataIssue& issue : p.issues) {
    if (issue.severity == Severity::error) doubts.add(2, "data issue " + issue.id);
  }
}

/// Whether this run made states; a passive one was only recorded.
bool made_states(const Profile& p) {
  return std::any_of(p.points.begin(), p.points.end(),
                     [](const Point& point) { return point.method == "differential"; });
}

}  // namespace

bool rests_on(const Profile& p, const Premise& premise) {
  // Supply is no part of the split: what is attributed of it is no answer to what its own blocks should have shown.
  const bool states = made_states(p) && !premise.phase.starts_with("supply");
  return premise.phase == "as_is" || std::any_of(p.points.begin(), p.points.end(), [&](const Point& point) {
           // What is attributed in a run without states takes its premise from no block.
           const bool counts = states || point.method != "attributed";
           return counts && point.phase == premise.phase && usable(point.estimate) != nullptr;
         });
}

bool is_worth_showing(const Profile& p, const Premise& premise) {
  return premise.holds || made_states(p) || rests_on(p, premise);
}

Confidence confidence_of(const Profile& p, const Findings& f) {
  Doubts doubts;
  if (f.breakdowns.empty()) return {"none", {"waiting for data was not measured"}};
  judge_interval(f, doubts);
  if (p.stalls.method == "attributed" && f.breakdowns.front().slices.size() > 2) {
    doubts.add(0, "the split into reading and preparing is attributed (inferred from what the workers did)");
  }
  if (p.stalls.method == "differential+attributed" && f.breakdowns.front().slices.size() > 2) {
    doubts.add(0,
               "the split into reading and preparing is attributed: a stream's samples cannot be read a second time");
  }
  judge_run(p, doubts);
  judge_premises(p, doubts);
  return doubts.result();
}

}  // namespace stallcast::reports
