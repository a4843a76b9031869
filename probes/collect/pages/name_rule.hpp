/// How the path of a sample's file is made of what its data set says of it: constant text, and entries of tables or
/// parts of them.
///
/// It is found by reading the paths of some known samples from left to right, all at once: what comes next is either
/// a part of an entry that each of them goes on with, or a character that is the same in all.
///
/// Worked example. Sample 3, entry "84-121123-0007", has read "/data/84/121123/84-121123-0007.flac"; sample 9, entry
/// "61-70968-0021", "/data/61/70968/61-70968-0021.flac"; six more likewise. "/data/" is the same in all, then each
/// goes on with the first part of its entry, "/", its second part, "/", its entry, ".flac".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace stallcast::collect {

/// What is said of a sample.
struct SampleNames {
  std::int64_t index = 0;
  std::vector<const std::string*> entries{};  ///< by table; nullptr: none

  /// A sample whose tables say nothing.
  explicit SampleNames(std::int64_t of) : index(of) {}
};

/// A sample whose files are known: for itself, or as some of those of all samples that were made at once with it.
struct NamedSample {
  SampleNames names;
  const std::vector<std::string>* paths = nullptr;  ///< in order, each once; its own are among them
};

/// What of an entry.
enum class NameForm : std::uint8_t {
  whole,
  without_ending,       ///< "a/b/1.jpg": "a/b/1"
  tail,                 ///< its last `number` components; 2: "b/1.jpg"
  tail_without_ending,  ///< 2: "b/1"
  component,            ///< the one that is `number` components before the last; 1: "b"
  word,                 ///< number `number` of the last component without its ending, at '-', '_', '.' and ' '
  digits,               ///< of a whole number, with zeros before it: at least `number`
};

struct NamePiece {
  static constexpr std::uint32_t k_text = UINT32_MAX;       ///< `text`, the same in all
  static constexpr std::uint32_t k_index = UINT32_MAX - 1;  ///< the sample's index
  static constexpr std::uint32_t k_next = UINT32_MAX - 2;   ///< counted from one

  std::uint32_t table = k_text;
  NameForm form = NameForm::whole;
  std::uint32_t number = 0;
  std::string text{};
};

struct NameRule {
  std::vector<NamePiece> pieces{};
  /// Entries (by table) that all samples had which it was learned from, and which stand in its texts: one that has
  /// another entry there may be called otherwise.
  std::vector<std::pair<std::uint32_t, std::string>> same{};
};

/// The path that a rule gives a sample; absent where an entry that it is made of is missing or has no such part, or
/// where one is not the same as in all others.
[[nodiscard]] std::optional<std::string> path_by(const NameRule& rule, const SampleNames& sample);

/// The rule that gives the first sample `path`, and each other one of its paths; absent where none was found. A few of
/// the samples are read for it, all have to agree. `steps` is what the search may still take, and then has left.
[[nodiscard]] std::optional<NameRule> find_rule(const std::string& path, std::span<const NamedSample> samples,
                                                std::size_t& steps);

}  // namespace stallcast::collect
