/// A run folder with its control block, as the tool makes it, and processes run in it with the capture library.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "probes/record/control.hpp"
#include "probes/record/reader.hpp"

namespace stallcast::test {

/// A folder of its own below the system's temporary folder (or below `parent`), removed with its contents.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::filesystem::path& parent = std::filesystem::temp_directory_path());
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_{};
};

/// A run: recording is on, the budget is 64 MiB, nobody has joined yet.
class RunFolder {
 public:
  explicit RunFolder(const std::filesystem::path& parent = std::filesystem::temp_directory_path());
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }
  [[nodiscard]] record::ControlBlock& control() { return *control_; }

  /// Every recording in it that parses, by pid.
  [[nodiscard]] std::vector<record::ProcessRecording> recordings() const;
  /// The only one; fails the test if there are more or fewer.
  [[nodiscard]] record::ProcessRecording recording() const;
  [[nodiscard]] std::vector<std::filesystem::path> recording_files() const;

 private:
  TemporaryFolder folder_;
  record::ControlBlock* control_ = nullptr;
};

/// How a guest ended and what it said.
struct GuestResult {
  int exit_status = -1;  ///< -1 if a signal ended it
  int signal = 0;
  std::string output{};  ///< stdout and stderr together
};

struct GuestOptions {
  bool preload = true;
  std::string run_dir{};                    ///< empty: STALLCAST_RUN_DIR is not set
  std::vector<std::string> environment{};   ///< further NAME=VALUE
  std::chrono::milliseconds kill_after{0};  ///< SIGKILL then; 0: never
};

/// Runs `arguments` to its end.
GuestResult run_guest(const std::vector<std::string>& arguments, const GuestOptions& options);

/// Runs the guest program of these tests, preloaded, in `run`, and requires that it succeeds.
GuestResult run_scene(RunFolder& run, std::vector<std::string> arguments);

}  // namespace stallcast::test
