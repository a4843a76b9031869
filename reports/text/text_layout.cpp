#include "reports/text/text_layout.hpp"

#include <algorithm>
#include <cmath>

#include "reports/words/escape.hpp"

namespace stallcast::reports {

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  const std::string safe = one_line(text);
  std::vector<std::string> lines(1);
  for (std::string_view rest = safe; !rest.empty();) {
    std::size_t space = rest.find(' ');
    while (space != std::string_view::npos && rest.substr(space, 2) == " %") space = rest.find(' ', space + 1);
    std::string_view word = rest.substr(0, space);
    rest.remove_prefix(space == std::string_view::npos ? rest.size() : space + 1);
    if (word.empty()) continue;
    const std::size_t gap = lines.back().empty() ? 0 : 1;
    if (columns(lines.back()) + gap + columns(word) <= width) {
      lines.back().append(gap, ' ').append(word);
      continue;
    }
    if (gap > 0) lines.emplace_back();
    while (columns(word) > width) {
      const std::size_t cut = std::max<std::size_t>(1, fitting(word, width));
      lines.back() = word.substr(0, cut);
      lines.emplace_back();
      word.remove_prefix(cut);
    }
    lines.back() = word;
  }
  return lines;
}

std::string TextPage::painted(std::string_view text, Paint paint) const {
  if (!color_ || paint == Paint::plain) return std::string(text);
  const char* code = "0";
  switch (paint) {
    case Paint::bold:
      code = "1";
      break;
    case Paint::dim:
      code = "2";
      break;
    case Paint::red:
      code = "1;31";
      break;
    case Paint::yellow:
      code = "1;33";
      break;
    case Paint::green:
      code = "1;32";
      break;
    case Paint::blue:
      code = "34";
      break;
    case Paint::plain:
      break;
  }
  return std::string("\x1b[") + code + "m" + std::string(text) + "\x1b[0m";
}

void TextPage::heading(std::string_view title) {
  blank();
  item("", 0, title, Paint::bold);
}

void TextPage::item(std::string_view first, std::size_t indent, std::string_view body, Paint paint) {
  const bool fits = indent == 0 || columns(first) < indent;
  std::string lead = fits ? padded(first, indent) : std::string(indent, ' ');
  const std::string whole = fits ? std::string(body) : std::string(first) + " " + std::string(body);
  for (const std::string& line : wrap(whole, k_text_width - indent)) {
    if (line.empty()) lead.erase(lead.find_last_not_of(' ') + 1);
    text_ += lead + painted(line, paint) + "\n";
    lead.assign(indent, ' ');
  }
}

std::string padded(std::string_view text, std::size_t width, bool right) {
  const std::size_t used = columns(text);
  const std::string gap(used < width ? width - used : 0, ' ');
  return right ? gap + std::string(text) : std::string(text) + gap;
}

std::string bar(double begin, double end, std::size_t width, bool unicode) {
  const auto cell = [&](double share) {
    if (!std::isfinite(share)) return std::size_t{0};
    return static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(width)));
  };
  std::size_t from = cell(begin);
  std::size_t to = cell(end);
  if (to <= from && end > begin) {
    from = std::min(from, width - 1);
    to = from + 1;
  }
  std::string text(std::min(from, to), ' ');
  for (std::size_t i = from; i < to; ++i) text += unicode ? "\xE2\x96\x88" : "#";
  return text + std::string(width - std::max(from, to), ' ');
}

}  // namespace stallcast::reports
