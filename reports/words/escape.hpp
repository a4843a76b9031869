/// Strings of a profile (paths, command lines, class names) are hostile until proven otherwise: how each format tames
/// them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stallcast::reports {

/// Valid UTF-8 in one line: control characters, line separators and characters that reorder text become visible
/// escapes ("\x1b", "\u202e"), so that a terminal or a page shows them instead of obeying them.
[[nodiscard]] std::string one_line(std::string_view text);

/// one_line with & < > " ' as entities: for element content and quoted attributes.
[[nodiscard]] std::string html_text(std::string_view text);

/// JSON that may stand inside <script>: "<", ">" and "&" as \u003c ..., U+2028 and U+2029 escaped.
[[nodiscard]] std::string script_json(std::string_view json);

/// Text for Markdown (GitHub's): no mark-up, links, mentions or table cells can start in it.
[[nodiscard]] std::string markdown_text(std::string_view text);

/// A code span that shows `text` as it is; in a table `|` needs an escape of its own.
[[nodiscard]] std::string markdown_code(std::string_view text, bool in_table = false);

/// A quoted CSV field (RFC 4180); one that a spreadsheet would run as a formula starts with an apostrophe.
[[nodiscard]] std::string csv_field(std::string_view text);

/// The value of an OpenMetrics label, without its quotes.
[[nodiscard]] std::string metric_label(std::string_view text);

/// A command line that a POSIX shell reads back as `arguments`.
[[nodiscard]] std::string shell_words(const std::vector<std::string>& arguments);

/// Columns that `text` (of one_line) takes in a terminal.
[[nodiscard]] std::size_t columns(std::string_view text);

/// one_line of `text`, cut to `width` columns with " ..." where it is longer.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t width);

/// Bytes of the longest beginning of `text` that takes at most `width` columns.
[[nodiscard]] std::size_t fitting(std::string_view text, std::size_t width);

}  // namespace stallcast::reports
