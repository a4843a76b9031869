#include "probes/collect/launch/output_folder.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "probes/collect/launch/constants.hpp"
#include "probes/record/cpu_recording.hpp"
#include "probes/record/gpu_file.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;

Error cannot(const char* what, const fs::path& path, int reason, const char* hint) {
  return {ErrorCode::environment, fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(reason)), hint};
}

const char* const k_choose_hint = "choose a folder that you may write to with -o DIR";

/// A folder that cannot take a file must be found before the job runs for hours, so a file is really written.
Status check_writable(const fs::path& folder) {
  const fs::path probe = folder / fmt::format(".stallcast-probe-{}", getpid());
  const int file = open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return cannot("write to", folder, errno, k_choose_hint);
  const bool written = write(file, "stallcast\n", 10) == 10;
  const int reason = errno;
  close(file);
  unlink(probe.c_str());
  return written ? Status()
                 : cannot("write to", folder, reason, "free some space, or choose another folder with -o DIR");
}

Status create_folder(const fs::path& path) {
  std::error_code failed;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), failed);
  if (failed) return cannot("create", path.parent_path(), failed.value(), k_choose_hint);
  return mkdir(path.c_str(), 0700) == 0 ? Status() : Status(cannot("create", path, errno, k_choose_hint));
}

Result<OutputFolder> default_folder() {
  for (int number = 1; number <= k_most_default_folders; ++number) {
    const std::string name = number == 1 ? "stallcast-profile" : fmt::format("stallcast-profile-{}", number);
    if (mkdir(name.c_str(), 0700) == 0) return OutputFolder{name, true};
    if (errno != EEXIST) return cannot("create", name, errno, k_choose_hint);
  }
  return Error{ErrorCode::usage, "every default output folder name is taken here", "choose one with -o DIR"};
}

bool is_ours(const fs::directory_entry& entry) {
  std::error_code ignored;
  return entry.symlink_status(ignored).type() == fs::file_type::regular &&
         (entry.path().extension() == ".rec" || entry.path().filename() == k_tool_log_file ||
          entry.path().filename() == record::k_cpu_file || record::is_gpu_file(entry.path().filename().string()));
}

Result<std::vector<fs::path>> our_files(const fs::path& folder) {
  std::error_code failed;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    if (is_ours(*entry)) files.push_back(entry->path());
  }
  if (failed) return cannot("read", folder, failed.value(), "");
  return files;
}

/// A real folder of ours with none of our earlier files in it.
Result<fs::path> fresh_folder(const fs::path& folder) {
  if (mkdir(folder.c_str(), 0700) == 0) return folder;
  if (errno != EEXIST) return cannot("create", folder, errno, k_choose_hint);
  struct stat info {};
  if (lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return Error{ErrorCode::usage, fmt::format("{} is not a folder", folder.string()), k_choose_hint};
  }
  chmod(folder.c_str(), 0700);
  const auto earlier = our_files(folder);
  if (!earlier) return earlier.error();
  for (const fs::path& file : earlier.value()) {
    if (unlink(file.c_str()) != 0) return cannot("replace", file, errno, k_choose_hint);
  }
  return folder;
}

Status copy_private(const fs::path& from, const fs::path& to) {
  std::error_code failed;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, failed);
  if (failed) return cannot("copy a recording to", to, failed.value(), "free some space there");
  chmod(to.c_str(), 0600);
  return {};
}

/// A rename keeps late stores of a process that still has the file mapped; between file systems only a copy is left.
Status move_file(const fs::path& from, const fs::path& to) {
  if (rename(from.c_str(), to.c_str()) == 0) {
    chmod(to.c_str(), 0600);
    return {};
  }
  STALLCAST_RETURN_IF_ERROR(copy_private(from, to));
  unlink(from.c_str());
  return {};
}

Status bring(const fs::path& run_folder, const OutputFolder& output, const std::string& part,
             Status (*carry)(const fs::path&, const fs::path&)) {
  auto folder = fresh_folder(output.path / k_recordings_folder);
  if (folder.ok() && !part.empty()) folder = fresh_folder(folder.value() / part);
  if (!folder) return folder.error();
  const auto files = our_files(run_folder);
  if (!files) return files.error();
  for (const fs::path& file : files.value()) STALLCAST_RETURN_IF_ERROR(carry(file, folder.value() / file.filename()));
  return {};
}

}  // namespace

Result<OutputFolder> prepare_output_folder(const fs::path& wanted, bool force) {
  if (wanted.empty()) return default_folder();
  std::error_code failed;
  const fs::path path = wanted.has_filename() ? wanted : wanted.parent_path();
  const fs::file_status status = fs::status(path, failed);
  if (status.type() == fs::file_type::not_found) {
    STALLCAST_RETURN_IF_ERROR(create_folder(path));
    return OutputFolder{path, true};
  }
  if (!fs::is_directory(status)) {
    return Error{ErrorCode::usage, fmt::format("{} exists and is not a folder", path.string()),
                 "choose another name with -o DIR"};
  }
  const bool empty = fs::is_empty(path, failed);
  if (failed) return cannot("read", path, failed.value(), k_choose_hint);
  if (!empty && !force) {
    return Error{ErrorCode::usage, fmt::format("{} exists and is not empty", path.string()),
                 "choose another folder with -o DIR, or pass --force to replace the results of an earlier run in it"};
  }
  STALLCAST_RETURN_IF_ERROR(check_writable(path));
  return OutputFolder{path, false};
}

void drop_unused(const OutputFolder& output) {
  if (output.created) rmdir(output.path.c_str());
}

Status collect_recordings(const fs::path& run_folder, const OutputFolder& output, const std::string& part) {
  return bring(run_folder, output, part, move_file);
}

Status copy_recordings(const fs::path& run_folder, const OutputFolder& output, const std::string& part) {
  return bring(run_folder, output, part, copy_private);
}

Status clear_recordings(const OutputFolder& output) {
  const fs::path folder = output.path / k_recordings_folder;
  std::error_code failed;
  if (fs::symlink_status(folder, failed).type() != fs::file_type::directory) return {};
  std::vector<fs::path> parts;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    std::error_code unknown;
    if (entry->symlink_status(unknown).type() == fs::file_type::directory) parts.push_back(entry->path());
  }
  for (const fs::path& part : parts) {
    const auto cleared = fresh_folder(part);
    if (!cleared) return cleared.error();
    rmdir(part.c_str());  // stays where it holds what is not ours
  }
  const auto cleared = fresh_folder(folder);
  return cleared.ok() ? Status() : Status(cleared.error());
}

}  // namespace stallcast::collect
