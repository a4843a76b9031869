/// Runs a small program and takes what it writes: for looking at the machine, never for the job itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace stallcast::collect {

struct ProgramResult {
  int exit_code = 0;     ///< 128 + signal if a signal ended it
  std::string output{};  ///< stdout and stderr together, at most 64 KiB
};

/// Runs `command` (looked up on PATH) with `environment` ("NAME=value") and no stdin. Nothing if it cannot be started
/// or is not done after `most_seconds`; it is killed then.
[[nodiscard]] std::optional<ProgramResult> run_program(const std::vector<std::string>& command,
                                                       const std::vector<std::string>& environment,
                                                       int most_seconds = 20);

}  // namespace stallcast::collect
