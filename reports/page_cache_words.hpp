/// What memory served of a job's reads, in words and as tables.
#pragma once

#include <string>

#include "reports/formats.hpp"
#include "reports/html_page.hpp"

namespace stallcast::reports {

/// "36 % (33 to 39) of an epoch's bytes came from memory, where 52 % of the data set would fit"; empty where it was not
/// measured.
[[nodiscard]] std::string page_cache_words(const Profile& profile);

/// Sets "page_cache_words" and the lists "cache_epochs" and "cache_policies"; "has_page_cache" where one has rows.
void add_page_cache(const ReportData& report, Tags& page);

}  // namespace stallcast::reports
