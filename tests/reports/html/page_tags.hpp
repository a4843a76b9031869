/// Looking at an HTML page of ours as a strict reader does.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace stallcast::testing {

struct Tag {
  std::string name{};  ///< with its slash, if it closes
  std::vector<std::string> attributes{};
  std::string raw{};  ///< content of a script or style element
};

/// A tokenizer as strict as the page is plain: every "<" must open a tag whose attribute values are quoted.
[[nodiscard]] std::vector<Tag> tags_of(const std::string& page);

/// Checks that the page is made of nothing but elements and attributes of our templates, each closed in its place, with
/// so many scripts and one h1.
void check_page(const std::string& page, int scripts);

/// The JSON that the charts are drawn from.
[[nodiscard]] nlohmann::json data_of(const std::string& page);

/// What a reader sees between two tags, entities undone.
[[nodiscard]] std::string visible(const std::string& text);

}  // namespace stallcast::testing
