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
      if (read != bytes.end() && !of_the_system(path.path)) files[path.file_id] = {&path, read->second};
    }
  }
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
