/// A random sample of the files below a path, bounded in time and memory however many there are.
///
/// Worked example. Of 1.3 million files in 1000 folders, `most_files` = 4096 are kept by reservoir sampling: the i-th
/// file seen replaces a kept one with probability 4096/i, so that each file is kept with the same probability. Folders
/// are walked in random order; if the time is up after 300 of them, the sample is a fair one of those 300, and
/// `facts.complete` is false. (Vitter, "Random sampling with a reservoir", 1985, algorithm R.)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "core/result.hpp"
#include "probes/record/storage_recording.hpp"

namespace stallcast::collect {

struct SampleOptions {
  std::vector<std::string> files{};  ///< sampled instead of those below the path, where there are any
  std::uint64_t seed = 1;
  std::size_t most_files = 4096;       ///< kept
  std::size_t most_folders = 100'000;  ///< walked
  Seconds most_time{2.0};              ///< for the walk; as much again for the first stats
};

/// A regular file, not empty.
struct SampledFile {
  std::string path{};
  std::uint64_t bytes = 0;
  std::uint64_t device = 0;
};

struct FileSample {
  std::vector<SampledFile> files{};  ///< in random order
  record::StorageFiles facts{};
};

/// Walks `path` (a folder or a file), follows links once, opens nothing but folders: pipes, sockets and devices are
/// counted and left alone. bad_input if there is no such path or it is neither file nor folder; not_enough_data if no
/// file with content can be found in it.
[[nodiscard]] Result<FileSample> sample_files(const std::string& path, const SampleOptions& options);

/// Whether `path` itself lies below `root` (resolved), and no link leads out of it.
[[nodiscard]] bool lies_inside(const std::string& path, const std::string& root);

}  // namespace stallcast::collect
