/// Files that are replaced as a whole or not at all.
#pragma once

#include <filesystem>
#include <string_view>

#include "core/result.hpp"

namespace stallcast {

/// Writes `content` to a new file beside `path` (mode 0600), syncs it and renames it over `path`. On failure `path` is
/// as it was and nothing is left behind; the error (environment) names the path and the system's reason.
[[nodiscard]] Status write_private_file(const std::filesystem::path& path, std::string_view content);

/// The same for a file that the user named, to be read by others: with the permissions that a new file of this process
/// has, or those of the file it replaces; a link is followed. What is no regular file (a pipe, /dev/stdout) is written
/// to and never replaced.
[[nodiscard]] Status write_named_file(const std::filesystem::path& path, std::string_view content);

}  // namespace stallcast
