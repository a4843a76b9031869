#include "model/predict/availability.hpp"

#include <algorithm>
#include <string>

#include "core/check.hpp"
#include "model/scenario/keys.hpp"
#include "model/setting/setting.hpp"

namespace stallcast {
namespace {

/// `key` with its example, and what it says nothing without.
Status ask(const JobModel& job, const ScenarioKey& key, Scenario& scenario) {
  const std::string own_operator = (job.operators.empty() ? "any" : job.operators.front().name) + ":x2";
  const bool of_operators = key.name == "operator";
  STALLCAST_RETURN_IF_ERROR(set_key(scenario, key.name, of_operators ? std::string_view(own_operator) : key.example));
  if (key.name == "prep_cpus") return set_key(scenario, "network_bandwidth", "25Gbit/s");
  if (key.name == "staging") return set_key(scenario, "local_disk_bandwidth", "1GB/s");
  return {};
}

}  // namespace

KeyAvailability availability(const JobModel& job, std::string_view key) {
  const auto keys = key_table();
  const auto row = std::find_if(keys.begin(), keys.end(), [&](const ScenarioKey& known) { return known.name == key; });
  STALLCAST_CHECK(row != keys.end());
  Scenario scenario;
  Status status = ask(job, *row, scenario);
  if (status.ok()) {
    const auto setting = resolve(job, scenario);
    if (setting.ok()) return {std::string(key), true, "", ""};
    status = setting.error();
  }
  return {std::string(key), false, status.error().what, status.error().hint};
}

}  // namespace stallcast
