/// A short look at what the data set's storage can do, once the job has ended.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "analyzer/profile.hpp"
#include "analyzer/run_data.hpp"
#include "core/quantity.hpp"

namespace stallcast::cli {

/// Reads some of the files below `profile.dataset.folder` that the run (its `launches`) has read, for about `budget`,
/// keeps what was seen beside `recordings`, and puts it into `profile.storage`. `evict`: pages that may be dropped, own
/// or all; where cold blocks met none but the run's own, those of other files that it has read count as its own too.
/// Where it cannot be done, the profile gets a data issue that says why: the rest of it is no worse for that.
void probe_storage_of(Profile& profile, std::span<const RunData> launches, const std::filesystem::path& recordings,
                      Seconds budget, const std::string& evict);

}  // namespace stallcast::cli
