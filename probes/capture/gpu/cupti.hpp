/// The functions of whichever libcupti this process has or can have. Nothing links it: an older copy that is loaded
/// first would break `import torch`, whose own copy is therefore taken where there is one.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <string>

namespace stallcast::gpu {

struct Cupti {
  using Clock = std::uint64_t (*)();

  CUptiResult (*register_callbacks)(CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc) = nullptr;
  CUptiResult (*enable)(CUpti_ActivityKind) = nullptr;
  CUptiResult (*disable)(CUpti_ActivityKind) = nullptr;
  CUptiResult (*flush_all)(std::uint32_t flags) = nullptr;
  CUptiResult (*next_record)(std::uint8_t* buffer, std::size_t bytes, CUpti_Activity** record) = nullptr;
  CUptiResult (*dropped_records)(CUcontext, std::uint32_t stream, std::size_t* dropped) = nullptr;
  CUptiResult (*timestamp)(std::uint64_t* now) = nullptr;
  CUptiResult (*version)(std::uint32_t* version) = nullptr;
  CUptiResult (*result_string)(CUptiResult, const char** text) = nullptr;
  CUptiResult (*register_clock)(Clock clock) = nullptr;  ///< CUDA 11.8 and later; may be null

  std::string path{};    ///< of the library
  std::string reason{};  ///< why it cannot be used; empty: it can

  /// "CUPTI_ERROR_...: words (39)".
  [[nodiscard]] std::string words(CUptiResult result) const;
};

/// STALLCAST_CUPTI_LIB if it is set, else the copy that this process has, else the system's.
[[nodiscard]] Cupti load_cupti();

}  // namespace stallcast::gpu
