#include "reports/words/page_cache_words.hpp"

#include "reports/words/format.hpp"

namespace stallcast::reports {

std::string room_words(const PageCache& cache) {
  if (!cache.room) return "";
  return *cache.room >= 1.0 ? "all of the data set would fit" : percent(*cache.room) + " of the data set would fit";
}

std::string page_cache_words(const Profile& profile) {
  const auto* hit = usable(profile.page_cache.hit);
  if (hit == nullptr) return "";
  const std::string room = room_words(profile.page_cache);
  return percent(*hit) + " of an epoch's bytes came from memory" + (room.empty() ? "" : ", where " + room);
}

}  // namespace stallcast::reports
