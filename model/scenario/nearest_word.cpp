#include "model/scenario/nearest_word.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <vector>

#include "model/scenario/constants.hpp"

namespace stallcast {
namespace {

char folded(char letter) {
  if (letter == '-') return '_';
  return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
}

/// Optimal string alignment distance, upper and lower case and the two dashes taken as equal.
std::size_t distance(std::string_view a, std::string_view b) {
  const std::size_t columns = b.size() + 1;
  std::vector<std::size_t> rows(3 * columns);
  const auto row = [&](std::size_t i) { return rows.data() + (i % 3) * columns; };
  for (std::size_t j = 0; j < columns; ++j) row(0)[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row(i)[0] = i;
    for (std::size_t j = 1; j < columns; ++j) {
      const bool same = folded(a[i - 1]) == folded(b[j - 1]);
      row(i)[j] = std::min({row(i - 1)[j] + 1, row(i)[j - 1] + 1, row(i - 1)[j - 1] + (same ? 0U : 1U)});
      const bool swapped =
          i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) && folded(a[i - 2]) == folded(b[j - 1]);
      if (swapped) row(i)[j] = std::min(row(i)[j], row(i - 2)[j - 2] + 1);
    }
  }
  return row(a.size())[b.size()];
}

}  // namespace

std::optional<std::string_view> nearest_word(std::string_view word, std::span<const std::string_view> known) {
  if (word.size() > k_longest_guessed_word) return std::nullopt;
  std::optional<std::string_view> best;
  std::size_t fewest = 0;
  for (const std::string_view candidate : known) {
    const std::size_t edits = distance(word, candidate);
    const std::size_t most = std::max<std::size_t>(2, std::max(word.size(), candidate.size()) / 3);
    if (edits <= most && (!best || edits < fewest)) {
      best = candidate;
      fewest = edits;
    }
  }
  return best;
}

std::vector<std::string_view> words_with_part(std::string_view word, std::span<const std::string_view> known) {
  std::vector<std::string_view> found;
  if (word.size() < k_fewest_part_letters) return found;
  for (const std::string_view candidate : known) {
    for (std::string_view rest = candidate; !rest.empty();) {
      const std::string_view part = rest.substr(0, rest.find('_'));
      rest.remove_prefix(std::min(rest.size(), part.size() + 1));
      if (part.size() < k_fewest_part_letters || !nearest_word(word, std::span(&part, 1))) continue;
      found.push_back(candidate);
      break;
    }
  }
  return found;
}

}  // namespace stallcast
