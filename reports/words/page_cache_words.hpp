/// What memory served of a job's reads, in words.
#pragma once

#include <string>

#include "analyzer/profile/profile.hpp"

namespace stallcast::reports {

/// "36 % (33 to 39) of an epoch's bytes came from memory, where 52 % of the data set would fit"; empty where it was not
/// measured.
[[nodiscard]] std::string page_cache_words(const Profile& profile);
/// How much of the data set fits into memory; empty where that is not known.
[[nodiscard]] std::string room_words(const PageCache& cache);

}  // namespace stallcast::reports
