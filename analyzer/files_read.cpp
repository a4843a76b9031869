#include "analyzer/files_read.hpp"

#include <set>

namespace stallcast {

std::map<std::uint64_t, const record::PathEntry*> files_read(const RunData& run) {
  std::set<std::uint64_t> read;
  for (const record::ProcessRecording& process : run.processes) {
    for (const record::FileRecord& file : process.files) {
      if (file.read_bytes > 0) read.insert(file.file_id);
    }
  }
  std::map<std::uint64_t, const record::PathEntry*> paths;
  for (const record::ProcessRecording& process : run.processes) {
    for (const record::PathEntry& path : process.paths) {
      if (read.contains(path.file_id)) paths[path.file_id] = &path;
    }
  }
  return paths;
}

std::vector<std::string> paths_read(std::span<const RunData> launches) {
  std::set<std::string> paths;
  for (const RunData& run : launches) {
    for (const auto& [id, path] : files_read(run)) paths.insert(path->path);
  }
  return {paths.begin(), paths.end()};
}

}  // namespace stallcast
