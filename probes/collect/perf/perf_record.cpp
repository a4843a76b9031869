#include "probes/collect/perf/perf_record.hpp"

#include <linux/perf_event.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace stallcast::collect {
namespace {

constexpr std::size_t k_trailer_bytes = 16;               ///< pid, tid, time at the end of what is no sample
constexpr std::size_t k_mapping_bytes = 8 + 24 + 24 + 8;  ///< before the path: ids, range, inode, protection and flags
constexpr std::size_t k_name_bytes = 8;

/// Reads numbers one after the other; the caller has checked that there are enough bytes.
class Fields {
 public:
  explicit Fields(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  T next() {
    T value{};
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

/// Up to the first NUL; the kernel pads to 8 bytes.
std::string text_in(std::span<const std::byte> bytes) {
  const auto* begin = reinterpret_cast<const char*>(bytes.data());
  return {begin, std::find(begin, begin + bytes.size(), '\0')};
}

bool take_sample(std::span<const std::byte> body, std::uint16_t misc, PerfRecord& record) {
  if (body.size() < 24) return false;
  Fields fields(body);
  record.address = fields.next<std::uint64_t>();
  record.pid = fields.next<pid_t>();
  record.tid = fields.next<pid_t>();
  record.time_ns = fields.next<std::uint64_t>();
  record.kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
  return true;
}

bool take_mapping(std::span<const std::byte> body, PerfRecord& record) {
  if (body.size() < k_mapping_bytes) return false;
  Fields fields(body);
  record.kind = PerfKind::mapping;
  record.pid = fields.next<pid_t>();
  record.tid = fields.next<pid_t>();
  record.address = fields.next<std::uint64_t>();
  record.length = fields.next<std::uint64_t>();
  record.offset = fields.next<std::uint64_t>();
  record.text = text_in(body.subspan(k_mapping_bytes));
  return true;
}

bool take_name(std::span<const std::byte> body, std::uint16_t misc, PerfRecord& record) {
  if (body.size() < k_name_bytes) return false;
  Fields fields(body);
  record.kind = PerfKind::name;
  record.pid = fields.next<pid_t>();
  record.tid = fields.next<pid_t>();
  record.exec = (misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
  record.text = text_in(body.subspan(k_name_bytes));
  return true;
}

bool take_life(std::span<const std::byte> body, PerfKind kind, PerfRecord& record) {
  if (body.size() < 24) return false;
  Fields fields(body);
  record.kind = kind;
  record.pid = fields.next<pid_t>();
  record.parent_pid = fields.next<pid_t>();
  record.tid = fields.next<pid_t>();
  return true;
}

bool take_lost(std::span<const std::byte> body, PerfRecord& record) {
  if (body.size() < 16) return false;
  Fields fields(body);
  record.kind = PerfKind::lost;
  static_cast<void>(fields.next<std::uint64_t>());
  record.count = fields.next<std::uint64_t>();
  return true;
}

}  // namespace

std::optional<PerfRecord> decode_perf_record(std::span<const std::byte> record) {
  if (record.size() < sizeof(perf_event_header)) return std::nullopt;
  perf_event_header header{};
  std::memcpy(&header, record.data(), sizeof header);
  std::span<const std::byte> body = record.subspan(sizeof header);
  PerfRecord decoded;
  if (header.type == PERF_RECORD_SAMPLE) {
    return take_sample(body, header.misc, decoded) ? std::optional(std::move(decoded)) : std::nullopt;
  }
  if (body.size() < k_trailer_bytes) return std::nullopt;
  Fields trailer(body.last(8));
  body = body.first(body.size() - k_trailer_bytes);
  bool whole = false;
  if (header.type == PERF_RECORD_MMAP2) whole = take_mapping(body, decoded);
  if (header.type == PERF_RECORD_COMM) whole = take_name(body, header.misc, decoded);
  if (header.type == PERF_RECORD_FORK) whole = take_life(body, PerfKind::fork, decoded);
  if (header.type == PERF_RECORD_EXIT) whole = take_life(body, PerfKind::exit, decoded);
  if (header.type == PERF_RECORD_LOST) whole = take_lost(body, decoded);
  if (!whole) return std::nullopt;
  decoded.time_ns = trailer.next<std::uint64_t>();
  return decoded;
}

RingRead read_ring(std::span<const std::byte> data, std::uint64_t tail, std::uint64_t head,
                   const std::function<void(std::span<const std::byte>)>& take) {
  const std::uint64_t mask = data.size() - 1;
  std::array<std::byte, UINT16_MAX + 1> whole;
  while (tail < head) {
    // Records are aligned to 8 bytes, so a header never wraps.
    perf_event_header header{};
    const std::uint64_t at = tail & mask;
    if (head - tail < sizeof header || data.size() - at < sizeof header) return {head, true};
    std::memcpy(&header, data.data() + at, sizeof header);
    if (header.size < sizeof header || header.size % 8 != 0 || header.size > head - tail || header.size > data.size()) {
      return {head, true};
    }
    const std::size_t before_end = std::min<std::size_t>(header.size, data.size() - at);
    if (before_end == header.size) {
      take(data.subspan(at, header.size));
    } else {
      std::memcpy(whole.data(), data.data() + at, before_end);
      std::memcpy(whole.data() + before_end, data.data(), header.size - before_end);
      take(std::span<const std::byte>(whole).first(header.size));
    }
    tail += header.size;
  }
  return {tail, false};
}

}  // namespace stallcast::collect
