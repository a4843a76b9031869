/// What is absent is null in JSON. Internal to what writes the run's log.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

namespace stallcast::collect {

/// The value, or null.
template <class T>
[[nodiscard]] nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace stallcast::collect
