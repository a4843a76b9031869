#include "analyzer/steps/traced.hpp"

#include <algorithm>
#include <iterator>

namespace stallcast {
namespace {

/// When any of them was traced, in order and apart from each other.
std::vector<Stretch> traced_stretches(const std::vector<GpuRecording>& gpus) {
  std::vector<Stretch> all;
  for (const GpuRecording& gpu : gpus) {
    for (const GpuWindow& window : gpu.windows) all.push_back({window.open_ns, window.end_ns});
  }
  std::sort(all.begin(), all.end(), [](const Stretch& a, const Stretch& b) { return a.begin_ns < b.begin_ns; });
  std::vector<Stretch> apart;
  for (const Stretch& stretch : all) {
    if (apart.empty() || stretch.begin_ns > apart.back().end_ns) {
      apart.push_back(stretch);
    } else {
      apart.back().end_ns = std::max(apart.back().end_ns, stretch.end_ns);
    }
  }
  return apart;
}

/// The first of stretches, or of windows, that ends after `t_ns`.
template <class Spans>
auto first_ending_after(const Spans& spans, std::uint64_t t_ns) {
  return std::upper_bound(spans.begin(), spans.end(), t_ns,
                          [](std::uint64_t t, const auto& span) { return t < span.end_ns; });
}

}  // namespace

void set_traced_apart(const std::vector<GpuRecording>& gpus, std::int64_t pid, SteadyWindow& window) {
  const std::vector<Stretch> stretches = traced_stretches(gpus);
  const auto touched = [&](const SteadyStep& step) {
    const auto next = first_ending_after(stretches, step.begin_ns);
    return next != stretches.end() && next->begin_ns < step.end_ns;
  };
  const auto own = std::find_if(gpus.begin(), gpus.end(), [&](const GpuRecording& gpu) { return gpu.pid == pid; });
  if (own != gpus.end()) {
    const auto told = [&](const SteadyStep& step) {
      const auto next = first_ending_after(own->windows, step.begin_ns);
      return next != own->windows.end() && step.begin_ns >= next->begin_ns && step.end_ns <= next->end_ns;
    };
    std::copy_if(window.steps.begin(), window.steps.end(), std::back_inserter(window.traced), told);
  }
  const auto count = std::count_if(window.steps.begin(), window.steps.end(), touched);
  if (2 * count <= std::ssize(window.steps)) std::erase_if(window.steps, touched);
}

}  // namespace stallcast
