#include "probes/collect/system/read_ahead.hpp"

#include <fmt/core.h>
#include <sys/sysmacros.h>

#include "probes/collect/system/text_file.hpp"

namespace stallcast::collect {

std::optional<std::uint64_t> read_ahead_bytes(std::uint64_t device) {
  const unsigned disk = major(device);
  const unsigned part = minor(device);
  for (const std::string& place : {fmt::format("/sys/class/bdi/{}:{}/read_ahead_kb", disk, part),
                                   fmt::format("/sys/dev/block/{}:{}/queue/read_ahead_kb", disk, part),
                                   fmt::format("/sys/dev/block/{}:{}/../queue/read_ahead_kb", disk, part)}) {
    const auto text = read_text(place);
    if (!text) continue;
    const auto kilobytes = parse_u64(std::string_view(*text).substr(0, text->find('\n')));
    if (kilobytes && *kilobytes > 0) return *kilobytes * 1024;
  }
  return std::nullopt;
}

}  // namespace stallcast::collect
