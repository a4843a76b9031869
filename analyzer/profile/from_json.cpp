#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "analyzer/profile/constants.hpp"
#include "analyzer/profile/fields.hpp"
#include "analyzer/profile/json.hpp"
#include "analyzer/profile/json_reader.hpp"

namespace stallcast {
namespace {

std::string version_words(const nlohmann::json& root) {
  const auto tool = root.find("tool_version");
  return tool != root.end() && tool->is_string() ? " (stallcast " + tool->get<std::string>() + ")" : std::string();
}

Result<int> schema_version(const nlohmann::json& root) {
  const auto bad = [](const std::string& what) {
    return Error{ErrorCode::bad_input, "not a valid profile: schema_version " + what,
                 "give the folder that `stallcast profile -o` wrote, or the profile.json in it"};
  };
  if (!root.is_object()) {
    return Error{ErrorCode::bad_input,
                 "not a valid profile: the document must be an object, but is " + fields::type_words(root), ""};
  }
  const auto found = root.find("schema_version");
  if (found == root.end()) return bad("is missing");
  if (!found->is_number_integer() || *found < 1) return bad("must be a whole number above 0");
  if (*found > k_profile_schema_version) {
    return Error{ErrorCode::bad_input,
                 "this profile has schema version " + found->dump() + version_words(root) +
                     "; this stallcast reads up to version " + std::to_string(k_profile_schema_version),
                 "read it with the stallcast that wrote it, or a newer one"};
  }
  return found->get<int>();
}

/// Profiles written before there was `job_cpus` told it by the CPU time of a sample. Where that is more than the job
/// may use, it was not of these samples alone.
void take_job_cpus_of_older(Profile& profile) {
  const auto& rate = profile.rates.as_is;
  const auto& cpu = profile.resources.tree_cpu;
  if (!rate || !cpu) return;
  const double cpus = (rate->mean * cpu->mean).value();
  if (cpus <= profile.host.usable_cpus * std::max(1, profile.host.hosts_seen)) profile.resources.job_cpus = cpus;
}

}  // namespace

Result<Profile> profile_from_json(const nlohmann::json& root) {
  const Result<int> version = schema_version(root);
  if (!version) return version.error();
  fields::ReadState state;
  const auto absent = root.find("absent");
  if (absent != root.end()) {
    if (!absent->is_object()) state.fail("absent", "must be an object, but is " + fields::type_words(*absent));
    state.absent = &*absent;
  }
  Profile profile;
  profile.schema_version = version.value();
  fields::JsonReader reader(root, "", state);
  fields::describe(reader, profile);
  if (state.error) return *state.error;
  if (!root["resources"].contains("job_cpus")) take_job_cpus_of_older(profile);
  return profile;
}

Result<Profile> parse_profile(const std::string& text, const std::string& name) {
  nlohmann::json root;
  try {
    root = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& problem) {
    return Error{ErrorCode::bad_input, name + " is not JSON: " + problem.what(),
                 "it may have been cut off; analyze the recordings again"};
  }
  Result<Profile> profile = profile_from_json(root);
  if (profile) return profile;
  Error error = profile.error();
  error.what = name + ": " + error.what;
  return error;
}

Result<Profile> load_profile(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto file = std::filesystem::is_directory(path, ignored) ? path / "profile.json" : path;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    return Error{ErrorCode::bad_input, "cannot read " + file.string() + ": " + std::strerror(errno),
                 "give the folder that `stallcast profile -o` wrote, or the profile.json in it"};
  }
  const auto size = std::filesystem::file_size(file, ignored);
  if (!ignored && size > k_most_profile_bytes) {
    return Error{ErrorCode::bad_input, file.string() + " is too large to be a profile", ""};
  }
  std::ostringstream text;
  text << stream.rdbuf();
  return parse_profile(text.str(), file.string());
}

}  // namespace stallcast
