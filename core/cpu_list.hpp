/// Lists of CPUs as the kernel writes them.
#pragma once

#include <optional>
#include <set>
#include <string_view>

namespace stallcast {

/// "0-3,8" -> 0, 1, 2, 3, 8; nothing for malformed text and for numbers beyond a million.
[[nodiscard]] std::optional<std::set<int>> parse_cpu_list(std::string_view text);

}  // namespace stallcast
