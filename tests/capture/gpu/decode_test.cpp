#include "probes/capture/gpu/decode.hpp"

#include <doctest/doctest.h>

#include <cstring>

#include "probes/capture/gpu/lines.hpp"

namespace stallcast::gpu {
namespace {

template <class Record>
Record made(CUpti_ActivityKind kind, std::uint64_t start = 1000, std::uint64_t end = 3000) {
  Record record;
  std::memset(static_cast<void*>(&record), 0, sizeof record);
  record.kind = kind;
  record.start = start;
  record.end = end;
  return record;
}

template <class Record>
const CUpti_Activity& as_activity(const Record& record) {
  return reinterpret_cast<const CUpti_Activity&>(record);
}

TEST_CASE("kernels of every version of the record since CUDA 9") {
  const auto check = [](auto kernel) {
    kernel.deviceId = 2;
    const auto interval = Decoder().decode(as_activity(kernel), 500);
    REQUIRE(interval.has_value());
    CHECK(interval->what == Activity::compute);
    CHECK(interval->kernel);
    CHECK(interval->device == 2);
    CHECK(interval->begin_ns == 1500);
    CHECK(interval->end_ns == 3500);
  };
  check(made<CUpti_ActivityKernel4>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  check(made<CUpti_ActivityKernel7>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  check(made<CUpti_ActivityKernel9>(CUPTI_ACTIVITY_KIND_KERNEL));
}

TEST_CASE("copies: the direction, and whether the host's side is pinned") {
  auto copy = made<CUpti_ActivityMemcpy5>(CUPTI_ACTIVITY_KIND_MEMCPY);
  copy.bytes = 77;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  auto interval = Decoder().decode(as_activity(copy), 0);
  REQUIRE(interval.has_value());
  CHECK(interval->what == Activity::copy_in);
  CHECK(interval->bytes == 77);
  CHECK(interval->pageable);
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  CHECK_FALSE(Decoder().decode(as_activity(copy), 0)->pageable);
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
  interval = Decoder().decode(as_activity(copy), 0);
  CHECK(interval->what == Activity::copy_out);
  CHECK(interval->pageable);
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
  CHECK(Decoder().decode(as_activity(copy), 0)->what == Activity::compute);
  CHECK_FALSE(Decoder().decode(as_activity(copy), 0)->kernel);
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
  CHECK_FALSE(Decoder().decode(as_activity(copy), 0).has_value());
}

TEST_CASE("a wait belongs to the device of its context, a stream's wait to nobody") {
  Decoder decoder;
  auto wait = made<CUpti_ActivitySynchronization>(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  wait.contextId = 5;
  wait.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
  CHECK_FALSE(decoder.decode(as_activity(wait), 0).has_value());  // nothing was seen on that context yet
  auto kernel = made<CUpti_ActivityKernel9>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  kernel.contextId = 5;
  kernel.deviceId = 1;
  REQUIRE(decoder.decode(as_activity(kernel), 0).has_value());
  const auto interval = decoder.decode(as_activity(wait), 0);
  REQUIRE(interval.has_value());
  CHECK(interval->what == Activity::wait);
  CHECK(interval->device == 1);
  wait.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
  CHECK_FALSE(decoder.decode(as_activity(wait), 0).has_value());
}

TEST_CASE("records without times and of other kinds are left out") {
  CHECK_FALSE(Decoder()
                  .decode(as_activity(made<CUpti_ActivityKernel9>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0, 0)), 0)
                  .has_value());
  CHECK_FALSE(
      Decoder().decode(as_activity(made<CUpti_ActivityMemset3>(CUPTI_ACTIVITY_KIND_MEMSET, 9, 4)), 0).has_value());
  CUpti_Activity other{};
  other.kind = CUPTI_ACTIVITY_KIND_DRIVER;
  CHECK_FALSE(Decoder().decode(other, 0).has_value());
}

TEST_CASE("whatever a device is called, the line stays JSON") {
  CHECK(quoted("a\"b\\c\n\xff") == "\"a\\\"b\\\\c\\u000a\\u00ff\"");
}

}  // namespace
}  // namespace stallcast::gpu
