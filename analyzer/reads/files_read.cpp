#include "analyzer/reads/files_read.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "analyzer/reads/constants.hpp"

namespace stallcast {
namespace {

/// What the system's packages brought.
bool of_the_system(std::string_view path) {
  constexpr std::array<std::string_view, 7> k_folders{
      "/etc/", "/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/share/zoneinfo/", "/usr/share/locale/"};
  return std::any_of(k_folders.begin(), k_folders.end(),
                     [&](std::string_view folder) { return path.starts_with(folder); });
}

/// Modules, and shared libraries with or without a version behind them.
bool is_import(std::string_view path) {
  constexpr std::array<std::string_view, 3> k_endings{".py", ".pyc", ".so"};
  const std::size_t end = path.find_last_not_of("0123456789.");
  const std::string_view name = path.substr(0, end == std::string_view::npos ? 0 : end + 1);
  return std::any_of(k_endings.begin(), k_endings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

/// What else Python's packages brought: importlib.metadata reads a file or two of each of them.
bool of_a_package(std::string_view path) {
  constexpr std::array<std::string_view, 3> k_folders{"/site-packages/", "/dist-packages/", ".dist-info/"};
  return !is_import(path) && std::any_of(k_folders.begin(), k_folders.end(), [&](std::string_view folder) {
    return path.find(folder) != std::string_view::npos;
  });
}

/// When a process has made its first batches: what it imports it has imported then. UINT64_MAX where it made no more.
std::uint64_t begun_ns(const record::ProcessRecording& process) {
  if (process.batches.size() <= k_batches_that_import) return UINT64_MAX;
  std::vector<std::uint64_t> ends;
  for (const record::BatchRecord& batch : process.batches) ends.push_back(batch.end_ns);
  const auto last = ends.begin() + k_batches_that_import - 1;
  std::nth_element(ends.begin(), last, ends.end());
  return *last;
}

struct Read {
  double bytes = 0.0;
  double later_bytes = 0.0;  ///< after the first batches of the process
};

/// Takes out those of one kind, unless they are most of what was read, all along. Where data are read through maps,
/// what was imported is all that was read, and nobody reads it again.
void leave_out(bool (*is_kind)(std::string_view), const std::map<std::uint64_t, Read>& reads,
               std::map<std::uint64_t, FileRead>& files) {
  Read all;
  Read kind;
  for (const auto& [id, file] : files) {
    const Read& read = reads.at(id);
    for (Read* sum : {&all, is_kind(file.path->path) ? &kind : nullptr}) {
      if (sum == nullptr) continue;
      sum->bytes += read.bytes;
      sum->later_bytes += read.later_bytes;
    }
  }
  if (kind.bytes < k_imports_are_data * all.bytes || kind.later_bytes < k_imported_later * kind.bytes)
    std::erase_if(files, [&](const auto& item) { return is_kind(item.second.path->path); });
}

}  // namespace

std::map<std::uint64_t, FileRead> files_read(const RunData& run) {
  std::map<std::uint64_t, Read> reads;
  for (const record::ProcessRecording& process : run.processes) {
    const std::uint64_t begun = begun_ns(process);
    for (const record::FileRecord& file : process.files) {
      if (file.read_bytes == 0) continue;
      Read& read = reads[file.file_id];
      read.bytes += static_cast<double>(file.read_bytes);
      // Of a process that made a few batches alone nobody can tell: all that it read counts as read all along.
      if (begun == UINT64_MAX || file.begin_ns > begun) read.later_bytes += static_cast<double>(file.read_bytes);
    }
  }
  std::map<std::uint64_t, FileRead> files;
  for (const record::ProcessRecording& process : run.processes) {
    for (const record::PathEntry& path : process.paths) {
      const auto read = reads.find(path.file_id);
      if (read != reads.end() && !of_the_system(path.path)) files[path.file_id] = {&path, read->second.bytes};
    }
  }
  leave_out(is_import, reads, files);
  leave_out(of_a_package, reads, files);
  return files;
}

std::vector<std::string> paths_read(std::span<const RunData> launches) {
  std::set<std::string> paths;
  for (const RunData& run : launches) {
    for (const auto& [id, file] : files_read(run)) paths.insert(file.path->path);
  }
  return {paths.begin(), paths.end()};
}

}  // namespace stallcast
