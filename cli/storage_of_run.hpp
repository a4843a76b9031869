/// A short look at what the data set's storage can do, once the job has ended.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/profile.hpp"
#include "core/quantity.hpp"

namespace stallcast::cli {

/// Reads some of `files` below `profile.dataset.folder`, which the run has read, for about `budget`, keeps what was
/// seen beside `recordings`, and puts it into `profile.storage`. `evict`: pages that may be dropped, own or all; those
/// of a run that found none of its files in memory are its own. Where it cannot be done, the profile gets a data issue
/// that says why: the rest of it is no worse for that.
void probe_storage_of(Profile& profile, const std::vector<std::string>& files, const std::filesystem::path& recordings,
                      Seconds budget, const std::string& evict);

}  // namespace stallcast::cli
