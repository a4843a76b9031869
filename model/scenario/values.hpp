/// The values of scenario keys with their units. Internal to the model.
#pragma once

#include <string_view>

#include "core/result.hpp"
#include "model/scenario/scenario.hpp"

namespace stallcast {

/// Sets `key`, which is one that is answered. Errors (usage): no unit, an impossible value; each says what to write.
[[nodiscard]] Status set_value(Scenario& scenario, std::string_view key, std::string_view value);

}  // namespace stallcast
