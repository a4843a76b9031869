#include "core/private_file.hpp"

#include <fcntl.h>
#include <stdlib.h>
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

}  // namespace

Status write_private_file(const std::filesystem::path& path, std::string_view content) {
  std::string temporary = path.string() + ".XXXXXX";
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);  // creates with mode 0600
  if (descriptor < 0) return failure(path, errno);
  int error = write_all(descriptor, content);
  if (::close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return {};
  ::unlink(temporary.c_str());
  return failure(path, error);
}

}  // namespace stallcast
