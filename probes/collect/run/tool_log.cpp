#include "probes/collect/run/tool_log.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "probes/collect/run/log_lines.hpp"

namespace stallcast::collect {

Result<ToolLog> ToolLog::create(const std::filesystem::path& path) {
  ToolLog log;
  log.file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (log.file_ < 0) {
    return Error{ErrorCode::environment, fmt::format("cannot create {}: {}", path.string(), std::strerror(errno)),
                 "set TMPDIR to a folder that you may write to"};
  }
  return log;
}

ToolLog::ToolLog(ToolLog&& other) noexcept {
  *this = std::move(other);
}

ToolLog& ToolLog::operator=(ToolLog&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(bytes_, other.bytes_);
  std::swap(lost_lines_, other.lost_lines_);
  std::swap(kept_, other.kept_);
  return *this;
}

ToolLog::~ToolLog() {
  if (file_ >= 0) close(file_);
}

bool ToolLog::write_line(const std::string& line) {
  const std::string text = line + "\n";
  const ssize_t written = write(file_, text.data(), text.size());
  if (written == static_cast<ssize_t>(text.size())) {
    bytes_ += text.size();
    return true;
  }
  // Half a line would swallow the one that is appended after it.
  if (written > 0 && ftruncate(file_, static_cast<off_t>(bytes_)) != 0) bytes_ += static_cast<std::uint64_t>(written);
  return false;
}

void ToolLog::append(const std::string& line) {
  if (!write_line(line)) ++lost_lines_;
}

void ToolLog::append(const DataIssue& issue) {
  const std::string line = to_line(issue);
  if (!write_line(line)) kept_.push_back(line);
}

void ToolLog::append_kept(const std::filesystem::path& path) {
  const int moved = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  if (moved < 0) return;
  close(std::exchange(file_, moved));
  for (const std::string& line : std::exchange(kept_, {})) append(line);
}

}  // namespace stallcast::collect
