/// tool.jsonl on disk: appended to a line at a time, so that a killed tool leaves whole lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/data_issue.hpp"
#include "core/result.hpp"

namespace stallcast::collect {

class ToolLog {
 public:
  /// Creates `path` (0600, must not exist).
  [[nodiscard]] static Result<ToolLog> create(const std::filesystem::path& path);

  ToolLog(ToolLog&& other) noexcept;
  ToolLog& operator=(ToolLog&& other) noexcept;
  ToolLog(const ToolLog&) = delete;
  ToolLog& operator=(const ToolLog&) = delete;
  ~ToolLog();

  /// Appends `line` and a newline in one write. A line that the disk did not take whole is cut off again and counted.
  void append(const std::string& line);

  /// As append; where the disk is full the issue is kept, for append_kept() to write once the file has moved.
  void append(const DataIssue& issue);

  /// Writes what was kept to the end of `path`, wherever the log is by now.
  void append_kept(const std::filesystem::path& path);

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::int64_t lost_lines() const { return lost_lines_; }

 private:
  ToolLog() = default;
  bool write_line(const std::string& line);
  int file_ = -1;
  std::uint64_t bytes_ = 0;
  std::int64_t lost_lines_ = 0;
  std::vector<std::string> kept_{};
};

}  // namespace stallcast::collect
