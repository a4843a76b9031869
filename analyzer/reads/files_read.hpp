/// The files that the samples of a run have read.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analyzer/load/run_data.hpp"

namespace stallcast {

struct FileRead {
  const record::PathEntry* path = nullptr;
  double read_bytes = 0.0;  ///< that samples read of it, over all processes
};

/// By file id; not what belongs to programs, which a sample reads by importing late: what lies in the system's own
/// folders or tells of installed packages, and modules and shared libraries anywhere, unless most of the bytes come
/// from these and are read all along (source code can be data), and what else lies in Python's packages, unless most
/// do. Files whose path was not recorded are not there.
[[nodiscard]] std::map<std::uint64_t, FileRead> files_read(const RunData& run);

/// Their paths, over all launches, each once.
[[nodiscard]] std::vector<std::string> paths_read(std::span<const RunData> launches);

}  // namespace stallcast
