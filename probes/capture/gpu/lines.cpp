#include "probes/capture/gpu/lines.hpp"

#include <cstdio>

namespace stallcast::gpu {
namespace {

std::string number(std::uint64_t value) {
  return std::to_string(value);
}

template <class Member>
void append_list(std::string& line, const char* name, const Bins& bins, Member Bin::*member) {
  line += std::string(",\"") + name + "\":[";
  for (std::size_t i = 0; i < bins.bins.size(); ++i) {
    if (i > 0) line += ',';
    line += number(bins.bins[i].*member);
  }
  line += ']';
}

}  // namespace

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte > 0x7e) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", byte);
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string to_line(const FirstLine& first) {
  return "{\"kind\":\"gpu\",\"version\":" + number(k_gpu_version) + ",\"pid\":" + std::to_string(first.pid) +
         ",\"run_folder\":" + quoted(first.run_folder) + ",\"begin_ns\":" + number(first.begin_ns) +
         ",\"library\":" + quoted(first.library) + ",\"cupti_version\":" + number(first.cupti_version) +
         ",\"always\":" + (first.always ? "true" : "false") + "}\n";
}

std::string to_line(const DeviceFacts& device) {
  return "{\"kind\":\"device\",\"device\":" + number(device.device) + ",\"name\":" + quoted(device.name) +
         ",\"memory_bytes\":" + number(device.memory_bytes) +
         ",\"multiprocessors\":" + std::to_string(device.multiprocessors) + ",\"pci\":" + quoted(device.pci) +
         ",\"link_speed\":" + quoted(device.link_speed) + ",\"link_width\":" + quoted(device.link_width) + "}\n";
}

std::string to_line(const Bins& bins) {
  std::string line = "{\"kind\":\"bins\",\"device\":" + number(bins.device) + ",\"begin_ns\":" + number(bins.begin_ns) +
                     ",\"width_ns\":" + number(bins.width_ns);
  append_list(line, "busy_ns", bins, &Bin::busy_ns);
  append_list(line, "copy_in_ns", bins, &Bin::copy_in_ns);
  append_list(line, "exposed_ns", bins, &Bin::exposed_ns);
  append_list(line, "copy_out_ns", bins, &Bin::copy_out_ns);
  append_list(line, "any_ns", bins, &Bin::any_ns);
  append_list(line, "wait_ns", bins, &Bin::wait_ns);
  append_list(line, "bytes_in", bins, &Bin::bytes_in);
  append_list(line, "pageable_bytes", bins, &Bin::pageable_bytes);
  append_list(line, "kernels", bins, &Bin::kernels);
  return line + "}\n";
}

std::string to_line(const Coverage& coverage) {
  return "{\"kind\":\"covered\",\"until_ns\":" + number(coverage.until_ns) +
         ",\"records\":" + number(coverage.records) + ",\"dropped\":" + number(coverage.dropped) +
         ",\"late\":" + number(coverage.late) + ",\"opened\":" + number(coverage.opened) + "}\n";
}

std::string to_line(const Window& window) {
  return "{\"kind\":\"window\",\"open_ns\":" + number(window.open_ns) + ",\"begin_ns\":" + number(window.begin_ns) +
         ",\"end_ns\":" + number(window.end_ns) + "}\n";
}

std::string absent_line(std::uint64_t t_ns, const std::string& reason) {
  return "{\"kind\":\"absent\",\"t_ns\":" + number(t_ns) + ",\"reason\":" + quoted(reason) + "}\n";
}

}  // namespace stallcast::gpu
