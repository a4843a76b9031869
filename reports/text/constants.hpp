/// How much the reports of text show, with what set it. Widths of columns are where they are printed.
#pragma once

#include <cstddef>

namespace stallcast::reports {

// markdown.cpp
/// of a list; how much is left out is said. A comment (of a pull request) holds 65,536 characters. Chosen: all fit
inline constexpr std::size_t k_most_markdown_rows = 40;
inline constexpr std::size_t k_markdown_command_characters = 400;  ///< of the command, for the same reason. Chosen

}  // namespace stallcast::reports
