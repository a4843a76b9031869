/// What the parts of resolving a scenario share. Internal to setting*.cpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "model/setting/constants.hpp"
#include "model/setting/setting.hpp"

namespace stallcast::setting_parts {

[[nodiscard]] inline double doublings(double to, double from) {
  return std::abs(std::log2(to / from));
}

[[nodiscard]] inline double squared(double value) {
  return value * value;
}

/// Share of cases in which a consumer and a worker must take turns on one core, whatever the others do.
[[nodiscard]] inline double on_one_core(double cores) {
  return std::clamp(2.0 - cores, 0.0, 1.0);
}

/// Seconds: by how much longer a consumer may wait for a core when it has received a batch, in `setting` with its
/// demands `in`, than it did as found; on or off one core by a time slice either way. Waiting makes a step longer, and
/// that the wait shorter.
[[nodiscard]] double changed_turns_s(const JobModel& job, const Setting& setting, const ServiceDemands& in);

/// Adds up in squares what a scenario's departures cost in certainty: relative errors of making and of the step.
struct Uncertainty {
  double making = 0.0;
  double step = 0.0;

  void store(Setting& setting) const {
    setting.making_sd = std::sqrt(making);
    setting.step_sd = std::sqrt(step);
  }
};

/// Nodes, ranks and jobs on each, and what one batch is used for: everything else of a host is divided by them.
void apply_layout(const JobModel& job, const Scenario& scenario, Setting& setting, Uncertainty& uncertain);

/// Where bytes come from when several nodes hold them. Called instead of the rules of one host where a policy of
/// several nodes is asked for. `share`: of the data set, in the cache of each node.
[[nodiscard]] Status apply_node_caches(const JobModel& job, const Scenario& scenario, double share, Setting& setting);

/// Ranks that read from one host's storage beside each other.
[[nodiscard]] double readers_of(const JobModel& job, const Scenario& scenario, const Setting& setting);

/// How the data lies: in shards, behind a snapshot of its metadata, on storage that serves so many requests, on the
/// nodes' own disks. Called after the rules of storage, shared or not.
[[nodiscard]] Status apply_data(const JobModel& job, const Scenario& scenario, Setting& setting,
                                Uncertainty& uncertain);

/// Extra hosts that prepare batches. Called last: they prepare what is left of it.
[[nodiscard]] Status apply_prep_hosts(const JobModel& job, const Scenario& scenario, Setting& setting,
                                      Uncertainty& uncertain);

/// Storage that all nodes share, and the network between them.
[[nodiscard]] Status apply_shared(const JobModel& job, const Scenario& scenario, Setting& setting,
                                  Uncertainty& uncertain);

/// Takes what the scenario's operators no longer cost out of the making of a sample. What the others cost is taken to
/// stay the same. Errors: not_enough_data where the profile has no operators, usage for one that it does not have (the
/// nearest is named).
[[nodiscard]] Status apply_operators(const JobModel& job, const Scenario& scenario, Setting& setting,
                                     Uncertainty& uncertain);

}  // namespace stallcast::setting_parts
