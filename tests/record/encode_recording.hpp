/// Makes the bytes of a recording, as the capture library would leave them: for tests of what reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "probes/record/layout.hpp"
#include "probes/record/reader.hpp"

namespace stallcast::record {

/// Which kind a record struct is written as.
template <class T>
constexpr Kind kind_of() {
  if constexpr (std::is_same_v<T, WaitRecord>) return Kind::wait;
  if constexpr (std::is_same_v<T, StepRecord>) return Kind::step;
  if constexpr (std::is_same_v<T, BatchRecord>) return Kind::batch;
  if constexpr (std::is_same_v<T, SampleRecord>) return Kind::sample;
  if constexpr (std::is_same_v<T, FileRecord>) return Kind::file;
  if constexpr (std::is_same_v<T, PhaseRecord>) return Kind::phase;
  if constexpr (std::is_same_v<T, MappedRecord>) return Kind::mapped;
  if constexpr (std::is_same_v<T, ReceivedRecord>) return Kind::received;
  if constexpr (std::is_same_v<T, PartRecord>) return Kind::part;
}

/// Appends records of any thread, block by block; bytes() is the file so far.
class RecordingEncoder {
 public:
  explicit RecordingEncoder(const ProcessInfo& info);

  /// Writes `record` with its kind and size filled in; record.header.aux stays.
  template <class T>
  void add(T record, std::uint32_t thread = 1) {
    record.header.kind = static_cast<std::uint16_t>(kind_of<T>());
    record.header.bytes = sizeof(T);
    append(thread, &record, sizeof(T));
  }
  void add_text(TextKind kind, const std::string& json, std::uint32_t thread = 1);
  void add_path(const PathEntry& path, std::uint32_t thread = 1);

  /// Any bytes as one record, whatever they say.
  void append(std::uint32_t thread, const void* record, std::size_t bytes);

  /// Marks the thread's block as one in which a further record was begun and not finished.
  void tear(std::uint32_t thread, std::uint32_t bytes);

  [[nodiscard]] std::vector<std::byte> bytes() const;

 private:
  struct Block {
    std::uint32_t thread = 0;
    std::vector<std::byte> bytes{};
    std::size_t offset = sizeof(BlockHeader);
    std::uint32_t torn = 0;
  };
  Block& block_for(std::uint32_t thread, std::size_t bytes);

  ProcessInfo info_;
  std::vector<Block> blocks_{};
};

/// The whole recording of one process, as the file that reads back to it.
[[nodiscard]] std::vector<std::byte> encode(const ProcessRecording& recording);

}  // namespace stallcast::record
