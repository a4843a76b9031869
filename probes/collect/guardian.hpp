/// Ends a phased run when its tool dies, however it dies: the training it does is worthless, and it holds memory.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <vector>

#include "core/result.hpp"

namespace stallcast::collect {

/// A small process beside the tool that waits for the tool's end of a line between them to close. Closed without a
/// word, it kills every process of this user whose environment names the run folder, and deletes the given folders.
/// Movable.
class Guardian {
 public:
  /// Forks it; before this process becomes a subreaper. `run_folder` is what STALLCAST_RUN_DIR says in the job;
  /// `folders` are deleted.
  [[nodiscard]] static Result<Guardian> post(const std::filesystem::path& run_folder,
                                             const std::vector<std::filesystem::path>& folders);

  Guardian(Guardian&& other) noexcept;
  Guardian& operator=(Guardian&&) = delete;
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  /// Sends it home: the run is over and its folders are the tool's business.
  ~Guardian();

 private:
  explicit Guardian(int line) : line_(line) {}
  int line_ = -1;
};

/// Processes of this user with `name=value` in their environment (`root`: a fake / in tests).
[[nodiscard]] std::vector<pid_t> processes_with(const std::filesystem::path& root, const std::string& name,
                                                const std::string& value);

}  // namespace stallcast::collect
