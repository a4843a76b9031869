/// What a run left in the page cache that nobody else had there: what of it the tool may drop once the job has ended.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <unordered_set>

#include "probes/collect/pages/page_residency.hpp"

namespace stallcast::collect {

/// The keys of record/populated_pages.hpp, of one run or of several.
class PopulatedPages {
 public:
  PopulatedPages() = default;

  /// As the processes of the run left them in its folder; empty where they left none (a passive run has no such set).
  static PopulatedPages load(const std::filesystem::path& run_folder);

  /// Adds those of another run.
  void add(const PopulatedPages& other) { keys_.insert(other.keys_.begin(), other.keys_.end()); }

  [[nodiscard]] bool empty() const { return keys_.empty(); }

  /// Whether a process of the run found this range of the file absent before it read it: the file as a whole, or each
  /// chunk that the range touches.
  [[nodiscard]] bool hold(const struct stat& file, const FileRange& range) const;

 private:
  std::unordered_set<std::uint64_t> keys_{};
};

}  // namespace stallcast::collect
