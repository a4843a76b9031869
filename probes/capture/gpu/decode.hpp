/// CUPTI's activity records as intervals. Only members that lie at the same place in every version of a record since
/// CUDA 9 are read: the version that comes is that of the libcupti which is loaded, not of the headers here.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <map>
#include <optional>

#include "probes/capture/gpu/timeline.hpp"

namespace stallcast::gpu {

class Decoder {
 public:
  /// `clock_offset_ns` is added to every time (records' clock to CLOCK_MONOTONIC). Nothing for kinds that we did not
  /// ask for, for copies that never leave the host, and for waits on a context of which nothing else was seen.
  [[nodiscard]] std::optional<Interval> decode(const CUpti_Activity& record, std::int64_t clock_offset_ns);

 private:
  std::map<std::uint32_t, std::uint32_t> device_of_context_{};
};

}  // namespace stallcast::gpu
