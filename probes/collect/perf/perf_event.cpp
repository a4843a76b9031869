#include "probes/collect/perf/perf_event.hpp"

#include <fmt/format.h>

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "probes/collect/perf/perf_record.hpp"
#include "probes/collect/system/text_file.hpp"

namespace stallcast::collect {
namespace {

struct CounterKind {
  const char* name;
  std::uint32_t type;
  std::uint64_t event;
  bool in_kernel;  ///< happens there: not to be had where only user space may be watched
};

constexpr CounterKind k_counters[] = {
    {"task_clock_ns", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, false},
    {"context_switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, true},
    {"migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, true},
    {"minor_faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, true},
    {"major_faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, true},
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, false},
    {"llc_misses", PERF_TYPE_HW_CACHE,
     PERF_COUNT_HW_CACHE_LL | (PERF_COUNT_HW_CACHE_OP_READ << 8U) | (PERF_COUNT_HW_CACHE_RESULT_MISS << 16U), false},
};

perf_event_attr attributes_of(std::uint32_t type, std::uint64_t event, bool kernel) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = type;
  attributes.config = event;
  attributes.disabled = 1;
  attributes.inherit = 1;
  attributes.enable_on_exec = 1;
  attributes.exclude_kernel = kernel ? 0 : 1;
  attributes.exclude_hv = 1;
  return attributes;
}

/// For the calling thread; `cpu` -1: wherever it runs.
int open_event(perf_event_attr& attributes, int cpu) {
  return static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, cpu, -1, PERF_FLAG_FD_CLOEXEC));
}

std::string why_no_counter(const CounterKind& kind, int reason) {
  const bool hardware = kind.type != PERF_TYPE_SOFTWARE;
  if (hardware && (reason == ENOENT || reason == EOPNOTSUPP || reason == ENODEV || reason == EINVAL)) {
    return "this machine has no such counter (a virtual machine without them)";
  }
  return perf_refusal(reason).what;
}

/// What both events of a ring record with each entry.
void set_records(perf_event_attr& attributes) {
  attributes.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  attributes.sample_id_all = 1;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  attributes.watermark = 1;  // nobody waits for it: the tool looks ten times a second
  attributes.wakeup_watermark = 1U << 30U;
}

}  // namespace

PerfPermission ask_perf() {
  PerfPermission permission;
  for (const bool kernel : {true, false}) {
    perf_event_attr attributes = attributes_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, kernel);
    const int file = open_event(attributes, -1);
    if (file < 0) {
      permission.reason = errno;
      continue;
    }
    close(file);
    permission.user = true;
    permission.kernel = kernel;
    break;
  }
  return permission;
}

Error perf_refusal(int reason) {
  const auto level = read_text("/proc/sys/kernel/perf_event_paranoid");
  const std::string setting = level ? std::string(trim(*level)) : "not readable";
  std::string what = fmt::format("the kernel refused perf_event_open ({}; kernel.perf_event_paranoid is {})",
                                 std::strerror(reason), setting);
  if (reason == ENOSYS) return {ErrorCode::environment, std::move(what), "this kernel has no perf events"};
  if (reason == EMFILE || reason == ENFILE) return {ErrorCode::environment, std::move(what), "raise ulimit -n"};
  return {ErrorCode::environment, std::move(what),
          "sysctl kernel.perf_event_paranoid=2 (root); in a container also a seccomp profile that allows "
          "perf_event_open (docker: --cap-add=PERFMON)"};
}

PerfCounters::~PerfCounters() {
  for (const int file : files_) {
    if (file >= 0) close(file);
  }
}

void PerfCounters::open(bool kernel) {
  for (const CounterKind& kind : k_counters) {
    record::CpuCounter counter{kind.name, {}};
    int file = -1;
    if (kind.in_kernel && !kernel) {
      counter.absent = "it happens in the kernel, which may not be watched: kernel.perf_event_paranoid=1 allows it";
    } else {
      perf_event_attr attributes = attributes_of(kind.type, kind.event, kernel);
      attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
      file = open_event(attributes, -1);
      if (file < 0) counter.absent = why_no_counter(kind, errno);
    }
    counters_.push_back(std::move(counter));
    files_.push_back(file);
  }
}

record::CpuReading PerfCounters::read(std::uint64_t now_ns) const {
  record::CpuReading reading{now_ns, std::vector<record::CpuCount>(files_.size())};
  for (std::size_t i = 0; i < files_.size(); ++i) {
    std::uint64_t values[3] = {};
    if (files_[i] < 0 || ::read(files_[i], values, sizeof values) != sizeof values) continue;
    reading.counts[i] = {values[0], values[1], values[2]};
  }
  return reading;
}

bool PerfRing::map(std::size_t pages) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* memory = mmap(nullptr, (1 + pages) * page, PROT_READ | PROT_WRITE, MAP_SHARED, facts_, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = static_cast<std::byte*>(memory);
  bytes_ = (1 + pages) * page;
  return true;
}

Result<std::optional<PerfRing>> PerfRing::open(int cpu, std::uint64_t period_ns, bool kernel, std::size_t pages) {
  PerfRing ring;
  perf_event_attr facts = attributes_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, kernel);
  set_records(facts);
  facts.mmap = 1;
  facts.mmap2 = 1;
  facts.comm = 1;
  facts.comm_exec = 1;
  facts.task = 1;
  ring.facts_ = open_event(facts, cpu);
  if (ring.facts_ < 0 && (errno == ENODEV || errno == EINVAL)) return std::optional<PerfRing>();
  if (ring.facts_ < 0) return perf_refusal(errno);
  perf_event_attr samples = attributes_of(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, kernel);
  set_records(samples);
  samples.sample_period = period_ns;
  ring.samples_ = open_event(samples, cpu);
  if (ring.samples_ < 0) return perf_refusal(errno);
  // Locked memory is scarce for ordinary users: rather a small ring than none.
  while (!ring.map(pages)) {
    const int reason = errno;
    pages /= 2;
    if (pages >= 4) continue;
    return Error{ErrorCode::environment,
                 fmt::format("no memory could be locked for samples of CPU time: {}", std::strerror(reason)),
                 "raise ulimit -l or kernel.perf_event_mlock_kb"};
  }
  if (ioctl(ring.samples_, PERF_EVENT_IOC_SET_OUTPUT, ring.facts_) != 0) return perf_refusal(errno);
  return std::optional<PerfRing>(std::move(ring));
}

PerfRing::PerfRing(PerfRing&& other) noexcept
    : facts_(std::exchange(other.facts_, -1)),
      samples_(std::exchange(other.samples_, -1)),
      memory_(std::exchange(other.memory_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

PerfRing::~PerfRing() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
  if (samples_ >= 0) close(samples_);
  if (facts_ >= 0) close(facts_);
}

std::uint64_t PerfRing::drain(const std::function<void(std::span<const std::byte>)>& take) {
  auto* page = reinterpret_cast<perf_event_mmap_page*>(memory_);
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t head = std::atomic_ref<__u64>(page->data_head).load(std::memory_order_acquire);
  const std::span<const std::byte> data(memory_ + page_bytes, bytes_ - page_bytes);
  const RingRead read = read_ring(data, page->data_tail, head, take);
  std::atomic_ref<__u64>(page->data_tail).store(read.tail, std::memory_order_release);
  return read.damaged ? 1 : 0;
}

void PerfRing::sample(bool on) const {
  ioctl(samples_, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

}  // namespace stallcast::collect
