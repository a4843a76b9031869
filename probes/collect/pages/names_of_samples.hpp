/// How the files of samples are called, learned from samples whose files are known: what has to be in memory for
/// samples that nobody has read yet.
///
/// Data sets mostly hold a table of names (paths, or what paths are made of), one a sample. The ranks tell entries of
/// such tables; where a rule makes of them exactly the files that known samples were seen reading (name_rule.hpp), it
/// gives those of others, too. Nothing is opened, and nothing of the user's runs: a wrong guess would show as bytes
/// that are not resident, in the premise of the block.
///
/// Worked example. Sample 4 is known to have read "/data/train/a/0007.jpg", its entry in table 0 is "a/0007": before it
/// stands "/data/train/", behind it ".jpg". Samples 9, 2, ... are found to be called likewise: sample 70, entry
/// "b/0031", will read "/data/train/b/0031.jpg".
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "probes/collect/pages/files_of_samples.hpp"
#include "probes/collect/pages/name_rule.hpp"

namespace stallcast::collect {

class NamesOfSamples {
 public:
  /// An entry of a rank's table number `table`. What is beyond the bounds of memory is dropped.
  void take(std::uint32_t table, std::int64_t index, std::string entry);

  /// The samples of a batch that a rank has been given: what they read may be known by now.
  void take_given(const std::vector<std::int64_t>& indices);

  /// Finds the rule that gives the files that the samples that were given, and that `known` knows, have for themselves;
  /// of those that were made at once, the files that they have together. A few of these batches are left out that have
  /// not as many files a sample as the others. False, and no rule, where these samples are fewer than eight or all of
  /// one batch, or no rule holds for all that have such files.
  bool learn(const FilesOfSamples& known);

  /// Whether samples have files for themselves; as learn() found it, true where too few are known to tell.
  [[nodiscard]] bool are_needed() const { return needed_; }

  /// The paths of the files of sample `index`; absent without a rule, or without its entry.
  [[nodiscard]] std::optional<std::vector<std::string>> paths_of(std::int64_t index) const;

 private:
  using Table = std::unordered_map<std::int64_t, std::string>;

  [[nodiscard]] SampleNames names_of(std::int64_t index) const;

  std::vector<Table> tables_{};
  std::set<std::int64_t> given_{};
  std::map<std::int64_t, std::vector<std::int64_t>> batches_{};  ///< that were given, by their AtOnceIndex
  std::size_t bytes_ = 0;
  std::vector<NameRule> rules_{};  ///< one a file of each sample
  bool needed_ = false;
};

}  // namespace stallcast::collect
