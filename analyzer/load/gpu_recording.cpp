#include "analyzer/load/gpu_recording.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analyzer/load/constants.hpp"
#include "analyzer/profile/json_fields.hpp"

namespace stallcast {
namespace {

using nlohmann::json;

std::int64_t count(const json& object, const char* key) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(natural(object, key), 1ULL << 53U));
}

void take_device(const json& line, GpuRecording& recording) {
  GpuCourse& device = recording.devices[count(line, "device")];
  device.name = word(line, "name");
  device.memory_bytes = natural(line, "memory_bytes");
  device.multiprocessors = count(line, "multiprocessors");
  device.pci = word(line, "pci");
  const std::string speed = word(line, "link_speed");
  const std::string width = word(line, "link_width");
  device.link = speed.empty() || width.empty() ? speed : speed + " x" + width;
}

/// Adds a list's values, one a bin; false if it is not as long as the others.
bool take_list(const json& line, const char* key, std::size_t bins, double unit, Cumulative& into) {
  const auto list = line.find(key);
  if (list == line.end() || !list->is_array() || list->size() != bins) return false;
  const std::uint64_t begin = natural(line, "begin_ns");
  const std::uint64_t width = natural(line, "width_ns");
  for (std::size_t i = 0; i < bins; ++i) {
    const json& value = (*list)[i];
    if (!value.is_number_unsigned()) return false;
    const double amount = unit * static_cast<double>(value.get<std::uint64_t>());
    if (amount > 0.0) into.add(begin + i * width, begin + (i + 1) * width, amount);
  }
  return true;
}

bool take_bins(const json& line, GpuRecording& recording) {
  const auto busy = line.find("busy_ns");
  const std::uint64_t begin = natural(line, "begin_ns");
  const std::uint64_t width = natural(line, "width_ns");
  if (busy == line.end() || !busy->is_array() || width == 0 || width > k_widest_gpu_bin_ns) return false;
  const std::size_t bins = busy->size();
  GpuCourse& device = recording.devices[count(line, "device")];
  if (begin < device.bins_end_ns || begin > UINT64_MAX / 2) return false;
  device.bins_end_ns = begin + bins * width;
  return take_list(line, "busy_ns", bins, 1e-9, device.busy) &&
         take_list(line, "copy_in_ns", bins, 1e-9, device.copy_in) &&
         take_list(line, "exposed_ns", bins, 1e-9, device.exposed) &&
         take_list(line, "any_ns", bins, 1e-9, device.any) && take_list(line, "bytes_in", bins, 1.0, device.bytes_in) &&
         take_list(line, "pageable_bytes", bins, 1.0, device.pageable) &&
         take_list(line, "kernels", bins, 1.0, device.kernels);
}

bool take_line(const json& line, GpuRecording& recording) {
  if (!line.is_object()) return false;
  const std::string kind = word(line, "kind");
  if (kind == "gpu") {
    recording.pid = count(line, "pid");
    recording.library = word(line, "library");
    recording.run_folder = word(line, "run_folder");
    recording.begin_ns = natural(line, "begin_ns");
    const auto always = line.find("always");
    recording.always = always == line.end() || !always->is_boolean() || always->get<bool>();
  } else if (kind == "device") {
    take_device(line, recording);
  } else if (kind == "bins") {
    return take_bins(line, recording);
  } else if (kind == "window") {
    const GpuWindow window{natural(line, "open_ns"), natural(line, "begin_ns"), natural(line, "end_ns")};
    const std::uint64_t before = recording.windows.empty() ? 0 : recording.windows.back().end_ns;
    if (window.open_ns < before || window.begin_ns < window.open_ns || window.end_ns < window.begin_ns) return false;
    recording.windows.push_back(window);
  } else if (kind == "covered") {
    recording.covered_ns = std::max(recording.covered_ns, natural(line, "until_ns"));
    recording.records = count(line, "records");
    recording.dropped = count(line, "dropped");
    recording.late = count(line, "late");
    recording.opened = count(line, "opened");
  } else if (kind == "absent") {
    recording.absent = word(line, "reason");
  }
  return true;  // kinds that we do not know are of a later version
}

}  // namespace

void Cumulative::add(std::uint64_t begin_ns, std::uint64_t end_ns, double value) {
  const double before = stretches_.empty() ? 0.0 : stretches_.back().before + stretches_.back().value;
  stretches_.push_back({begin_ns, end_ns, before, value});
}

double Cumulative::until(std::uint64_t t_ns) const {
  const auto after = std::upper_bound(stretches_.begin(), stretches_.end(), t_ns,
                                      [](std::uint64_t t, const Stretch& stretch) { return t < stretch.begin_ns; });
  if (after == stretches_.begin()) return 0.0;
  const Stretch& last = *(after - 1);
  if (t_ns >= last.end_ns) return last.before + last.value;
  return last.before +
         last.value * static_cast<double>(t_ns - last.begin_ns) / static_cast<double>(last.end_ns - last.begin_ns);
}

GpuRecording parse_gpu_recording(const std::string& content) {
  GpuRecording recording;
  std::istringstream stream(content);
  for (std::string line; std::getline(stream, line);) {
    const json parsed = json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!take_line(parsed, recording)) ++recording.bad_lines;
  }
  return recording;
}

}  // namespace stallcast
