/// Makes and removes copies in the stage.
#pragma once

#include "probes/capture/phase_state.hpp"
#include "probes/record/control.hpp"

namespace stallcast::capture {

/// Copies files of one round into the stage.
class Copier {
 public:
  Copier(record::ControlBlock& control, std::uint32_t round);
  ~Copier();
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;

  /// The round has its folder, and rounds two and more before it are gone.
  bool prepare();

  /// Copies `path` if it still is the file `identity`. False if there is no room for it (nor for others).
  bool copy(const char* path, const FileIdentity& identity);

 private:
  bool fill(int to, int from, std::uint64_t bytes);
  bool copy_open(int from, const FileIdentity& identity, const char* aside, const char* name);
  bool publish(int from, int to, const FileIdentity& identity, const char* aside, const char* name);

  record::ControlBlock& control_;
  std::uint32_t round_;
  void* buffer_ = nullptr;  ///< for file systems that cannot send a file
};

}  // namespace stallcast::capture
