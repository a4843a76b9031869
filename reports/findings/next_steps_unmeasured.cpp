/// Rules for runs that tell little: what failed, found no loader, ended too soon, or has its batches made elsewhere.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "reports/findings/next_step_rules.hpp"

namespace stallcast::reports {
namespace {

/// Whether the run failed, or was interrupted, before there was enough to tell a rate by.
bool ended_early(const Case& c) {
  return (c.p.outcome.status == "child_failed" || c.p.outcome.status == "interrupted") && !c.p.rates.as_is;
}

/// Whether steps were seen, where no loader was.
bool trained(const Case& c) {
  return std::any_of(c.p.seen_instead.begin(), c.p.seen_instead.end(), [](const Sighting& sighting) {
    return sighting.what == "steps" && sighting.words != k_no_steps_seen;
  });
}

}  // namespace

bool has_issue(const Case& c, const char* id) {
  return std::any_of(c.p.issues.begin(), c.p.issues.end(), [&](const DataIssue& issue) { return issue.id == id; });
}

std::optional<NextStep> make_it_run(const Case& c) {
  if (c.p.outcome.status != "child_failed" || c.p.rates.as_is) return std::nullopt;
  const char* when =
      c.p.job.loaders_seen > 0 ? "before enough of its batches were seen" : "before a batch of it was seen";
  return NextStep{
      "make-it-run", "Make the command run",
      fmt::format("it ended with status {} {}: its own messages say why", c.p.outcome.child_exit_code, when), 1.1};
}

std::optional<NextStep> no_loader(const Case& c) {
  if (c.d.wait || c.p.job.loaders_seen > 0) return std::nullopt;
  if (ended_early(c) && !trained(c)) return std::nullopt;  // it did not get that far
  return NextStep{"no-loader", "Mark where the loop takes its batches",
                  "no training loader was found in this command. Two lines of Python mark it: `import stallcast`, and "
                  "`for batch in stallcast.wrap(batches, workers=0):` (workers=0 where next() makes the batch itself). "
                  "Other languages: the C API, stallcast/capture.h",
                  1.0};
}

std::optional<NextStep> run_longer(const Case& c) {
  const bool few = c.p.job.loaders_seen > 0 && (c.p.outcome.status == "not_enough_data" || ended_early(c));
  const bool none = c.p.job.loaders_seen == 0 && c.p.outcome.status == "interrupted" && !trained(c);
  if (c.d.wait || !(few || none)) return std::nullopt;
  return NextStep{"run-longer", "Profile a longer part of the training",
                  none ? "the run was interrupted before a batch was seen"
                       : "a loader was seen, and too few of its batches to tell a rate by: some dozens after the first "
                         "ones are needed",
                  1.0};
}

/// The job as it is will never tell what it waits for: another loader, thread or process makes the batches. But where
/// its workers never rest, it is them.
std::optional<NextStep> look_within(const Case& c) {
  if (!c.waits() || c.d.prep || c.d.fetch) return std::nullopt;
  for (const DataIssue& issue : c.p.issues) {
    if (issue.id == "busy-loader-in-thread")
      return NextStep{"busy-behind", "Give the loader more workers", issue.detail + "; " + issue.hint, c.wait};
  }
  constexpr std::array<const char*, 4> k_apart = {"nested-loader", "loader-in-thread", "batches-handed-over",
                                                  "several-loaders"};
  for (const DataIssue& issue : c.p.issues) {
    const bool is_apart = std::any_of(k_apart.begin(), k_apart.end(), [&](const char* id) { return issue.id == id; });
    if (!is_apart) continue;
    return NextStep{"look-within", "Profile the loader that is waited for by itself", issue.detail + "; " + issue.hint,
                    c.wait};
  }
  return std::nullopt;
}

}  // namespace stallcast::reports
