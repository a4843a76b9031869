#include <string>

#include "reports/html/parts.hpp"
#include "reports/html/sections.hpp"
#include "reports/words/format.hpp"
#include "reports/words/page_cache_words.hpp"

namespace stallcast::reports {
namespace {

std::string policy_words(const PolicyHits& hits) {
  return with_interval(hits.mean, hits.low, hits.high, percent_scale());
}

}  // namespace

void add_page_cache(const ReportData& report, Tags& page) {
  const PageCache& cache = report.profile.page_cache;
  Tags epochs{Tags::type::list};
  for (const CacheEpoch& epoch : cache.epochs) {
    Tags row;
    row.set("epoch", count(epoch.epoch));
    row.set("read", bytes(epoch.read));
    row.set("storage", bytes(epoch.from_storage));
    row.set("hit", percent(epoch.hit));
    epochs.push_back(row);
  }
  Tags policies{Tags::type::list};
  for (const PolicyHits& hits : report.options.policies) {
    Tags row;
    row.set("policy", hits.policy);
    row.set("hit", policy_words(hits));
    policies.push_back(row);
  }
  set_list(page, "cache_epochs", epochs);
  set_list(page, "cache_policies", policies);
  page.set("has_page_cache", !cache.epochs.empty() || !report.options.policies.empty());
  std::string words = page_cache_words(report.profile);
  if (words.empty()) {
    words = "In epochs as found: " + not_measured(cache.hit.reason());
    const std::string room = room_words(cache);
    if (!room.empty()) words += "; " + room;
  }
  page.set("page_cache_words", words + ".");
}

}  // namespace stallcast::reports
