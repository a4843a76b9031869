#include "analyzer/reads/network.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "analyzer/reads/constants.hpp"
#include "analyzer/reads/from_storage.hpp"

namespace stallcast::sections {

double received_per_sample(const std::vector<RankView>& ranks) {
  double received = 0.0;
  double samples = 0.0;
  for (const RankView& rank : ranks) {
    for (const SteadyStep& step : rank.window.steps) {
      if (!step.delivery->made_known) continue;
      received += static_cast<double>(step.delivery->received_bytes);
      samples += step.samples;
    }
  }
  return samples > 0.0 ? received / samples : 0.0;
}

bool is_over_network(const std::vector<RankView>& ranks) {
  const double received = received_per_sample(ranks);
  return received >= static_cast<double>(record::k_received_bytes) &&
         received >= k_received_are_data * read_per_sample(ranks);
}

void add_network_issues(const RunData& run, const std::vector<RankView>& ranks, std::vector<DataIssue>& issues) {
  const double received = received_per_sample(ranks);
  if (received < static_cast<double>(record::k_received_bytes)) return;
  const long share = std::lround(100.0 * received / std::max(received, read_per_sample(ranks)));
  add_issue(issues,
            {"network-data", Severity::info, 1,
             std::to_string(std::lround(received)) + " bytes of a sample come over the network, " +
                 std::to_string(share) + " % of what it is made of; waiting for them counts as reading",
             "no page cache holds them: a copy on a local disk or a cache of the loader's own would spare the second "
             "epoch the network, and more workers or several requests at once hide its latency"});
  const auto& settings = run.log.emulation.settings;
  const bool emulates = std::any_of(settings.begin(), settings.end(), [](const auto& setting) {
    return setting.first.starts_with("storage_") || setting.first == "cache";
  });
  if (!emulates) return;
  add_issue(issues, {"emulation-beside-network", Severity::warning, 1,
                     "storage was emulated, and what comes over the network came as fast as ever",
                     "emulate files alone; limit the network of such a job with the system's own means (tc)"});
}

}  // namespace stallcast::sections
