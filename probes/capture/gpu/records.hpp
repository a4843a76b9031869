/// What CUPTI handed over so far: its buffers, the bins that are made of them, and the windows in which it recorded.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "probes/capture/gpu/cupti.hpp"
#include "probes/capture/gpu/decode.hpp"
#include "probes/capture/gpu/lines.hpp"
#include "probes/capture/gpu/timeline.hpp"

namespace stallcast::gpu {

/// By any thread. Memory is bounded: what does not fit is dropped and counted.
class Records {
 public:
  explicit Records(std::uint64_t begin_ns) : timeline_(begin_ns) {}

  /// An empty buffer; none where all are in use: CUPTI then drops what it cannot store, and counts it.
  void give_buffer(std::uint8_t** buffer, std::size_t* size);

  /// Takes what is in a buffer, and the buffer back. `clock_offset_ns`: CLOCK_MONOTONIC less CUPTI's clock.
  void take_buffer(const Cupti& cupti, CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t bytes,
                   std::int64_t clock_offset_ns);

  /// CUPTI is about to be switched on, or off.
  void begin_window(std::uint64_t now_ns);
  void end_window(std::uint64_t now_ns);

  /// Whether records of a window are still to come, or to be told.
  [[nodiscard]] bool are_awaited();

  /// Kernels that were recorded.
  [[nodiscard]] std::uint64_t kernels() const { return kernels_; }

  /// Devices that were seen since this was last asked.
  [[nodiscard]] std::set<std::uint32_t> new_devices();

  /// Lines of everything before `horizon_ns`, by which all has come. `in_windows`: with lines of the windows that are
  /// told by then; `over`: of all, as no more records come.
  [[nodiscard]] std::string told_until(std::uint64_t horizon_ns, bool in_windows, bool over);

 private:
  /// A window whose records are coming in.
  struct Traced {
    std::uint64_t open_ns = 0;
    std::uint64_t late = 0;  ///< records that had come late before it: more of them, and it does not tell all
    std::uint64_t first_kernel_ns = UINT64_MAX;
    std::uint64_t end_ns = UINT64_MAX;  ///< while it is open
  };

  void add(const Interval& interval);
  [[nodiscard]] std::string settled_windows(bool over);

  std::mutex decoding_{};
  Decoder decoder_{};
  // CUPTI asks for buffers with locks of its own held: nothing of CUPTI's or the driver's is called under this one.
  std::mutex mutex_{};
  Timeline timeline_;
  Coverage coverage_{};
  std::atomic<std::uint64_t> kernels_{0};
  std::vector<Traced> traced_{};
  std::set<std::uint32_t> devices_{};
  std::set<std::uint32_t> described_{};
  std::vector<std::unique_ptr<std::uint8_t[]>> buffers_{};
  std::vector<std::uint8_t*> free_{};
};

}  // namespace stallcast::gpu
