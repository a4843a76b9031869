#include "probes/capture/gpu/decode.hpp"

#include <cstddef>

namespace stallcast::gpu {
namespace {

// Records grow at their end; what we read has not moved.
using Kernel = CUpti_ActivityKernel4;
static_assert(offsetof(Kernel, start) == offsetof(CUpti_ActivityKernel9, start));
static_assert(offsetof(Kernel, end) == offsetof(CUpti_ActivityKernel9, end));
static_assert(offsetof(Kernel, deviceId) == offsetof(CUpti_ActivityKernel9, deviceId));
static_assert(offsetof(Kernel, contextId) == offsetof(CUpti_ActivityKernel9, contextId));
using Memcpy = CUpti_ActivityMemcpy3;
static_assert(offsetof(Memcpy, copyKind) == offsetof(CUpti_ActivityMemcpy5, copyKind));
static_assert(offsetof(Memcpy, srcKind) == offsetof(CUpti_ActivityMemcpy5, srcKind));
static_assert(offsetof(Memcpy, bytes) == offsetof(CUpti_ActivityMemcpy5, bytes));
static_assert(offsetof(Memcpy, start) == offsetof(CUpti_ActivityMemcpy5, start));
static_assert(offsetof(Memcpy, deviceId) == offsetof(CUpti_ActivityMemcpy5, deviceId));
using Memset = CUpti_ActivityMemset2;
static_assert(offsetof(Memset, start) == offsetof(CUpti_ActivityMemset3, start));
static_assert(offsetof(Memset, deviceId) == offsetof(CUpti_ActivityMemset3, deviceId));
using Wait = CUpti_ActivitySynchronization;

/// Times come as they are; a record that CUPTI could not fill has none.
std::optional<Interval> timed(Activity what, std::uint32_t device, std::uint64_t start, std::uint64_t end,
                              std::int64_t offset_ns) {
  if (start == 0 || end < start) return std::nullopt;
  Interval interval;
  interval.what = what;
  interval.device = device;
  interval.begin_ns = start + static_cast<std::uint64_t>(offset_ns);
  interval.end_ns = end + static_cast<std::uint64_t>(offset_ns);
  return interval;
}

std::optional<Activity> direction_of(const Memcpy& copy) {
  switch (copy.copyKind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
      return Activity::copy_in;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
      return Activity::copy_out;
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
      return std::nullopt;
    default:
      return Activity::compute;
  }
}

std::optional<Interval> copy_of(const Memcpy& copy, std::int64_t offset_ns) {
  const auto what = direction_of(copy);
  if (!what) return std::nullopt;
  auto interval = timed(*what, copy.deviceId, copy.start, copy.end, offset_ns);
  if (!interval) return std::nullopt;
  interval->bytes = copy.bytes;
  const auto host = *what == Activity::copy_out ? copy.dstKind : copy.srcKind;
  interval->pageable = host == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
  return interval;
}

}  // namespace

std::optional<Interval> Decoder::decode(const CUpti_Activity& record, std::int64_t clock_offset_ns) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = reinterpret_cast<const Kernel&>(record);
      device_of_context_[kernel.contextId] = kernel.deviceId;
      auto interval = timed(Activity::compute, kernel.deviceId, kernel.start, kernel.end, clock_offset_ns);
      if (interval) interval->kernel = true;
      return interval;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return copy_of(reinterpret_cast<const Memcpy&>(record), clock_offset_ns);
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& fill = reinterpret_cast<const Memset&>(record);
      return timed(Activity::compute, fill.deviceId, fill.start, fill.end, clock_offset_ns);
    }
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: {
      const auto& wait = reinterpret_cast<const Wait&>(record);
      const auto device = device_of_context_.find(wait.contextId);
      // A stream that waits for an event holds up the device, not a thread of the host.
      if (device == device_of_context_.end() || wait.type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT) {
        return std::nullopt;
      }
      return timed(Activity::wait, device->second, wait.start, wait.end, clock_offset_ns);
    }
    default:
      return std::nullopt;
  }
}

}  // namespace stallcast::gpu
