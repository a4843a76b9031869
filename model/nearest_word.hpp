/// The known word that a mistyped one most likely stands for.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace stallcast {

/// The word of `known` with the fewest insertions, deletions, replacements and swaps of neighbours from `word`; none
/// if even that is more than a third of the longer word's letters (at least two).
[[nodiscard]] std::optional<std::string_view> nearest_word(std::string_view word,
                                                           std::span<const std::string_view> known);

}  // namespace stallcast
