/// Which samples a run read for the first time, and when.
#pragma once

#include <cstdint>
#include <vector>

#include "probes/record/reader.hpp"

namespace stallcast {

/// Worked example. Samples 4, 9 and 4 were begun at 1, 2 and 3 s: of those begun from 1 to 3 s two of three were first
/// reads, from 3 to 4 s none.
class FirstReads {
 public:
  /// Of the evenly timed samples (steps/timed_samples.hpp) of all processes that carry an index.
  explicit FirstReads(const std::vector<record::ProcessRecording>& processes);

  /// Share of the samples begun in [begin_ns, end_ns) that this run had not begun before; negative if none is known.
  [[nodiscard]] double share(std::uint64_t begin_ns, std::uint64_t end_ns) const;

 private:
  struct Begun {
    std::uint64_t begin_ns = 0;
    bool is_first = false;
  };
  std::vector<Begun> begun_{};  ///< in order of time
};

}  // namespace stallcast
