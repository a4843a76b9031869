/// Files of the user's own: mode 0600, replaced as a whole or not at all.
#pragma once

#include <filesystem>
#include <string_view>

#include "core/result.hpp"

namespace stallcast {

/// Writes `content` to a new file beside `path` (mode 0600), syncs it and renames it over `path`. On failure `path` is
/// as it was and nothing is left behind; the error (environment) names the path and the system's reason.
[[nodiscard]] Status write_private_file(const std::filesystem::path& path, std::string_view content);

}  // namespace stallcast
