/// The private folder of one run on this node: the control block and the recordings land in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/result.hpp"
#include "probes/record/control.hpp"

namespace stallcast::collect {

/// What a new run folder is made for.
struct RunFolderPlan {
  std::filesystem::path parent{};  ///< empty: $TMPDIR, or /tmp
  std::string run_id{};            ///< empty: a new one
  std::uint64_t budget_bytes = 256ULL << 20U;
  record::RunMode mode = record::RunMode::passive;
  std::uint32_t restart = 0;
};

/// A run folder (mode 0700) with its control block mapped. Movable; unmaps at the end, and leaves the folder on disk
/// until remove() is called, so that a killed tool leaves what was recorded.
class RunFolder {
 public:
  /// Creates `stallcast-<run id>` with a `control` file whose space is allocated, so that no store to it can meet a
  /// full disk. environment error if the parent is not writable or has no room.
  [[nodiscard]] static Result<RunFolder> create(const RunFolderPlan& plan);

  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&& other) noexcept;
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  ~RunFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] record::ControlBlock& control() const { return *control_; }
  [[nodiscard]] std::string run_id() const { return control_->run_id; }

  /// Bytes that the file system of the folder could still take when it was created.
  [[nodiscard]] std::uint64_t free_bytes() const { return free_bytes_; }

  /// Deletes the folder and what is in it.
  void remove();

 private:
  RunFolder() = default;
  std::filesystem::path path_{};
  record::ControlBlock* control_ = nullptr;
  std::uint64_t free_bytes_ = 0;
};

/// A new run id: start time and random part, at most 39 characters of [0-9a-f-], e.g. "6918a3c2-9f1b2c3d4e5f6071".
[[nodiscard]] std::string new_run_id();

/// $TMPDIR if it is set, else /tmp.
[[nodiscard]] std::filesystem::path temporary_folder();

}  // namespace stallcast::collect
