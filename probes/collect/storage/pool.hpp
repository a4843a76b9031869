/// What a storage probe may read, by what was in memory when it came: the cache is left as it was found, but for what
/// the run that it follows had brought there.
///
/// Worked example. Of 4096 sampled photos 900 were (partly) in memory. The other 3196 serve for cold reads: what a
/// window has brought into memory is dropped after it, so that they can serve again, and nothing is dropped that
/// somebody else had read. Of shards of gigabytes, random stretches of 8 MiB take the place of files.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "probes/collect/pages/populated_pages.hpp"
#include "probes/collect/storage/files.hpp"
#include "probes/collect/storage/reader.hpp"

namespace stallcast::collect {

/// Which pages may be dropped to make cold reads.
enum class StorageEvict {
  own,  ///< those that the probe itself brought in: files in memory are not used cold
  all,  ///< those of every sampled file below the path
};

/// A file of at most 16 MiB, or a stretch of 8 MiB of a larger one.
struct Stretch {
  std::uint32_t file = 0;  ///< place in the pool's files
  FileRange range{};
  bool whole = false;
  bool may_drop = false;  ///< nobody else's pages are in it
  bool resident = false;  ///< some of it was in memory as found (known only)
};

/// Open files with their stretches. Holds at most 512 descriptors.
class StoragePool {
 public:
  /// Opens and looks at the sampled files, timing the first open of each, until `deadline_ns` (at least one file).
  /// `own`: pages of files that may be dropped besides those that `evict` names.
  StoragePool(const FileSample& sample, StorageEvict evict, const PopulatedPages& own, std::uint64_t seed,
              std::uint64_t deadline_ns);
  ~StoragePool();
  StoragePool(const StoragePool&) = delete;
  StoragePool& operator=(const StoragePool&) = delete;

  /// Why there are no cold reads; empty if there are.
  [[nodiscard]] const std::string& no_cold_reason() const { return no_cold_; }
  /// Cold reads go past the page cache: nobody here may ask what is in it.
  [[nodiscard]] bool direct() const { return direct_; }
  [[nodiscard]] std::int64_t unreadable() const { return unreadable_; }
  [[nodiscard]] std::int64_t opened() const { return static_cast<std::int64_t>(files_.size()); }
  [[nodiscard]] const std::string& unreadable_reason() const { return unreadable_reason_; }
  [[nodiscard]] const std::vector<double>& open_s() const { return open_s_; }
  /// Share of the bytes in memory as found; -1 if nobody may ask.
  [[nodiscard]] double resident_share() const;
  [[nodiscard]] double cold_bytes() const;

  /// Tasks of one kind in a new random order; empty if the files have none. Resident ones of at most 32 MiB together.
  [[nodiscard]] std::vector<ReadTask> tasks(record::StorageRead read, record::StorageState state);

  /// Looks at up to 64 of the first `count` tasks. Nothing is said where nobody may ask.
  void check(const std::vector<ReadTask>& tasks, std::size_t count, record::StorageEvidence& evidence) const;

  /// Drops what the first `count` cold tasks have brought in.
  void drop(const std::vector<ReadTask>& tasks, std::size_t count) const;

  /// Leaves only those resident tasks that are in memory now. Returns how many files or stretches that are.
  std::size_t keep_resident();

  /// Drops what the resident tasks have brought in; what was in memory before them stays.
  void drop_resident() const;

 private:
  struct File {
    std::string path{};
    int held = -1;         ///< descriptor for blocks
    int held_direct = -1;  ///< the same past the page cache
    bool may_drop = false;
  };
  /// An open file that is being looked at.
  struct Looked {
    int descriptor;
    const struct stat& facts;
    bool may_drop;  ///< all of it
  };
  void look_at(const Looked& file, const std::string& path, std::size_t stretches);
  void add_stretch(const Looked& file, Stretch stretch);
  void decide_cold(bool memory_only);
  bool open_direct();
  void add_blocks(std::vector<ReadTask>& tasks, const Stretch& stretch, record::StorageRead read, bool direct) const;
  [[nodiscard]] std::vector<const Stretch*> stretches_for(record::StorageState state);

  StorageEvict evict_;
  const PopulatedPages& own_;
  std::mt19937_64 random_;
  std::vector<File> files_{};
  std::vector<Stretch> stretches_{};
  std::vector<double> open_s_{};
  std::vector<const Stretch*> resident_{};    ///< chosen once
  std::vector<const Stretch*> brought_in_{};  ///< to be dropped at the end
  std::string no_cold_{};
  std::string unreadable_reason_{};
  std::int64_t unreadable_ = 0;
  std::int64_t pages_ = 0;
  std::int64_t resident_pages_ = 0;
  bool known_ = false;
  bool direct_ = false;
};

}  // namespace stallcast::collect
