#include "tests/reports/html/page_tags.hpp"

#include <doctest/doctest.h>

#include <map>
#include <regex>
#include <set>

namespace stallcast::testing {
namespace {

const std::set<std::string> k_elements = {
    "!doctype", "html",     "head",    "meta",  "title",  "style",   "body",    "a",      "header",     "p",
    "code",     "main",     "section", "h1",    "h2",     "h3",      "strong",  "span",   "div",        "table",
    "caption",  "colgroup", "col",     "thead", "tbody",  "tr",      "th",      "td",     "ol",         "ul",
    "li",       "dl",       "dt",      "dd",    "canvas", "details", "summary", "figure", "figcaption", "footer",
    "script",   "form",     "label",   "input", "output", "button"};
const std::set<std::string> k_attributes = {"html",       "lang",        "charset", "http-equiv", "content",
                                            "name",       "class",       "href",    "id",         "aria-labelledby",
                                            "aria-label", "aria-hidden", "scope",   "style",      "role",
                                            "tabindex",   "type",        "for",     "min",        "max",
                                            "step",       "value",       "hidden",  "open",       "aria-live"};

}  // namespace

std::vector<Tag> tags_of(const std::string& page) {
  std::vector<Tag> tags;
  const std::regex shape(R"re(^<(/?[a-z][a-z0-9]*|!doctype)((?:\s+[a-z-]+(?:="[^"<>]*")?)*)\s*>)re");
  const std::regex attribute(R"re(([a-z-]+)(?:="[^"]*")?)re");
  for (std::size_t at = 0; (at = page.find('<', at)) != std::string::npos;) {
    const std::string head = page.substr(at, page.find('>', at) - at + 1);
    std::smatch match;
    REQUIRE_MESSAGE(std::regex_search(head, match, shape), head.substr(0, 80));
    Tag tag{match[1].str(), {}, ""};
    const std::string list = match[2].str();
    for (std::sregex_iterator i(list.begin(), list.end(), attribute), end; i != end; ++i)
      tag.attributes.push_back((*i)[1]);
    at += head.size();
    if (tag.name == "script" || tag.name == "style") {
      const std::size_t close = page.find("</" + tag.name + ">", at);
      REQUIRE(close != std::string::npos);
      tag.raw = page.substr(at, close - at);
      at = close;
    }
    tags.push_back(std::move(tag));
  }
  return tags;
}

void check_page(const std::string& page, int scripts) {
  std::map<std::string, int> seen;
  std::vector<std::string> open;
  for (const Tag& tag : tags_of(page)) {
    const bool closes = tag.name.starts_with('/');
    const std::string name = closes ? tag.name.substr(1) : tag.name;
    CHECK_MESSAGE(k_elements.contains(name), name);
    for (const std::string& attribute : tag.attributes) CHECK_MESSAGE(k_attributes.contains(attribute), attribute);
    seen[tag.name] += 1;
    if (name == "!doctype" || name == "meta" || name == "col" || name == "input") continue;
    if (!closes) {
      open.push_back(name);
    } else {
      REQUIRE_FALSE(open.empty());
      CHECK(open.back() == name);
      open.pop_back();
    }
  }
  CHECK(open.empty());
  CHECK(seen["script"] == scripts);
  CHECK(seen["h1"] == 1);
}

nlohmann::json data_of(const std::string& page) {
  for (const Tag& tag : tags_of(page)) {
    if (tag.name == "script" && !tag.attributes.empty()) return nlohmann::json::parse(tag.raw);
  }
  FAIL("no data");
  return {};
}

std::string visible(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    if (text.compare(at, 2, "&#") == 0) {
      const std::size_t end = text.find(';', at);
      result += static_cast<char>(std::stoi(text.substr(at + 2, end - at - 2)));
      at = end + 1;
    } else {
      result += text[at++];
    }
  }
  return result;
}

}  // namespace stallcast::testing
