/// Makes copies in the stage.
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

  /// The round has its folder, rounds two and more before it are gone, and there is a buffer.
  bool prepare();

  /// Copies `path` if it still is the file `identity`. False if there is no room for it (nor for others).
  bool copy(const char* path, const FileIdentity& identity);

  /// The same of granules first..end-1.
  bool copy_part(const char* path, const FileIdentity& identity, std::uint64_t first, std::uint64_t end);

 private:
  int open_original(const char* path, const FileIdentity& identity) const;
  bool transfer(int to, int from, std::uint64_t begin, std::uint64_t end);
  bool publish(int from, int to, const FileIdentity& identity, const char* aside, const char* name);
  bool copy_open(int from, const FileIdentity& identity, const char* aside, const char* name);
  bool copy_granule(int from, int to, const FileIdentity& identity, std::uint64_t granule);

  record::ControlBlock& control_;
  std::uint32_t round_;
  void* buffer_ = nullptr;
};

}  // namespace stallcast::capture
