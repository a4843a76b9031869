/// The known word that a mistyped one most likely stands for.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace stallcast {

/// The word of `known` with the fewest insertions, deletions, replacements and swaps of neighbours from `word`; none
/// if even that is more than a third of the longer word's letters (at least two).
[[nodiscard]] std::optional<std::string_view> nearest_word(std::string_view word,
                                                           std::span<const std::string_view> known);

/// The words of `known` of which one part between underscores is as near to `word` as that: storage_bandwidth and
/// network_bandwidth for "bandwith". None for a word of fewer than four letters.
[[nodiscard]] std::vector<std::string_view> words_with_part(std::string_view word,
                                                            std::span<const std::string_view> known);

}  // namespace stallcast
