/// Which files of the data set lie on disks that an emulation by the kernel limits.
#pragma once

#include "analyzer/load/run_data.hpp"
#include "analyzer/profile/profile.hpp"

namespace stallcast::sections {

/// Which of the data set's files lie on disks that the kernel limits, where it was to limit any.
void check_limited_files(const RunData& run, Profile& profile);

}  // namespace stallcast::sections
