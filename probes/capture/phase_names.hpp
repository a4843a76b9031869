/// Names in the stage: written and read without allocating.
#pragma once

#include <cstddef>
#include <cstdint>

#include "probes/capture/phase_state.hpp"

namespace stallcast::capture {

/// Text in a caller's buffer; cut, never overrun, and then not complete().
class StageName {
 public:
  template <std::size_t Room>
  explicit StageName(char (&out)[Room]) : out_(out), room_(Room) {
    out_[0] = '\0';
  }

  StageName& add(const char* text);
  StageName& add_hex(std::uint64_t number, int digits);
  StageName& add_decimal(std::uint64_t number);
  /// "/<round>", the folder of a round.
  StageName& add_round(std::uint32_t round);
  /// "/<hash of device, inode and modification>.<size>", a copy in it.
  StageName& add_copy(const FileIdentity& file);
  [[nodiscard]] bool complete() const { return complete_; }

 private:
  char* out_;
  std::size_t room_;
  std::size_t used_ = 0;
  bool complete_ = true;
};

/// Number of the round that a folder of the stage is for. False if the name is none of ours.
bool parse_round(const char* name, std::uint32_t& round);

/// Size of the file that a copy, whole or in the making, is of. False if the name is none of ours.
bool parse_size(const char* name, std::uint64_t& size);

}  // namespace stallcast::capture
