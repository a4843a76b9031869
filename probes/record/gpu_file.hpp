/// Name of the recording of one process's GPUs, beside the others of a run; probes/capture/gpu/lines.hpp has its lines.
#pragma once

#include <string>
#include <string_view>

namespace stallcast::record {

inline constexpr std::string_view k_gpu_prefix = "gpu-";
inline constexpr std::string_view k_gpu_suffix = ".jsonl";

[[nodiscard]] inline std::string gpu_file(long pid) {
  return std::string(k_gpu_prefix) + std::to_string(pid) + std::string(k_gpu_suffix);
}

[[nodiscard]] inline bool is_gpu_file(std::string_view name) {
  return name.starts_with(k_gpu_prefix) && name.ends_with(k_gpu_suffix);
}

}  // namespace stallcast::record
