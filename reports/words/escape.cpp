#include "reports/words/escape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "core/utf8.hpp"

namespace stallcast::reports {
namespace {

/// Code point of the well-formed sequence that starts at text[at]; `at` moves past it.
std::uint32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto lead = static_cast<unsigned char>(text[at++]);
  if (lead < 0x80) return lead;
  const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
  std::uint32_t point = lead & (0x3FU >> static_cast<unsigned>(more));
  for (int i = 0; i < more && at < text.size(); ++i)
    point = point << 6U | (static_cast<unsigned char>(text[at++]) & 0x3FU);
  return point;
}

bool obeyed_by_displays(std::uint32_t point) {
  const bool control = point < 0x20 || (point >= 0x7F && point <= 0x9F);
  const bool separator = point == 0x2028 || point == 0x2029;
  const bool reorders = point == 0x061C || point == 0x200E || point == 0x200F || (point >= 0x202A && point <= 0x202E) ||
                        (point >= 0x2066 && point <= 0x2069);
  const bool invisible = point == 0x200B || point == 0xFEFF || (point >= 0xE0000 && point <= 0xE007F);
  return control || separator || reorders || invisible;
}

/// Columns in a terminal: East Asian wide characters and pictographs take two, combining marks none.
std::size_t columns_of(std::uint32_t point) {
  constexpr std::pair<std::uint32_t, std::uint32_t> k_wide[] = {
      {0x1100, 0x115F}, {0x2E80, 0xA4CF}, {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
      {0xFF00, 0xFF60}, {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F}, {0x1F680, 0x1F9FF}, {0x20000, 0x3FFFD}};
  if (point >= 0x0300 && point <= 0x036F) return 0;
  return std::any_of(std::begin(k_wide), std::end(k_wide),
                     [&](const auto& range) { return point >= range.first && point <= range.second; })
             ? 2
             : 1;
}

/// `text` with each character of `special` replaced by what `replace` gives for it.
template <class Replace>
std::string replaced(std::string_view text, std::string_view special, Replace replace) {
  std::string result;
  result.reserve(text.size());
  for (const char letter : text) {
    if (special.find(letter) == std::string_view::npos) {
      result += letter;
    } else {
      result += replace(letter);
    }
  }
  return result;
}

}  // namespace

std::string one_line(std::string_view text) {
  const std::string valid = valid_utf8(text);
  std::string result;
  result.reserve(valid.size());
  for (std::size_t at = 0; at < valid.size();) {
    const std::size_t begin = at;
    const std::uint32_t point = next_code_point(valid, at);
    if (!obeyed_by_displays(point)) {
      result.append(valid, begin, at - begin);
    } else if (point == '\n' || point == '\t' || point == '\r') {
      result += point == '\n' ? "\\n" : point == '\t' ? "\\t" : "\\r";
    } else {
      result += point < 0x100 ? fmt::format("\\x{:02x}", point) : fmt::format("\\u{:04x}", point);
    }
  }
  return result;
}

std::string html_text(std::string_view text) {
  return replaced(one_line(text), "&<>\"'", [](char letter) { return fmt::format("&#{};", static_cast<int>(letter)); });
}

std::string script_json(std::string_view json) {
  std::string text =
      replaced(json, "<>&", [](char letter) { return fmt::format("\\u{:04x}", static_cast<unsigned>(letter)); });
  for (const auto& [from, to] : {std::pair{"\xE2\x80\xA8", "\\u2028"}, std::pair{"\xE2\x80\xA9", "\\u2029"}}) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos;) text.replace(at, 3, to);
  }
  return text;
}

std::string markdown_text(std::string_view text) {
  // Entities, because a backslash does not stop HTML. Mentions and bare links are found after rendering: an empty
  // comment cuts them in two.
  std::string result = replaced(one_line(text), "&<>`*_~[]|\\#!{}",
                                [](char letter) { return fmt::format("&#{};", static_cast<int>(letter)); });
  const auto cut = [&](std::string_view token, std::string_view with) {
    for (std::size_t at = 0; (at = result.find(token, at)) != std::string::npos; at += with.size()) {
      result.replace(at, token.size(), with);
    }
  };
  cut("@", "@<!-- -->");
  cut("://", ":<!-- -->//");
  cut("www.", "www<!-- -->.");
  return result;
}

std::string markdown_code(std::string_view text, bool in_table) {
  const std::string inner = replaced(one_line(text), in_table ? "|" : "", [](char) { return "\\|"; });
  std::size_t longest = 0;
  std::size_t run = 0;
  for (const char letter : inner) {
    run = letter == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  const char* pad = longest > 0 || inner.empty() ? " " : "";
  return fence + pad + inner + pad + fence;
}

std::string csv_field(std::string_view text) {
  const std::string line = one_line(text);
  const bool formula = !line.empty() && std::string_view("=+-@").find(line.front()) != std::string_view::npos;
  return (formula ? "\"'" : "\"") + replaced(line, "\"", [](char) { return "\"\""; }) + "\"";
}

std::string metric_label(std::string_view text) {
  return replaced(one_line(text), "\\\"", [](char letter) { return std::string("\\") + letter; });
}

std::string shell_words(const std::vector<std::string>& arguments) {
  constexpr std::string_view k_plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  std::string line;
  for (const std::string& argument : arguments) {
    if (!line.empty()) line += ' ';
    if (!argument.empty() && argument.find_first_not_of(k_plain) == std::string::npos) {
      line += argument;
    } else {
      line += "'" + replaced(argument, "'", [](char) { return "'\\''"; }) + "'";
    }
  }
  return line;
}

std::size_t columns(std::string_view text) {
  std::size_t total = 0;
  for (std::size_t at = 0; at < text.size();) total += columns_of(next_code_point(text, at));
  return total;
}

std::string shortened(std::string_view text, std::size_t width) {
  const std::string safe = one_line(text);
  return columns(safe) <= width ? safe : safe.substr(0, fitting(safe, width - 4)) + " ...";
}

std::size_t fitting(std::string_view text, std::size_t width) {
  std::size_t used = 0;
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size(); end = at) {
    used += columns_of(next_code_point(text, at));
    if (used > width) return end;
  }
  return text.size();
}

}  // namespace stallcast::reports
