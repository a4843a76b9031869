/// A libcupti that plays a script: STALLCAST_FAKE_CUPTI is "good" (each flush brings a step's records), "held"
/// (somebody else has it: error 39), "mig" (a part of a GPU, which CUPTI refuses: error 43), "full" (no records fit),
/// "old" (no clock of ours; its own is an hour behind).
#include <cupti.h>

#include <time.h>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {

CUpti_BuffersCallbackRequestFunc g_request = nullptr;
CUpti_BuffersCallbackCompleteFunc g_complete = nullptr;
std::uint64_t (*g_clock)() = nullptr;
std::atomic<int> g_enabled{0};

bool is(const char* script) {
  const char* set = std::getenv("STALLCAST_FAKE_CUPTI");
  return std::string(set != nullptr ? set : "good") == script;
}

std::uint64_t now() {
  if (g_clock != nullptr) return g_clock();
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(time.tv_nsec) -
         3'600'000'000'000ULL;
}

struct Script {
  std::uint8_t* at = nullptr;
  std::uint8_t* end = nullptr;

  template <class Record>
  Record* add(CUpti_ActivityKind kind) {
    if (at + sizeof(Record) > end) return nullptr;
    auto* record = reinterpret_cast<Record*>(at);
    std::memset(static_cast<void*>(record), 0, sizeof(Record));
    record->kind = kind;
    at += sizeof(Record);
    return record;
  }
};

/// In the 100 ms before: a kernel of 30 ms, a copy of 10 ms of which 4 are hidden, a wait.
void play(Script& script) {
  const std::uint64_t begin = now() - 100'000'000;
  auto* kernel = script.add<CUpti_ActivityKernel9>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  kernel->start = begin;
  kernel->end = begin + 30'000'000;
  kernel->contextId = 7;
  auto* copy = script.add<CUpti_ActivityMemcpy5>(CUPTI_ACTIVITY_KIND_MEMCPY);
  copy->copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  copy->srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
  copy->bytes = 1'000'000;
  copy->start = begin + 26'000'000;
  copy->end = begin + 36'000'000;
  auto* wait = script.add<CUpti_ActivitySynchronization>(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  wait->contextId = 7;
  wait->type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
  wait->start = begin;
  wait->end = begin + 20'000'000;
}

std::size_t size_of(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(CUpti_ActivityKernel9);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy5);
    default:
      return sizeof(CUpti_ActivitySynchronization);
  }
}

}  // namespace

FAKE CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                CUpti_BuffersCallbackCompleteFunc complete) {
  g_request = request;
  g_complete = complete;
  return CUPTI_SUCCESS;
}

FAKE CUptiResult cuptiActivityEnable(CUpti_ActivityKind) {
  if (is("held")) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  if (is("mig")) return CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED;
  ++g_enabled;
  return CUPTI_SUCCESS;
}

FAKE CUptiResult cuptiActivityDisable(CUpti_ActivityKind) {
  --g_enabled;
  return CUPTI_SUCCESS;
}

FAKE int fake_enabled_kinds() {
  return g_enabled;
}

FAKE CUptiResult cuptiActivityFlushAll(uint32_t) {
  if (g_enabled <= 0) return CUPTI_SUCCESS;
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0;
  std::size_t most = 0;
  g_request(&buffer, &size, &most);
  if (buffer == nullptr) return CUPTI_SUCCESS;
  Script script{buffer, buffer + size};
  if (!is("full")) play(script);
  g_complete(nullptr, 0, buffer, size, static_cast<std::size_t>(script.at - buffer));
  return CUPTI_SUCCESS;
}

FAKE CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t bytes, CUpti_Activity** record) {
  std::uint8_t* next = buffer;
  if (*record != nullptr) next = reinterpret_cast<std::uint8_t*>(*record) + size_of((*record)->kind);
  if (next >= buffer + bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

FAKE CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  *dropped = is("full") ? 5 : 0;
  return CUPTI_SUCCESS;
}

FAKE CUptiResult cuptiGetTimestamp(uint64_t* timestamp) {
  *timestamp = now();
  return CUPTI_SUCCESS;
}

FAKE CUptiResult cuptiGetVersion(uint32_t* version) {
  *version = 130000;
  return CUPTI_SUCCESS;
}

FAKE CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  *text = result == CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED ? "CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED"
                                                         : "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";
  return CUPTI_SUCCESS;
}

FAKE CUptiResult cuptiActivityRegisterTimestampCallback(std::uint64_t (*clock)()) {
  if (is("old")) return CUPTI_ERROR_NOT_SUPPORTED;
  g_clock = clock;
  return CUPTI_SUCCESS;
}
