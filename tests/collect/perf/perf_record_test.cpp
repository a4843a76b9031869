/// The kernel's records from bytes that we lay out ourselves, and what lies where in a process that they tell of.
#include "probes/collect/perf/perf_record.hpp"

#include <doctest/doctest.h>
#include <linux/perf_event.h>

#include <cstring>
#include <vector>

#include "probes/collect/perf/address_spaces.hpp"
#include "probes/collect/perf/cpu_samples.hpp"

namespace stallcast::collect {
namespace {

/// Lays out one record: header, numbers, text, and the ids at its end where it is no sample.
class Bytes {
 public:
  Bytes(std::uint32_t type, std::uint16_t misc) {
    put(type);
    put(misc);
    put(std::uint16_t{0});
  }
  template <class T>
  Bytes& put(T value) {
    const auto* raw = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), raw, raw + sizeof value);
    return *this;
  }
  Bytes& text(const char* value) {
    for (const char* c = value; *c != '\0'; ++c) bytes_.push_back(static_cast<std::byte>(*c));
    do {
      bytes_.push_back(std::byte{0});
    } while (bytes_.size() % 8 != 0);
    return *this;
  }
  Bytes& ids(std::uint32_t pid, std::uint32_t tid, std::uint64_t time) { return put(pid).put(tid).put(time); }
  [[nodiscard]] std::vector<std::byte> take() {
    const auto size = static_cast<std::uint16_t>(bytes_.size());
    std::memcpy(bytes_.data() + 6, &size, sizeof size);
    return bytes_;
  }

 private:
  std::vector<std::byte> bytes_{};
};

std::vector<std::byte> sample(std::uint64_t ip, std::uint32_t pid, std::uint64_t time,
                              std::uint16_t misc = PERF_RECORD_MISC_USER) {
  return Bytes(PERF_RECORD_SAMPLE, misc).put(ip).ids(pid, pid + 1, time).take();
}

