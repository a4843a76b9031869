#include "core/write_file.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace stallcast {
namespace {

Error failure(const std::filesystem::path& path, int error) {
  std::string hint;
  if (error == EACCES || error == EPERM || error == EROFS) hint = "choose a folder that you may write to";
  if (error == ENOENT || error == ENOTDIR) hint = "the folder must exist before a file is written into it";
  if (error == ENOSPC || error == EDQUOT) hint = "free some space or choose another folder";
  return Error{ErrorCode::environment, "cannot write " + path.string() + ": " + std::strerror(error), hint};
}

/// 0, or the errno of the write that failed.
int write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return ::fsync(descriptor) == 0 || errno == EINVAL ? 0 : errno;
}

/// Fills the new file `temporary` behind `descriptor` and renames it over `path`.
Status fill_and_rename(int descriptor, const std::string& temporary, const std::filesystem::path& path,
                       std::string_view content) {
  int error = write_all(descriptor, content);
  if (::close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return {};
  ::unlink(temporary.c_str());
  return failure(path, error);
}

/// A pipe, a terminal, /dev/null.
Status write_in_place(const std::filesystem::path& path, std::string_view content) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) return failure(path, errno);
  int error = write_all(descriptor, content);
  if (::close(descriptor) != 0 && error == 0) error = errno;
  return error == 0 ? Status{} : Status{failure(path, error)};
}

/// A new file beside `path`, named in `temporary`; -1 with errno.
int create_beside(const std::filesystem::path& path, std::string& temporary) {
  constexpr int k_attempts = 100;
  for (int i = 0; i < k_attempts; ++i) {
    temporary = path.string() + "." + std::to_string(::getpid()) + "-" + std::to_string(i);
    const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);  // less the umask
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
  }
  return -1;
}

}  // namespace

Status write_private_file(const std::filesystem::path& path, std::string_view content) {
  std::string temporary = path.string() + ".XXXXXX";
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);  // creates with mode 0600
  if (descriptor < 0) return failure(path, errno);
  return fill_and_rename(descriptor, temporary, path, content);
}

Status write_named_file(const std::filesystem::path& path, std::string_view content) {
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) return write_in_place(path, content);
  std::error_code failed;
  const auto target = exists ? std::filesystem::canonical(path, failed) : path;
  if (failed) return failure(path, failed.value());
  std::string temporary;
  const int descriptor = create_beside(target, temporary);
  if (descriptor < 0) return failure(path, errno);
  // Whose file it is decides whether this is allowed; where it is not, it has the permissions of a new one.
  if (exists) static_cast<void>(::fchmod(descriptor, status.st_mode & 07777));
  return fill_and_rename(descriptor, temporary, target, content);
}

}  // namespace stallcast
