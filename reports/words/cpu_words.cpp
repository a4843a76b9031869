#include "reports/words/cpu_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/words/constants.hpp"
#include "reports/words/escape.hpp"
#include "reports/words/format.hpp"

namespace stallcast::reports {
namespace {

constexpr std::size_t k_most_columns = 32;

/// "libjpeg" of "libjpeg.so.62.3.0": what follows tells machines apart, not work.
std::string short_library(const std::string& library) {
  const std::size_t end = std::min({library.find(".so"), library.find(".cpython"), library.find(".abi3")});
  return shortened(library.substr(0, end), k_most_columns);
}

/// The library where the name does not say it already.
std::string work_words(const CpuFunctions& work) {
  const std::string name = shortened(work.name, k_most_columns);
  const bool plain = work.library.starts_with("lib") && name.find('(') == std::string::npos;
  return plain && name != short_library(work.library) ? fmt::format("{} ({})", name, short_library(work.library))
                                                      : name;
}

}  // namespace

std::string cpu_words(const Cpu& cpu) {
  if (!cpu.worker_samples) return "";
  std::string text;
  std::size_t named = 0;
  for (const CpuFunctions& work : cpu.workers) {
    const auto* share = usable(work.share);
    if (share == nullptr || share->mean < k_least_named_share || work.name == "other" ||
        named >= k_most_named_functions)
      continue;
    text += fmt::format("{}{} {}", named++ == 0 ? "" : ", ", percent(*share), work_words(work));
  }
  if (named == 0) return "";
  return text + fmt::format("; from {}{}", plural(*cpu.worker_samples, "CPU sample"),
                            cpu.kernel ? "" : ", without the kernel");
}

}  // namespace stallcast::reports
