#include "analyzer/profile/redact.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/profile/json.hpp"

namespace stallcast {
namespace {

constexpr std::string_view k_path = "(path)";

/// What a text may hold word for word, and what stands in its place.
struct Replacement {
  std::string from{};
  std::string to{};
};

/// Whether a path may begin or end beside this character of a text.
bool parts_words(char c) {
  constexpr std::string_view k_between = " \t\n\"'`=:,;()[]{}<>|";
  return k_between.find(c) != std::string_view::npos;
}

bool is_kernels_own(std::string_view path) {
  constexpr std::array<std::string_view, 3> k_same_everywhere{"/proc", "/sys", "/dev"};
  return std::any_of(k_same_everywhere.begin(), k_same_everywhere.end(), [&](std::string_view folder) {
    return path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
  });
}

/// "samples/s", "MB/s", "32USD/h".
bool is_rate(std::string_view word) {
  constexpr std::array<std::string_view, 6> k_per{"/s", "/h", "/sample", "/step", "/batch", "/epoch"};
  const bool has_unit =
      std::any_of(k_per.begin(), k_per.end(), [&](std::string_view unit) { return word.ends_with(unit); });
  return has_unit && std::count(word.begin(), word.end(), '/') == 1;
}

/// A path, or what may be a part of one: "/data/a.jpg", "~/cats", "x/y". In doubt it is.
bool names_a_place(std::string_view word) {
  return word.find('/') != std::string_view::npos && word.size() > 1 && !is_rate(word) && !is_kernels_own(word);
}

std::string without_places(std::string_view text) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = at;
    while (end < text.size() && !parts_words(text[end])) ++end;
    const std::string_view word = text.substr(at, end - at);
    if (text.substr(end).starts_with("://")) {  // the scheme goes with its address
      end += 3;
      while (end < text.size() && !parts_words(text[end])) ++end;
      out += k_path;
    } else {
      out += names_a_place(word) ? k_path : word;
    }
    at = end;
    if (at < text.size()) out += text[at++];
  }
  return out;
}

/// Every `from` that stands as a word of its own.
std::string replaced(const std::string& text, const Replacement& one) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t found = text.find(one.from, at);
    if (found == std::string::npos) break;
    const std::size_t end = found + one.from.size();
    const bool is_word = (found == 0 || parts_words(text[found - 1])) && (end == text.size() || parts_words(text[end]));
    out += text.substr(at, found - at) + (is_word ? one.to : one.from);
    at = end;
  }
  return out + text.substr(at);
}

/// Names of hosts ("host-1" for the first), and arguments that name something of the user's: a file or a setting.
std::vector<Replacement> replacements_for(const Profile& profile) {
  std::vector<Replacement> list;
  std::set<std::string> known;
  const auto add = [&](const std::string& from, const std::string& to) {
    if (!from.empty() && known.insert(from).second) list.push_back({from, to});
  };
  add(profile.host.name, "host-1");
  for (const Rank& rank : profile.ranks) add(rank.host, "host-" + std::to_string(known.size() + 1));
  for (const std::string& path : {profile.dataset.folder, profile.dataset.example_path, profile.storage.path}) {
    add(path, std::string(k_path));
  }
  const auto names_something = [](const std::string& word) {
    return word.size() > 2 && (word.find('/') != std::string::npos || word.find('.') != std::string::npos);
  };
  for (std::size_t i = 1; i < profile.command.size(); ++i) {
    if (names_something(profile.command[i])) add(profile.command[i], "(argument)");
  }
  return list;
}

void redact_strings(nlohmann::json& node, const std::vector<Replacement>& replacements) {
  if (node.is_string()) {
    auto text = node.get<std::string>();
    for (const Replacement& one : replacements) text = replaced(text, one);
    node = without_places(text);
  } else if (node.is_structured()) {  // a number's only child is itself
    for (auto& child : node) redact_strings(child, replacements);
  }
}

}  // namespace

Result<Profile> redacted(const Profile& profile) {
  nlohmann::json root = to_json(profile);
  nlohmann::json command = nlohmann::json::array();
  if (!profile.command.empty()) command.push_back(std::filesystem::path(profile.command.front()).filename().string());
  if (profile.command.size() > 1) command.push_back("(arguments)");
  root["command"] = std::move(command);
  redact_strings(root, replacements_for(profile));
  auto result = profile_from_json(root);
  if (!result) return Error{ErrorCode::internal, "the redacted profile cannot be read: " + result.error().what, ""};
  return result;
}

}  // namespace stallcast
