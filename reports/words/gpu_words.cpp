#include "reports/words/gpu_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/words/format.hpp"

namespace stallcast::reports {
namespace {

std::string device_words(const GpuDevice& device) {
  std::string text = device.name.empty() ? "a GPU whose name the driver did not say" : device.name;
  if (device.memory) text += ", " + bytes(*device.memory);
  if (device.multiprocessors) text += fmt::format(", {} multiprocessors", *device.multiprocessors);
  if (!device.link.empty()) text += ", " + device.link;
  return text;
}

}  // namespace

std::string gpu_words(const Gpu& gpu) {
  const auto* busy = usable(gpu.busy);
  if (busy == nullptr) return "";
  std::string text = "busy " + percent(*busy) + " of a step";
  if (const auto* exposed = usable(gpu.exposed)) text += ", copies that nothing hides " + percent(*exposed);
  if (const auto* idle = usable(gpu.idle)) text += ", idle " + percent(*idle);
  if (const auto* starved = usable(gpu.starved)) {
    text += fmt::format(", of which {} of the step while a batch was waited for", percent(starved->mean));
  }
  if (gpu.kernels) text += fmt::format("; {} kernels a step", number(*gpu.kernels));
  if (gpu.pageable && *gpu.pageable > 0.0)
    text += fmt::format("; {} copied from memory that is not pinned", percent(*gpu.pageable));
  return text;
}

std::string gpu_device_words(const Gpu& gpu) {
  std::vector<std::string> all;
  for (const GpuDevice& device : gpu.devices) all.push_back(device_words(device));
  if (all.empty()) return "";
  const bool alike =
      std::all_of(all.begin(), all.end(), [&](const std::string& words) { return words == all.front(); });
  if (alike) return all.size() == 1 ? all.front() : fmt::format("{} x {}", all.size(), all.front());
  std::string text;
  for (const std::string& words : all) text += (text.empty() ? "" : "; ") + words;
  return text;
}

}  // namespace stallcast::reports
