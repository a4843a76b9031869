/// What the GPU probe saw of one process (gpu-PID.jsonl, whose lines probes/capture/gpu/lines.hpp describes).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace stallcast {

/// What a quantity has come to by any moment; grows evenly within each stretch that was added, stands still between.
class Cumulative {
 public:
  /// `value` more from `begin_ns` to `end_ns`; stretches come in order and do not overlap.
  void add(std::uint64_t begin_ns, std::uint64_t end_ns, double value);

  /// What came between two moments.
  [[nodiscard]] double between(std::uint64_t begin_ns, std::uint64_t end_ns) const {
    return until(end_ns) - until(begin_ns);
  }

 private:
  [[nodiscard]] double until(std::uint64_t t_ns) const;

  struct Stretch {
    std::uint64_t begin_ns;
    std::uint64_t end_ns;
    double before;
    double value;
  };
  std::vector<Stretch> stretches_{};
};

/// One device of one process. Times in seconds, of unions of intervals.
struct GpuCourse {
  std::string name{};
  std::uint64_t memory_bytes = 0;
  std::int64_t multiprocessors = 0;
  std::string pci{};
  std::string link{};  ///< "32.0 GT/s PCIe x16"; empty: not known
  Cumulative busy{};
  Cumulative copy_in{};
  Cumulative exposed{};   ///< of copy_in, while nothing computed
  Cumulative any{};       ///< busy or copying; the rest is idle
  Cumulative bytes_in{};  ///< copied to the device
  Cumulative pageable{};  ///< of them, from memory that is not pinned
  Cumulative kernels{};
  std::uint64_t bins_end_ns = 0;  ///< of the last that was read: what lies before it is in order
};

/// A stretch in which CUPTI recorded; from `begin_ns` on all is told, and nothing where that is its end.
struct GpuWindow {
  std::uint64_t open_ns = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
};

struct GpuRecording {
  std::int64_t pid = 0;
  std::string run_folder{};
  std::string library{};         ///< of CUPTI; empty: none was found
  std::uint64_t begin_ns = 0;    ///< from when on all is told if `always`, else within the windows;
  std::uint64_t covered_ns = 0;  ///< and until when
  bool always = true;
  std::vector<GpuWindow> windows{};  ///< in order
  std::int64_t records = 0;
  std::int64_t dropped = 0;
  std::int64_t late = 0;
  std::int64_t opened = 0;  ///< windows that were begun, whether they tell anything or not
  std::string absent{};     ///< why there is nothing (more); empty: it went on to the end
  std::map<std::int64_t, GpuCourse> devices{};
  std::int64_t bad_lines = 0;
};

/// Reads what can be read: lines that are no JSON (a torn last one) or do not fit together are counted.
[[nodiscard]] GpuRecording parse_gpu_recording(const std::string& text);

}  // namespace stallcast
