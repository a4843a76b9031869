/// Which files and ranges each sample reads, as the job's recordings told (TouchedRecord): from it follows what has to
/// be in memory for the batches that come next.
///
/// What was read by one call for several samples stands under their record::AtOnceIndex: of each of them alone nothing
/// is known.
///
/// Memory is bounded: of what comes when it is used up nothing is known, and find() says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "probes/collect/pages/recording_follower.hpp"

namespace stallcast::collect {

/// Part of a data file.
struct FileStretch {
  std::string path{};  ///< absolute
  std::uint64_t file_id = 0;
  std::uint64_t size_bytes = UINT64_MAX;  ///< of the file, when it was opened; UINT64_MAX: not known
  std::uint64_t offset = 0;
  std::uint64_t bytes = UINT64_MAX;  ///< UINT64_MAX: to the end, opened and read as a whole
  bool is_mapped = false;            ///< the job reads it page by page, and must not wait behind large reads

  [[nodiscard]] bool is_whole() const { return bytes == UINT64_MAX; }
};

/// What some samples read.
struct FoundFiles {
  std::vector<FileStretch> parts{};  ///< each byte once, by file and offset
  std::int64_t unknown_samples = 0;  ///< of which nothing is known
  std::int64_t unnamed_parts = 0;    ///< whose file has no path, or several (the same relative name in two folders)
};

/// A file that samples read.
struct DataFile {
  std::string path{};
  std::uint64_t size_bytes = UINT64_MAX;  ///< UINT64_MAX: not known
};

/// What one sample read: files for itself alone, and its parts of files that others lie in, too.
struct SampleFiles {
  std::vector<std::string> own{};     ///< paths
  std::vector<FileStretch> shared{};  ///< each byte once, by file and offset
  std::int64_t unnamed_parts = 0;     ///< likewise
};

class FilesOfSamples {
 public:
  explicit FilesOfSamples(std::uint64_t limit_bytes = 256ULL << 20U);

  void take(const Followed& followed);

  [[nodiscard]] bool knows(std::int64_t index) const { return first_.contains(index); }
  [[nodiscard]] std::size_t samples() const { return first_.size(); }

  /// True once something found no room.
  [[nodiscard]] bool is_full() const { return full_; }

  /// What the samples with these indices read.
  [[nodiscard]] FoundFiles find(std::span<const std::int64_t> indices) const;

  /// What one of them reads, told apart: a file is its own that it reads as a whole, as not most of the others do. One
  /// of which it reads a part is, where most such files have one reader.
  [[nodiscard]] SampleFiles files_of(std::int64_t index) const;

  /// Whether samples read parts of files that are theirs alone.
  [[nodiscard]] bool are_films() const { return 2 * shared_in_parts_ < files_in_parts_; }

  /// Indices of samples that were made alone, `most` of them at the most, in no order.
  [[nodiscard]] std::vector<std::int64_t> indices(std::size_t most) const;

  /// All files that samples have read so far.
  [[nodiscard]] std::vector<DataFile> data_files() const;

  /// Their number, and their sizes as far as these are known, summed.
  [[nodiscard]] std::size_t data_file_count() const { return data_files_; }
  [[nodiscard]] std::uint64_t data_bytes() const { return data_bytes_; }

 private:
  static constexpr std::uint32_t k_none = UINT32_MAX;
  struct File {
    std::uint64_t id = 0;
    std::uint64_t size_bytes = UINT64_MAX;
    std::uint32_t samples = 0;      ///< that read of it
    std::uint64_t name = 0;         ///< where its last component begins in names_
    std::uint32_t folder = k_none;  ///< of folders_; k_none: no path yet
    std::uint32_t name_bytes : 29 = 0;
    std::uint32_t ambiguous : 1 = 0;  ///< two paths claim this id
    std::uint32_t touched : 1 = 0;
    std::uint32_t in_parts : 1 = 0;  ///< a sample has read a part of it
  };
  /// One part of one sample's, and where the sample's next one stands.
  struct Part {
    std::uint64_t offset;
    std::uint64_t bytes;
    std::uint32_t file;
    std::uint32_t next;
  };

  File* file_of(std::uint64_t id);
  void take_path(const record::PathEntry& path);
  void take_touched(const record::TouchedRecord& touched);
  void mark_touched(File& file);
  void count_reader(File& file, bool reads_part, bool is_new);
  [[nodiscard]] std::string path_of(const File& file) const;
  [[nodiscard]] bool has_room(std::uint64_t bytes);

  std::uint64_t limit_bytes_;
  std::uint64_t used_bytes_ = 0;
  bool full_ = false;
  std::uint64_t at_once_bytes_ = 0;  ///< of used_bytes_, for calls for several samples
  std::size_t data_files_ = 0;
  std::uint64_t data_bytes_ = 0;
  std::size_t files_in_parts_ = 0;
  std::size_t shared_in_parts_ = 0;  ///< of these, files that several samples read
  std::vector<File> files_{};
  std::unordered_map<std::uint64_t, std::uint32_t> by_id_{};
  std::vector<std::string> folders_{};
  std::unordered_map<std::string, std::uint32_t> by_folder_{};
  std::string names_{};
  std::unordered_map<std::int64_t, std::uint32_t> first_{};  ///< of a sample: its first part
  std::vector<Part> parts_{};
};

/// Sorts parts by file and offset, and joins them so that each byte is there once.
void merge_parts(std::vector<FileStretch>& parts);

/// Of these parts those that are cached in a half-cached block with this seed (record::is_cold_half). Parts of files
/// that are not read as a whole are chosen chunk by chunk, for which the file itself is asked (stat).
[[nodiscard]] std::vector<FileStretch> cached_half(const std::vector<FileStretch>& parts, std::uint32_t seed);

}  // namespace stallcast::collect
