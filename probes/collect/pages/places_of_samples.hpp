/// Where samples lie in the files that they share (HDF5, zip, a binary file with an index), learned from samples whose
/// places are known: what has to be in memory for samples that nobody has read yet.
///
/// Such files are mostly written in the order of the samples' indices. Where the known ones lie in that order, each of
/// the others lies between its neighbours: as far along as its index is, by so much more or less as the known ones are
/// off that line. Where there is no order, a sample may lie anywhere in them. Nothing is opened, and nothing of the
/// user's runs: a wrong guess would show as bytes that are not resident, in the premise of the block.
///
/// Worked example. Samples 10 and 14 are known to lie at bytes 1,000 to 1,100 and 1,400 to 1,500 of "train.h5". Sample
/// 11 then is expected at 1,100 to 1,200. The known ones were up to 20 bytes off where their own neighbours had them,
/// so bytes 1,080 to 1,220 are held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "probes/collect/pages/files_of_samples.hpp"

namespace stallcast::collect {

class PlacesOfSamples {
 public:
  /// Finds where the samples of `known` lie in the files that they share. False, and nothing is known, where fewer than
  /// 32 samples read parts of such files.
  bool learn(const FilesOfSamples& known);

  /// Whether samples read parts of files that others read, too; as learn() found it.
  [[nodiscard]] bool are_needed() const { return needed_; }

  /// Where sample `index` will be found, each byte once; absent without a rule. What several samples read of these
  /// files beside their own parts (an index, a directory) is `common()`.
  [[nodiscard]] std::optional<std::vector<FileStretch>> parts_of(std::int64_t index) const;
  [[nodiscard]] const std::vector<FileStretch>& common() const { return common_; }

  /// Bytes of a known sample's own parts, in the mean.
  [[nodiscard]] double bytes_of_sample() const { return bytes_of_sample_; }

 private:
  struct Place {
    std::int64_t index = 0;
    std::uint32_t file = 0;  ///< of files_
    double begin = 0.0;      ///< bytes
    double end = 0.0;
  };
  /// One part of each sample.
  struct Series {
    std::vector<Place> places{};  ///< by index
    bool in_order = false;
    double off_bytes = 0.0;     ///< that known ones lie beside where their neighbours have them
    double stride_bytes = 0.0;  ///< from one index to the next
  };

  void add(const Series& series, std::int64_t index, std::vector<FileStretch>& parts) const;
  void add_part(std::uint32_t file, double begin, double end, std::vector<FileStretch>& parts) const;
  static void fit(Series& series);
  static Place between(const Place& before, const Place& after, std::int64_t index);

  std::vector<FileStretch> files_{};  ///< as wholes
  std::vector<Series> series_{};
  std::vector<FileStretch> common_{};
  double bytes_of_sample_ = 0.0;
  bool needed_ = false;
};

}  // namespace stallcast::collect
