#include "probes/record/cpu_recording.hpp"

#include <bit>
#include <cstring>

namespace stallcast::record {
namespace {

constexpr std::string_view k_cpu_magic = "STALLCPU";
constexpr std::uint32_t k_cpu_version = 1;
constexpr std::size_t k_sample_bytes = 20;

static_assert(std::endian::native == std::endian::little);

class Output {
 public:
  template <class T>
  void number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(const std::string& value) {
    number(static_cast<std::uint32_t>(value.size()));
    bytes_ += value;
  }
  void count(std::size_t value) { number(static_cast<std::uint64_t>(value)); }
  void raw(std::string_view value) { bytes_ += value; }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_{};
};

/// After the end of the bytes everything reads as zero, and ok() is false.
class Input {
 public:
  explicit Input(std::string_view bytes) : left_(bytes) {}

  template <class T>
  T number() {
    T value{};
    const std::string_view from = take(sizeof value);
    if (!from.empty()) std::memcpy(&value, from.data(), sizeof value);
    return value;
  }
  std::string text() { return std::string(take(number<std::uint32_t>())); }

  /// A count of items of at least `least_bytes` each: damage must not make us allocate.
  std::size_t count(std::size_t least_bytes) {
    const auto value = number<std::uint64_t>();
    if (value <= left_.size() / least_bytes) return static_cast<std::size_t>(value);
    ok_ = false;
    return 0;
  }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  std::string_view take(std::size_t bytes) {
    ok_ = ok_ && bytes <= left_.size();
    if (!ok_) return {};
    const std::string_view taken = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return taken;
  }

  std::string_view left_;
  bool ok_ = true;
};

void write_counters(const CpuRecording& recording, Output& out) {
  out.count(recording.counters.size());
  for (const CpuCounter& counter : recording.counters) {
    out.text(counter.name);
    out.text(counter.absent);
  }
  out.count(recording.readings.size());
  for (const CpuReading& reading : recording.readings) {
    out.number(reading.t_ns);
    for (const CpuCount& count : reading.counts) {
      out.number(count.value);
      out.number(count.enabled_ns);
      out.number(count.running_ns);
    }
  }
}

void write_samples(const CpuRecording& recording, Output& out) {
  out.count(recording.names.size());
  for (const CpuProcessName& process : recording.names) {
    out.number(process.pid);
    out.text(process.name);
  }
  out.count(recording.symbols.size());
  for (const CpuSymbol& symbol : recording.symbols) {
    out.text(symbol.library);
    out.text(symbol.function);
  }
  out.count(recording.samples.size());
  for (const CpuSample& sample : recording.samples) {
    out.number(sample.t_ns);
    out.number(sample.pid);
    out.number(sample.tid);
    out.number(sample.symbol);
  }
}

void read_counters(Input& in, CpuRecording& recording) {
  for (std::size_t left = in.count(8); left > 0; --left) {
    CpuCounter& counter = recording.counters.emplace_back();
    counter.name = in.text();
    counter.absent = in.text();
  }
  const std::size_t width = recording.counters.size();
  for (std::size_t left = in.count(8 + width * 24); left > 0; --left) {
    CpuReading& reading = recording.readings.emplace_back();
    reading.t_ns = in.number<std::uint64_t>();
    reading.counts.resize(width);
    for (CpuCount& count : reading.counts) {
      count.value = in.number<std::uint64_t>();
      count.enabled_ns = in.number<std::uint64_t>();
      count.running_ns = in.number<std::uint64_t>();
    }
  }
}

void read_samples(Input& in, CpuRecording& recording) {
  for (std::size_t left = in.count(8); left > 0; --left) {
    CpuProcessName& process = recording.names.emplace_back();
    process.pid = in.number<std::int32_t>();
    process.name = in.text();
  }
  for (std::size_t left = in.count(8); left > 0; --left) {
    CpuSymbol& symbol = recording.symbols.emplace_back();
    symbol.library = in.text();
    symbol.function = in.text();
  }
  const std::size_t samples = in.count(k_sample_bytes);
  recording.samples.reserve(samples);
  for (std::size_t left = samples; left > 0; --left) {
    CpuSample sample;
    sample.t_ns = in.number<std::uint64_t>();
    sample.pid = in.number<std::int32_t>();
    sample.tid = in.number<std::int32_t>();
    sample.symbol = in.number<std::uint32_t>();
    recording.samples.push_back(sample);
  }
}

Error damaged(const std::string& what) {
  return {ErrorCode::bad_input, "the samples of CPU time " + what, "copy the recordings again if they were copied"};
}

}  // namespace

std::string encode_cpu_recording(const CpuRecording& recording) {
  Output out;
  out.raw(k_cpu_magic);
  out.number(k_cpu_version);
  out.text(recording.run_id);
  out.text(recording.absent);
  out.number(recording.hz);
  out.number(static_cast<std::uint32_t>(recording.kernel));
  out.number(recording.lost);
  out.number(recording.keep_one_in);
  write_counters(recording, out);
  write_samples(recording, out);
  return out.take();
}

Result<CpuRecording> parse_cpu_recording(std::string_view bytes) {
  if (!bytes.starts_with(k_cpu_magic)) return damaged("are no file of stallcast's");
  Input in(bytes.substr(k_cpu_magic.size()));
  const auto version = in.number<std::uint32_t>();
  if (version > k_cpu_version) {
    return Error{
        ErrorCode::bad_input,
        "the samples of CPU time are of version " + std::to_string(version) + ", which is newer than this tool",
        "analyse them with the stallcast that recorded them, or a later one"};
  }
  CpuRecording recording;
  recording.run_id = in.text();
  recording.absent = in.text();
  recording.hz = in.number<double>();
  recording.kernel = in.number<std::uint32_t>() != 0;
  recording.lost = in.number<std::uint64_t>();
  recording.keep_one_in = in.number<std::uint32_t>();
  read_counters(in, recording);
  read_samples(in, recording);
  if (!in.ok()) return damaged("are cut off or damaged");
  for (const CpuSample& sample : recording.samples) {
    if (sample.symbol >= recording.symbols.size()) return damaged("name a symbol that is not there");
  }
  return recording;
}

}  // namespace stallcast::record
