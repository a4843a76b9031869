#include "reports/html/page.hpp"

#include "reports/words/escape.hpp"

namespace stallcast::reports {
namespace {

unsigned hex_value(char digit) {
  return static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

/// Base64 of the bytes that `hex` spells: "4d61" -> "TWE=".
std::string base64_of_hex(std::string_view hex) {
  constexpr std::string_view k_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result;
  // Three hex digits are twelve bits: two base64 digits.
  for (std::size_t at = 0; at < hex.size(); at += 3) {
    unsigned bits = 0;
    for (std::size_t i = at; i < at + 3; ++i) bits = bits << 4U | (i < hex.size() ? hex_value(hex[i]) : 0U);
    result += k_digits[bits >> 6U];
    if (at + 2 <= hex.size()) result += k_digits[bits & 63U];
  }
  result.append((4 - result.size() % 4) % 4, '=');
  return result;
}

}  // namespace

std::string content_policy(std::initializer_list<const Asset*> scripts) {
  std::string hashes;
  for (const Asset* script : scripts) hashes += " 'sha256-" + base64_of_hex(script->sha256) + "'";
  return "default-src 'none'; script-src" + hashes + "; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
}

Result<std::string> render_page(std::string_view layout, const Tags& page) {
  kainjow::mustache::mustache compiled{std::string(layout)};
  compiled.set_custom_escape([](const std::string& text) { return html_text(text); });
  std::string text = compiled.is_valid() ? compiled.render(page) : std::string();
  if (!compiled.error_message().empty())
    return Error{ErrorCode::internal, "HTML template: " + compiled.error_message(), ""};
  return text;
}

}  // namespace stallcast::reports
