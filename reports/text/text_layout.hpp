/// Laying out text in the 80 columns of a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stallcast::reports {

inline constexpr std::size_t k_text_width = 80;

enum class Paint { plain, bold, dim, red, yellow, green, blue };

/// Lines of at most `width` columns, broken at spaces but not before a percent sign; a longer word is cut. The text is
/// made safe first (words/escape.hpp: one_line).
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// Collects lines of at most k_text_width columns.
class TextPage {
 public:
  explicit TextPage(bool color) : color_(color) {}

  /// An empty line and a heading.
  void heading(std::string_view title);
  void blank() { text_ += '\n'; }
  /// `first` (a label or bullet, padded to `indent` columns) and then `body`, wrapped and indented. A `first` that is
  /// too long for its column begins the body.
  void item(std::string_view first, std::size_t indent, std::string_view body, Paint paint = Paint::plain);
  /// One line that is safe and fits already.
  void line(std::string_view text) { text_.append(text).append("\n"); }

  /// `text` in the colour, if colours are on.
  [[nodiscard]] std::string painted(std::string_view text, Paint paint) const;
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  bool color_;
  std::string text_{};
};

/// `text` followed by spaces up to `width` columns; preceded by them if `right`.
[[nodiscard]] std::string padded(std::string_view text, std::size_t width, bool right = false);

/// A bar of `width` columns, filled from `begin` to `end` (shares of it); at least one cell if end > begin.
[[nodiscard]] std::string bar(double begin, double end, std::size_t width, bool unicode);

}  // namespace stallcast::reports
