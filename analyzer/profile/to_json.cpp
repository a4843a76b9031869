#include <array>

#include "analyzer/profile/fields.hpp"
#include "analyzer/profile/json.hpp"
#include "analyzer/profile/json_writer.hpp"
#include "core/write_file.hpp"

namespace stallcast {
namespace {

constexpr std::array k_first_keys = {"schema_version", "tool_version", "outcome", "command", "rates", "stalls"};

std::string one_line(const nlohmann::json& node) {
  return node.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Arrays of objects get a line per element: a diff of two profiles then shows what changed.
std::string section(const nlohmann::json& node) {
  if (!node.is_array() || node.empty() || !node.front().is_structured()) return one_line(node);
  std::string text = "[";
  for (const auto& element : node) text += (text.size() == 1 ? "\n  " : ",\n  ") + one_line(element);
  return text + "\n ]";
}

}  // namespace

nlohmann::json to_json(const Profile& profile) {
  nlohmann::json root = nlohmann::json::object();
  nlohmann::json absent = nlohmann::json::object();
  root["schema_version"] = profile.schema_version;
  fields::JsonWriter writer(root, "", absent);
  fields::describe(writer, profile);
  root["absent"] = std::move(absent);
  return root;
}

std::string profile_text(const nlohmann::json& root) {
  std::string text = "{";
  const auto add = [&](const std::string& key) {
    text += (text.size() == 1 ? "\n " : ",\n ") + one_line(key) + ": " + section(root.at(key));
  };
  nlohmann::json rest = root;
  for (const char* key : k_first_keys) {
    if (rest.erase(key) > 0) add(key);
  }
  for (const auto& item : rest.items()) add(item.key());
  return text + "\n}\n";
}

Status save_profile(const Profile& profile, const std::filesystem::path& path) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  return write_private_file(folder ? path / "profile.json" : path, profile_text(to_json(profile)));
}

}  // namespace stallcast
