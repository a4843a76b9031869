/// A profile without what tells who ran what and where, to be passed on.
///
/// Removed: arguments of the command, names of hosts, paths of files and folders, addresses of remote data; also where
/// they stand in the texts of issues, reasons and premises. Kept: all numbers, class names of the data set and of
/// transforms, versions, and the paths of the kernel's own file systems (/proc, /sys, /dev), which are the same
/// everywhere.
///
///     "3 files of /home/ann/cats/train could not be opened"  ->  "3 files of (path) could not be opened"
#pragma once

#include "analyzer/profile/profile.hpp"
#include "core/result.hpp"

namespace stallcast {

/// Errors (internal): the result is no valid profile.
[[nodiscard]] Result<Profile> redacted(const Profile& profile);

}  // namespace stallcast
