/// A short look at what the data set's storage can do, once the job has ended.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "analyzer/load/run_data.hpp"
#include "analyzer/profile/profile.hpp"
#include "core/quantity.hpp"
#include "probes/collect/pages/populated_pages.hpp"

namespace stallcast::cli {

/// What the probe may spend, and what it may drop from memory.
struct StorageProbeSettings {
  Seconds budget{0.0};
  std::string evict = "own";           ///< pages that may be dropped: own (those of the run and the probe) or all
  const collect::PopulatedPages& own;  ///< of the run
};

/// Reads some of the files below `profile.dataset.folder` that the run (its `launches`) has read, keeps what was seen
/// beside `recordings`, and puts it into `profile.storage`. Where it cannot be done, the profile gets a data issue that
/// says why: the rest of it is no worse for that.
void probe_storage_of(Profile& profile, std::span<const RunData> launches, const std::filesystem::path& recordings,
                      const StorageProbeSettings& settings);

}  // namespace stallcast::cli
