/// The files that the samples of a run have read.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analyzer/run_data.hpp"

namespace stallcast {

/// By file id; not the interpreter's modules, which no sample read. Files whose path was not recorded are not there.
[[nodiscard]] std::map<std::uint64_t, const record::PathEntry*> files_read(const RunData& run);

/// Their paths, over all launches, each once.
[[nodiscard]] std::vector<std::string> paths_read(std::span<const RunData> launches);

}  // namespace stallcast
