#include "analyzer/profile/json_fields.hpp"

#include <cmath>

namespace stallcast {

using nlohmann::json;

std::string word(const json& object, const char* key) {
  const auto field = object.find(key);
  return field != object.end() && field->is_string() ? field->get<std::string>() : std::string();
}

std::uint64_t natural(const json& object, const char* key) {
  const auto field = object.find(key);
  return field != object.end() && field->is_number_unsigned() ? field->get<std::uint64_t>() : 0;
}

std::int64_t integer(const json& object, const char* key, std::int64_t fallback) {
  constexpr double k_beyond = 9.2e18;
  const auto field = object.find(key);
  if (field == object.end() || !field->is_number()) return fallback;
  return std::abs(field->get<double>()) < k_beyond ? field->get<std::int64_t>() : fallback;
}

}  // namespace stallcast
