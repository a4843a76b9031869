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

/// What installing a package wrote down of it: importlib.metadata reads a file or two of each.
bool is_metadata(std::string_view path) {
  return path.find(".dist-info/") != std::string_view::npos || path.find(".egg-info/") != std::string_view::npos;
}

/// Modules, and shared libraries with or without a version behind them.
bool is_import(std::string_view path) {
  constexpr std::array<std::string_view, 3> k_endings{".py", ".pyc", ".so"};
  const std::size_t end = path.find_last_not_of("0123456789.");
  const std::string_view name = path.substr(0, end == std::string_view::npos ? 0 : end + 1);
  return std::any_of(k_endings.begin(), k_endings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

/// What else Python's packages brought.
bool of_a_package(std::string_view path) {
  constexpr std::array<std::string_view, 2> k_folders{"/site-packages/", "/dist-packages/"};
  return !is_import(path) && std::any_of(k_folders.begin(), k_folders.end(), [&](std::string_view folder) {
    return path.find(folder) != std::string_view::npos;
  });
}

/// Takes out those of one kind, unless they are most of what was read.
void leave_out(bool (*is_kind)(std::string_view), std::map<std::uint64_t, FileRead>& files) {
  double all = 0.0;
  double kind = 0.0;
  for (const auto& [id, file] : files) {
    all += file.read_bytes;
    kind += is_kind(file.path->path) ? file.read_bytes : 0.0;
  }
  if (kind < k_imports_are_data * all)
    std::erase_if(files, [&](const auto& item) { return is_kind(item.second.path->path); });
}

/// When a process had made its first batches: what it imports it had imported then. UINT64_MAX if it made no more.
std::uint64_t begun_ns(const record::ProcessRecording& process) {
  if (process.batches.size() <= k_batches_that_import) return UINT64_MAX;
  std::vector<std::uint64_t> ends;
  for (const record::BatchRecord& batch : process.batches) ends.push_back(batch.end_ns);
  const auto last = ends.begin() + k_batches_that_import - 1;
  std::nth_element(ends.begin(), last, ends.end());
  return *last;
}

/// Whether modules are read while batches are made, and none after the first batches of each process: so they are
/// imports, and no source code that is the data, even where nothing else is read (through maps, nothing is).
bool only_imported(const RunData& run, const std::map<std::uint64_t, FileRead>& files) {
  double early = 0.0;
  double later = 0.0;
  for (const record::ProcessRecording& process : run.processes) {
    const std::uint64_t begun = begun_ns(process);
    if (begun == UINT64_MAX) continue;
    for (const record::FileRecord& file : process.files) {
      const auto known = files.find(file.file_id);
      if (known == files.end() || !is_import(known->second.path->path)) continue;
      (file.begin_ns > begun ? later : early) += static_cast<double>(file.read_bytes);
    }
  }
  return early > 0.0 && later < k_imported_later * (early + later);
}

}  // namespace

std::map<std::uint64_t, FileRead> files_read(const RunData& run) {
  std::map<std::uint64_t, double> bytes;
  for (const record::ProcessRecording& process : run.processes) {
    for (const record::FileRecord& file : process.files) {
      if (file.read_bytes > 0) bytes[file.file_id] += static_cast<double>(file.read_bytes);
    }
  }
  std::map<std::uint64_t, FileRead> files;
  for (const record::ProcessRecording& process : run.processes) {
    for (const record::PathEntry& path : process.paths) {
      const auto read = bytes.find(path.file_id);
      if (read == bytes.end() || of_the_system(path.path) || is_metadata(path.path)) continue;
      const auto [known, is_new] = files.try_emplace(path.file_id, FileRead{&path, read->second});
      if (!is_new && known->second.path->size_bytes == UINT64_MAX) known->second.path = &path;
    }
  }
  if (only_imported(run, files))
    std::erase_if(files, [](const auto& item) { return is_import(item.second.path->path); });
  leave_out(is_import, files);
  leave_out(of_a_package, files);
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
