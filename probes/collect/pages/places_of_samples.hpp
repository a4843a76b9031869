/// Where samples lie in the files that they share (HDF5, zip, a binary file with an index), learned from samples whose
/// places are known: what has to be in memory for samples that nobody has read yet.
///
/// Whoever reads such a file himself mostly holds a table of places, and of sizes: the ranks tell entries of tables of
/// numbers, and one that gives the places of known samples, but for a constant, gives those of others. Else: such files
/// are mostly written in the order of the samples' indices. Where the known ones lie in that order, each of the others
/// lies between its neighbours, as far along as its index is, by so much more or less as the known ones are off that
/// line. Without an order, a sample may lie anywhere in them. Nothing is opened, and nothing of the user's runs: a
/// wrong guess would show as bytes that are not resident, in the premise of the block.
///
/// Worked example. Samples 10 and 14 are known to lie at bytes 1,000 to 1,100 and 1,400 to 1,500 of "train.h5". Sample
/// 11 then is expected at 1,100 to 1,200. The known ones were up to 20 bytes off where their own neighbours had them,
/// so bytes 1,080 to 1,220 are held. If table 2 has 990 and 1,390 for samples 10 and 14, and 1,095 for 11, then that
/// one lies at 1,105.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "probes/collect/pages/files_of_samples.hpp"

namespace stallcast::collect {

class PlacesOfSamples {
 public:
  /// An entry of a rank's table of numbers `table`. What is beyond the bounds of memory is dropped.
  void take(std::uint32_t table, std::int64_t index, std::int64_t entry);

  /// What one known sample read of the files that it shares.
  struct KnownSample {
    std::int64_t index = 0;
    std::vector<FileStretch> parts{};  ///< by path and offset
  };

  /// Finds where the samples of `known` lie in the files that they share. False, and no rule, where fewer than 32
  /// samples read parts of such files, or these have no parts of their own, or too many.
  bool learn(const FilesOfSamples& known);

  /// Whether more than a few samples read parts of files that others read, too; as learn() found it.
  [[nodiscard]] bool are_needed() const { return needed_; }

  /// Where sample `index` will be found; absent without a rule, or without an order. What samples read of these files
  /// beside their own parts (an index, a directory) is `common()`.
  [[nodiscard]] std::optional<std::vector<FileStretch>> parts_of(std::int64_t index) const;
  [[nodiscard]] const std::vector<FileStretch>& common() const { return common_; }

  /// All that any sample may be found in: the files that known ones share, each byte once.
  [[nodiscard]] std::vector<FileStretch> all_parts() const;

  /// Bytes of a known sample's own parts, in the mean; 0 without a rule.
  [[nodiscard]] double bytes_of_sample() const { return bytes_of_sample_; }

 private:
  struct Place {
    std::int64_t index = 0;
    std::uint32_t file = 0;  ///< of files_
    double begin = 0.0;      ///< bytes
    double end = 0.0;
  };
  using Table = std::unordered_map<std::int64_t, std::int64_t>;
  /// What a table says of samples, and how well.
  struct Rule {
    std::optional<std::size_t> table{};
    double shift_bytes = 0.0;  ///< to be added
    double off_bytes = 0.0;    ///< that known ones are off what it says then
  };
  /// One part of each sample.
  struct Series {
    std::vector<Place> places{};  ///< by index
    bool by_file = false;         ///< neighbours lie in one file
    bool in_order = false;
    double off_bytes = 0.0;     ///< that known ones lie beside where their neighbours have them
    double stride_bytes = 0.0;  ///< from one index to the next
    Rule begin{};
    Rule size{};
    double largest_bytes = 0.0;
  };

  void take_places(const std::vector<KnownSample>& samples, std::size_t own);
  void add(const Series& series, std::int64_t index, std::vector<FileStretch>& parts) const;
  void add_part(std::uint32_t file, double begin, double end, std::vector<FileStretch>& parts) const;
  [[nodiscard]] std::vector<std::int64_t> known_indices(const FilesOfSamples& known) const;
  bool add_by_table(const Series& series, std::int64_t index, std::vector<FileStretch>& parts) const;
  static void fit(Series& series);
  void fit_tables(Series& series) const;
  static Place between(const Place& before, const Place& after, std::int64_t index);

  std::vector<Table> tables_{};
  std::size_t entries_ = 0;
  std::vector<FileStretch> files_{};  ///< as wholes
  std::vector<Series> series_{};
  std::vector<FileStretch> common_{};
  double bytes_of_sample_ = 0.0;
  bool needed_ = false;
};

}  // namespace stallcast::collect
