/// Profiles as JSON: the content of `profile.json` (schema in analyzer/schema/profile.schema.json).
///
/// Every key carries its unit. What is absent is `null`, and the top-level object "absent" maps its path to the reason,
/// e.g. {"rates.cold_samples_per_s": "the page cache could not be emptied"}.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "analyzer/profile/profile.hpp"
#include "core/result.hpp"

namespace stallcast {

/// The profile as JSON. Strings are made valid UTF-8 (bytes that are not become U+FFFD); a number that is not finite
/// is written as absent, so that the result always dumps to valid JSON.
[[nodiscard]] nlohmann::json to_json(const Profile& profile);

/// The inverse of to_json. Strict: a newer schema_version, a missing key, a wrong type or an impossible value is
/// bad_input, and the error names the JSON path. Keys that are not known are ignored; a measured value whose key is
/// missing reads as absent.
[[nodiscard]] Result<Profile> profile_from_json(const nlohmann::json& root);

/// Parses `text` (the content of a profile.json); `name` stands for it in errors.
[[nodiscard]] Result<Profile> parse_profile(const std::string& text, const std::string& name);

/// Reads `path`, or `path`/profile.json if it is a folder.
[[nodiscard]] Result<Profile> load_profile(const std::filesystem::path& path);

/// The text that save_profile writes: JSON, one line per section and per element of the long lists, final newline.
[[nodiscard]] std::string profile_text(const nlohmann::json& root);

/// Writes `path` (or `path`/profile.json if it is a folder) with mode 0600, by rename: it is never seen half-written.
[[nodiscard]] Status save_profile(const Profile& profile, const std::filesystem::path& path);

}  // namespace stallcast
