#include "probes/capture/gpu/cupti.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdlib>

namespace stallcast::gpu {
namespace {

constexpr std::array<const char*, 5> k_names = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
                                                "libcupti.so.11", "libcupti.so"};

void* open_library() {
  const char* wanted = std::getenv("STALLCAST_CUPTI_LIB");
  if (wanted != nullptr && *wanted != '\0') return dlopen(wanted, RTLD_NOW | RTLD_LOCAL);
  for (const int flags : {RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD, RTLD_NOW | RTLD_LOCAL}) {
    for (const char* name : k_names) {
      if (void* library = dlopen(name, flags)) return library;
    }
  }
  return nullptr;
}

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

std::string Cupti::words(CUptiResult result) const {
  const char* text = nullptr;
  if (result_string == nullptr || result_string(result, &text) != CUPTI_SUCCESS || text == nullptr) text = "error";
  return std::string(text) + " (" + std::to_string(static_cast<int>(result)) + ")";
}

Cupti load_cupti() {
  Cupti cupti;
  void* library = open_library();
  if (library == nullptr) {
    const char* error = dlerror();
    cupti.reason = std::string("libcupti cannot be loaded: ") + (error != nullptr ? error : "not found");
    return cupti;
  }
  const bool complete =
      find(library, "cuptiActivityRegisterCallbacks", cupti.register_callbacks) &&
      find(library, "cuptiActivityEnable", cupti.enable) && find(library, "cuptiActivityDisable", cupti.disable) &&
      find(library, "cuptiActivityFlushAll", cupti.flush_all) &&
      find(library, "cuptiActivityGetNextRecord", cupti.next_record) &&
      find(library, "cuptiActivityGetNumDroppedRecords", cupti.dropped_records) &&
      find(library, "cuptiGetTimestamp", cupti.timestamp) && find(library, "cuptiGetVersion", cupti.version) &&
      find(library, "cuptiGetResultString", cupti.result_string);
  find(library, "cuptiActivityRegisterTimestampCallback", cupti.register_clock);
  Dl_info where{};
  if (cupti.enable != nullptr && dladdr(reinterpret_cast<void*>(cupti.enable), &where) != 0)
    cupti.path = where.dli_fname;
  if (!complete) cupti.reason = "libcupti lacks functions that CUDA 11 has: " + cupti.path;
  return cupti;
}

}  // namespace stallcast::gpu
