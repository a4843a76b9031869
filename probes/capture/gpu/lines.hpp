/// The lines of gpu-PID.jsonl, the recording of one process's GPUs. One JSON object a line, "kind" says which; the
/// last may be torn. Times are CLOCK_MONOTONIC in ns.
///
/// | kind | when | content |
/// |---|---|---|
/// | gpu | first | version, pid, the CUPTI that is used, whether it records always or in windows |
/// | device | when it is first seen | number, name, memory, multiprocessors, PCI address and link |
/// | bins | every half second of recording | a run of bins of one device (timeline.hpp), a list for each member |
/// | covered | likewise | until when bins tell all; what was dropped, came late, or is pending so far |
/// | window | when its records have come | when recording was on, and from when on that tells all |
/// | absent | once | why there is nothing (more): somebody else holds CUPTI, an error, the job's own profiler |
#pragma once

#include <cstdint>
#include <string>

#include "probes/capture/gpu/timeline.hpp"

namespace stallcast::gpu {

inline constexpr int k_gpu_version = 2;

struct FirstLine {
  long pid = 0;
  std::string run_folder{};    ///< its last component: "stallcast-" and the run's id
  std::uint64_t begin_ns = 0;  ///< from when on bins tell all
  std::string library{};       ///< path of libcupti; empty: there is none
  std::uint32_t cupti_version = 0;
  bool always = false;  ///< records from `begin_ns` on, else in windows
};

struct DeviceFacts {
  std::uint32_t device = 0;
  std::string name{};
  std::uint64_t memory_bytes = 0;
  int multiprocessors = 0;
  std::string pci{};         ///< "0000:65:00.0"
  std::string link_speed{};  ///< of PCIe, as sysfs says it: "32.0 GT/s PCIe"; empty: not known
  std::string link_width{};
};

struct Coverage {
  std::uint64_t until_ns = 0;
  std::uint64_t records = 0;  ///< so far; likewise below
  std::uint64_t dropped = 0;  ///< by CUPTI or by us, for want of memory
  std::uint64_t late = 0;     ///< cut at what was settled before they came
  std::uint64_t opened = 0;   ///< windows that were begun
};

/// A stretch in which CUPTI recorded. What was launched before it runs on in it, unrecorded: bins tell all from the
/// first kernel's beginning on.
struct Window {
  std::uint64_t open_ns = 0;
  std::uint64_t begin_ns = 0;  ///< from when on bins tell all
  std::uint64_t end_ns = 0;
};

/// `text` as a JSON string, quotes included; control characters and bytes beyond ASCII are escaped as Latin-1.
[[nodiscard]] std::string quoted(const std::string& text);

/// Each with a newline at its end.
[[nodiscard]] std::string to_line(const FirstLine& first);
[[nodiscard]] std::string to_line(const DeviceFacts& device);
[[nodiscard]] std::string to_line(const Bins& bins);
[[nodiscard]] std::string to_line(const Coverage& coverage);
[[nodiscard]] std::string to_line(const Window& window);
[[nodiscard]] std::string absent_line(std::uint64_t t_ns, const std::string& reason);

}  // namespace stallcast::gpu
