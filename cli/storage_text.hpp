/// What storage can do, as a terminal shows it.
#pragma once

#include <string>

#include "analyzer/storage/probe_result.hpp"

namespace stallcast::cli {

/// The files, a table of the points, the fit, and what was wrong: at most 80 columns.
[[nodiscard]] std::string storage_text(const StorageProfile& profile, bool color);

}  // namespace stallcast::cli