std::vector<std::byte> mapping(std::uint32_t pid, std::uint64_t address, std::uint64_t length, std::uint64_t offset,
                               const char* path, std::uint64_t time) {
  Bytes bytes(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
  bytes.put(pid).put(pid).put(address).put(length).put(offset);
  bytes.put(std::uint64_t{0}).put(std::uint64_t{77}).put(std::uint64_t{0}).put(std::uint64_t{5});
  return bytes.text(path).ids(pid, pid, time).take();
}

std::vector<std::byte> fork(std::uint32_t pid, std::uint32_t parent, std::uint64_t time) {
  return Bytes(PERF_RECORD_FORK, 0).put(pid).put(parent).put(pid).put(parent).put(time).ids(pid, pid, time).take();
}

PerfRecord decoded(const std::vector<std::byte>& bytes) {
  const auto record = decode_perf_record(bytes);
  REQUIRE(record.has_value());
  return *record;
}

TEST_CASE("a sample: address, process, thread, time, user or kernel") {
  const PerfRecord record = decoded(sample(0x1234, 40, 99));
  CHECK(record.kind == PerfKind::sample);
  CHECK(record.address == 0x1234);
  CHECK(record.pid == 40);
  CHECK(record.tid == 41);
  CHECK(record.time_ns == 99);
  CHECK_FALSE(record.kernel);
  CHECK(decoded(sample(1, 1, 1, PERF_RECORD_MISC_KERNEL)).kernel);
}

TEST_CASE("mappings, names, forks, ends and losses") {
  const PerfRecord map = decoded(mapping(7, 0x7000, 0x2000, 0x1000, "/usr/lib/libjpeg.so.62", 5));
  CHECK(map.kind == PerfKind::mapping);
  CHECK(map.address == 0x7000);
  CHECK(map.length == 0x2000);
  CHECK(map.offset == 0x1000);
  CHECK(map.text == "/usr/lib/libjpeg.so.62");
  CHECK(map.time_ns == 5);
  Bytes name(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
  const PerfRecord exec = decoded(name.put(7U).put(7U).text("python3").ids(7, 7, 6).take());
  CHECK(exec.kind == PerfKind::name);
  CHECK(exec.exec);
  CHECK(exec.text == "python3");
  const PerfRecord born = decoded(fork(8, 7, 9));
  CHECK(born.kind == PerfKind::fork);
  CHECK(born.pid == 8);
  CHECK(born.parent_pid == 7);
  CHECK(born.time_ns == 9);
  Bytes lost(PERF_RECORD_LOST, 0);
  const PerfRecord loss = decoded(lost.put(std::uint64_t{1}).put(std::uint64_t{12}).ids(0, 0, 3).take());
  CHECK(loss.kind == PerfKind::lost);
  CHECK(loss.count == 12);
}

TEST_CASE("records that are cut short, or of kinds that we do not use, are nothing") {
  for (const auto& whole : {sample(1, 2, 3), mapping(7, 1, 2, 3, "x", 5), fork(8, 7, 9)}) {
    for (std::size_t size = 0; size < whole.size(); size += 8) {
      const auto cut = decode_perf_record(std::span(whole).first(size));
      if (cut) CHECK(cut->text.size() <= size);  // a mapping may lose its path and still be one
    }
  }
  CHECK_FALSE(decode_perf_record(Bytes(PERF_RECORD_THROTTLE, 0).ids(1, 1, 1).take()).has_value());
  CHECK_FALSE(decode_perf_record({}).has_value());
}

TEST_CASE("a ring is read in order, around its end, and up to what cannot be a record") {
  std::vector<std::byte> ring(256);
  std::uint64_t head = 0;
  const auto append = [&](const std::vector<std::byte>& record) {
    for (const std::byte byte : record) ring[head++ % ring.size()] = byte;
  };
  std::vector<std::uint64_t> times;
  const auto take = [&](std::span<const std::byte> bytes) { times.push_back(decode_perf_record(bytes)->time_ns); };
  std::uint64_t tail = 0;
  std::vector<std::uint64_t> expected;
  for (std::uint64_t i = 1; i <= 30; ++i) {  // 32 bytes each, 3 at a time: the ring wraps again and again
    append(sample(1, 2, i));
    expected.push_back(i);
    if (i % 3 != 0) continue;
    append(mapping(7, 1, 2, 3, "/a/path", 1000 + i));
    expected.push_back(1000 + i);
    const RingRead read = read_ring(ring, tail, head, take);
    CHECK_FALSE(read.damaged);
    tail = read.tail;
    CHECK(tail == head);
  }
  CHECK(times == expected);
  append(std::vector<std::byte>(32, std::byte{0}));
  append(sample(1, 2, 99));
  const RingRead broken = read_ring(ring, tail, head, take);
  CHECK(broken.damaged);
  CHECK(broken.tail == head);
  CHECK(times == expected);
}

TEST_CASE("a child has its parent's mappings until it execs; what is mapped later replaces what was there") {
  AddressSpaces spaces;
  const auto place = [&](std::uint32_t pid, std::uint64_t ip) { return spaces.place_of(decoded(sample(ip, pid, 1))); };
  const auto path = [&](std::uint32_t pid, std::uint64_t ip) { return spaces.files()[place(pid, ip).file]; };
  spaces.take(decoded(mapping(7, 0x7000, 0x3000, 0x1000, "/lib/a.so", 1)));
  CHECK(path(7, 0x7123) == "/lib/a.so");
  CHECK(place(7, 0x7123).offset == 0x1123);
  CHECK(path(7, 0x6fff) == "[unknown]");
  CHECK(path(7, 0xa000) == "[unknown]");
  CHECK(path(9, 0x7123) == "[unknown]");
  spaces.take(decoded(fork(8, 7, 2)));
  CHECK(path(8, 0x7123) == "/lib/a.so");
  spaces.take(decoded(mapping(8, 0x8000, 0x1000, 0, "/lib/b.so", 3)));
  CHECK(path(8, 0x8010) == "/lib/b.so");
  CHECK(path(8, 0x7fff) == "/lib/a.so");
  CHECK(path(8, 0x9010) == "/lib/a.so");
  CHECK(place(8, 0x9010).offset == 0x3010);
  CHECK(path(7, 0x8010) == "/lib/a.so");  // the parent's memory is its own
  spaces.take(decoded(mapping(7, 0x8000, 0x1000, 0, "//anon", 3)));
  CHECK(path(7, 0x8010) == "[jit]");
  Bytes name(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
  spaces.take(decoded(name.put(8U).put(8U).text("other").ids(8, 8, 4).take()));
  CHECK(path(8, 0x7123) == "[unknown]");
  CHECK(spaces.place_of(decoded(sample(0xffffffff81000000, 7, 1, PERF_RECORD_MISC_KERNEL))).file == k_in_kernel);
}

TEST_CASE("thousands of processes that come and go leave nothing behind") {
  AddressSpaces spaces;
  spaces.take(decoded(mapping(1, 0x1000, 0x1000, 0, "/bin/sh", 1)));
  for (std::uint32_t pid = 2; pid < 5000; ++pid) {
    spaces.take(decoded(fork(pid, 1, pid)));
    spaces.take(decoded(mapping(pid, 0x5000, 0x1000, 0, "/bin/true", pid)));
    Bytes end(PERF_RECORD_EXIT, 0);
    end.put(pid).put(1U).put(pid).put(1U).put(std::uint64_t{pid});
    spaces.take(decoded(end.ids(pid, pid, pid).take()));
  }
  CHECK(spaces.processes() < 500);
  CHECK(spaces.files().size() == 5);
}

NameLookup by_offset() {
  return [](const std::string& path, const std::vector<std::uint64_t>& offsets) {
    std::vector<std::string> names;
    for (const std::uint64_t offset : offsets) names.push_back(path + (offset < 0x100 ? ":low" : ":high"));
    return names;
  };
}

TEST_CASE("samples find their names, whichever CPU's ring came first") {
  CpuSamples samples;
  samples.add(decoded(sample(0x7010, 7, 20)));
  samples.add(decoded(sample(0x7210, 7, 40)));
  samples.add(decoded(mapping(7, 0x7000, 0x1000, 0, "/lib/a.so", 10)));  // from another ring, and older
  samples.settle(30);
  CHECK(samples.size() == 1);
  samples.settle(UINT64_MAX);
  record::CpuRecording recording;
  samples.give_names(by_offset(), recording);
  REQUIRE(recording.samples.size() == 2);
  CHECK(recording.samples[0].t_ns == 20);
  CHECK(recording.symbols[recording.samples[0].symbol].library == "a.so");
  CHECK(recording.symbols[recording.samples[0].symbol].function == "/lib/a.so:low");
  CHECK(recording.symbols[recording.samples[1].symbol].function == "/lib/a.so:high");
}

TEST_CASE("too many samples: what is kept is spread over all of the run") {
  CpuSamples samples(64);
  for (std::uint64_t t = 0; t < 1000; ++t) samples.add(decoded(sample(1, 7, t)));
  samples.settle(UINT64_MAX);
  record::CpuRecording recording;
  samples.give_names(by_offset(), recording);
  CHECK(recording.samples.size() < 64);
  CHECK(recording.samples.size() >= 32);
  CHECK(recording.keep_one_in == 16);
  const auto early = std::count_if(recording.samples.begin(), recording.samples.end(),
                                   [](const record::CpuSample& s) { return s.t_ns < 500; });
  const auto all = static_cast<std::ptrdiff_t>(recording.samples.size());
  CHECK(early >= all / 2 - 1);
  CHECK(early <= all / 2 + 1);
}

}  // namespace
}  // namespace stallcast::collect
