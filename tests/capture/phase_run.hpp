/// A phased run for the tests: control block, data files, and the guest that makes batches in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/capture/run_folder.hpp"

namespace stallcast::test {

using record::Phase;

/// Less than any read of these tests: pages of a guest's own code may come from storage at any time.
inline constexpr std::uint64_t k_stray_bytes = 48 * 1024;

/// Ends the program as skipped, with the reason.
[[noreturn]] void skip(const std::string& reason);

/// Bytes of the file that the page cache holds, by mincore (the tests own their files).
std::uint64_t resident_bytes(const std::filesystem::path& file);

/// Writes the file's pages out and drops them; true if none is left.
bool drop_from_cache(const std::filesystem::path& file);

/// Reads the file, so that it is resident.
std::string read_file(const std::filesystem::path& file);

/// A file of `bytes` bytes that no other file holds, written out and (where that is possible) not resident.
std::filesystem::path make_file(const std::filesystem::path& folder, const std::string& name, std::size_t bytes);

/// "begin:..." of phase_guest. `stream`: 1 where the data set is iterable.
std::string begin(Phase phase, std::uint32_t segment, std::uint32_t stream = 0, std::uint64_t batch = 0,
                  std::uint64_t argument = 0, std::uint32_t seed = 0);

/// What phase_guest prints after it has read this content.
std::string line_of(const std::string& content);

class PhasedRun {
 public:
  explicit PhasedRun(record::Evict evict = record::Evict::own);

  [[nodiscard]] RunFolder& folder() { return run_; }
  [[nodiscard]] record::ControlBlock& control() { return run_.control(); }

  /// Runs phase_guest with these commands to its success; its lines.
  std::vector<std::string> guest(const std::vector<std::string>& commands);

  /// Evidence of all guests so far, in order of segment and batch.
  [[nodiscard]] std::vector<record::PhaseRecord> evidence() const;

  /// The same of maps.
  [[nodiscard]] std::vector<record::MappedRecord> mapped() const;

 private:
  RunFolder run_{};
};

}  // namespace stallcast::test
