/// libstallcast_cupti.so: the CUDA driver loads it into a process that uses a GPU (CUDA_INJECTION64_PATH) and calls
/// InitializeInjection() from within cuInit. In short windows (windows.hpp) CUPTI then hands over records of kernels,
/// copies and waits; a thread of ours folds them into bins and appends those to gpu-PID.jsonl in the run's folder.
///
/// CUPTI is switched and asked by the thread that trains alone, and only where it is about to wait for a batch, when
/// that launches nothing: the capture library calls at_wait(). (It is set up within cuInit, and left at exit or where
/// the job's own profiler begins.) A second thread that did so while kernels were launched ended one process of
/// eight with SIGSEGV (CUPTI 13.0; docs/gpu.md). With STALLCAST_GPU_PROBE=always it records all the time, and asks
/// for records from its own thread; with =often it hardly rests. Both are for tests.
///
/// A guest's rules: memory is bounded (buffers, intervals that are kept), what does not fit is dropped and counted; an
/// error of CUPTI's ends our part and leaves its words; the job's own profiler comes first (stallcast_gpu_yield).
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/clock.hpp"
#include "probes/capture/gpu/cupti.hpp"
#include "probes/capture/gpu/devices.hpp"
#include "probes/capture/gpu/lines.hpp"
#include "probes/capture/gpu/records.hpp"
#include "probes/capture/gpu/windows.hpp"
#include "probes/record/control.hpp"
#include "probes/record/gpu_file.hpp"

namespace stallcast::gpu {
namespace {

constexpr std::uint64_t k_period_ns = 500'000'000;      ///< of asking for records
constexpr std::uint64_t k_patience_ns = 1'000'000'000;  ///< after which an interval that ended has come
constexpr char k_switch[] = "STALLCAST_GPU_PROBE";
constexpr std::array k_kinds = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION};

std::uint64_t now_ns() {
  return monotonic_ns();
}

bool switch_is(const char* word) {
  const char* set = std::getenv(k_switch);
  return set != nullptr && std::strcmp(set, word) == 0;
}

bool records_always() {
  return switch_is("always");
}

/// The run's control block, to read; null where there is none of our version.
const record::ControlBlock* map_control(const std::string& run_folder) {
  const int fd = open((run_folder + "/" + record::k_control_file).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return nullptr;
  struct stat file {};
  void* at = MAP_FAILED;
  if (fstat(fd, &file) == 0 && file.st_size >= static_cast<off_t>(sizeof(record::ControlBlock)))
    at = mmap(nullptr, sizeof(record::ControlBlock), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (at == MAP_FAILED) return nullptr;
  const auto* control = static_cast<const record::ControlBlock*>(at);
  const bool ours = std::memcmp(control->magic, record::k_control_magic, sizeof control->magic) == 0 &&
                    control->abi == record::k_control_abi;
  return ours ? control : nullptr;
}

class Probe {
 public:
  explicit Probe(const std::string& run_folder);

  void start();
  /// The thread that trains is about to wait for a batch.
  void at_wait();
  /// Ends our part for good; `reason` stands in the recording.
  void stop(const std::string& reason);
  void finish();

  void give_buffer(std::uint8_t** buffer, std::size_t* size) { records_.give_buffer(buffer, size); }
  void take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t bytes) {
    records_.take_buffer(cupti_, context, stream, buffer, bytes, offset_ns_);
  }

 private:
  void run();
  CUptiResult switch_on();
  void switch_off();
  void ask(std::uint64_t at_ns);
  void flush(std::uint64_t horizon_ns);
  void write(const std::string& text);
  [[nodiscard]] std::int64_t clock_offset() const;

  pid_t pid_ = getpid();
  std::string folder_;  ///< last component of the run's folder
  Cupti cupti_ = load_cupti();
  const record::ControlBlock* control_ = nullptr;  ///< null: it records always
  std::optional<std::uint32_t> slot_{};            ///< this and the next of the thread that trains
  bool often_ = switch_is("often");
  TraceWindows windows_{often_};
  std::atomic<std::uint64_t> asked_ns_{now_ns()};
  int fd_ = -1;
  bool own_clock_ = false;
  std::atomic<bool> ended_{false};
  std::atomic<std::int64_t> offset_ns_{0};
  Records records_{now_ns()};
  std::mutex telling_{};  ///< lines are written in the order in which they are made; CUPTI's threads never take it
  std::mutex sleeping_{};
  std::condition_variable wake_{};
};

Probe* g_probe = nullptr;  // never deleted: CUPTI may call until the process is gone

/// Has the capture library call us where a wait begins; false if it is not there.
bool call_at_waits() {
  const auto set = reinterpret_cast<void (*)(void (*)())>(dlsym(RTLD_DEFAULT, "stallcast_at_wait"));
  if (set == nullptr) return false;
  set([] {
    try {
      g_probe->at_wait();
    } catch (...) {
      // Out of memory: the job's code, which called us, knows no exceptions.
    }
  });
  return true;
}

void buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *most_records = 0;  // as many as fit
  g_probe->give_buffer(buffer, size);
}

void buffer_completed(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t, std::size_t bytes) {
  try {
    g_probe->take_buffer(context, stream, buffer, bytes);
  } catch (...) {
    // Out of memory: these records are lost, and CUPTI, which called us, knows no exceptions.
  }
}

Probe::Probe(const std::string& run_folder) : folder_(run_folder.substr(run_folder.rfind('/') + 1)) {
  const std::string path = run_folder + "/" + record::gpu_file(pid_);
  fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (!records_always()) control_ = map_control(run_folder);
}

/// A line that does not fit on the disk is torn: the last one that can be read says until when all is told.
void Probe::write(const std::string& text) {
  std::size_t done = 0;
  while (fd_ >= 0 && done < text.size()) {
    const ssize_t wrote = ::write(fd_, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      close(fd_);
      fd_ = -1;
      return;
    }
    done += static_cast<std::size_t>(wrote);
  }
}

void Probe::start() {
  std::uint32_t version = 0;
  if (cupti_.reason.empty()) cupti_.version(&version);
  write(to_line(FirstLine{pid_, folder_, now_ns(), cupti_.path, version, records_always()}));
  if (!cupti_.reason.empty()) return stop(cupti_.reason);
  if (control_ == nullptr && !records_always()) return stop("the run's control block could not be read");
  own_clock_ = cupti_.register_clock != nullptr && cupti_.register_clock(now_ns) == CUPTI_SUCCESS;
  CUptiResult result = cupti_.register_callbacks(buffer_requested, buffer_completed);
  if (result == CUPTI_SUCCESS && control_ == nullptr) result = switch_on();
  if (result != CUPTI_SUCCESS) return stop("CUPTI gives no records: " + cupti_.words(result));
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the job's signals are not for us
  try {
    std::thread(&Probe::run, this).detach();
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return stop("there was no room for a thread");
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (control_ != nullptr && !call_at_waits()) stop("the capture library is not there to say when to record");
}

void Probe::stop(const std::string& reason) {
  if (getpid() != pid_ || ended_.exchange(true)) return;
  if (cupti_.reason.empty()) {
    cupti_.flush_all(0);
    switch_off();
  }
  flush(now_ns());
  write(absent_line(now_ns(), reason));
  wake_.notify_all();
}

void Probe::finish() {
  if (getpid() != pid_ || ended_.exchange(true)) return;
  cupti_.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  flush(now_ns());
  wake_.notify_all();
}

CUptiResult Probe::switch_on() {
  records_.begin_window(now_ns());
  CUptiResult result = CUPTI_SUCCESS;
  for (std::size_t i = 0; result == CUPTI_SUCCESS && i < k_kinds.size(); ++i) result = cupti_.enable(k_kinds[i]);
  return result;
}

void Probe::switch_off() {
  records_.end_window(now_ns());
  for (const CUpti_ActivityKind kind : k_kinds) cupti_.disable(kind);
}

void Probe::run() {
  std::uint64_t told_ns = 0;
  while (!ended_) {
    {
      std::unique_lock lock(sleeping_);
      wake_.wait_for(lock, std::chrono::nanoseconds(k_period_ns), [this] { return ended_.load(); });
    }
    if (ended_) return;
    if (control_ == nullptr) ask(now_ns());
    const std::uint64_t asked_ns = asked_ns_;
    if (ended_ || asked_ns == told_ns) continue;
    told_ns = asked_ns;
    flush(asked_ns - k_patience_ns);
  }
}

void Probe::at_wait() {
  if (ended_) return;
  const std::uint64_t at_ns = now_ns();
  if (getpid() != pid_ || syscall(SYS_gettid) != pid_)
    return;  // a fork; or not the thread that trains, for all we know
  Look look = look_at(*control_, static_cast<std::uint64_t>(pid_), at_ns, slot_);
  look.kernels = records_.kernels();
  // What an earlier window left running would be taken for the beginning of the next.
  if (!windows_.open() && !often_ && records_.are_awaited()) look.as_found = false;
  const Change change = windows_.next(look);
  if (change == Change::end) {
    ask(at_ns);  // what is done now is not left to when the driver next thinks of it
    switch_off();
  } else if (change == Change::begin) {
    const CUptiResult result = switch_on();
    if (result != CUPTI_SUCCESS) stop("CUPTI gives no records: " + cupti_.words(result));
    if (ended_) switch_off();  // the job's profiler began meanwhile, on another thread
  } else if (at_ns >= asked_ns_ + k_period_ns && records_.are_awaited()) {
    ask(at_ns);
  }
}

/// Has CUPTI hand over what it has; our thread tells everything that ended a while before.
void Probe::ask(std::uint64_t at_ns) {
  if (!own_clock_) offset_ns_ = clock_offset();
  cupti_.flush_all(0);  // calls take_buffer(): the lock must be free
  asked_ns_ = at_ns;
}

/// CLOCK_MONOTONIC minus CUPTI's clock: of the try that took least.
std::int64_t Probe::clock_offset() const {
  std::int64_t offset = 0;
  std::uint64_t shortest = UINT64_MAX;
  for (int i = 0; i < 5; ++i) {
    std::uint64_t theirs = 0;
    const std::uint64_t before = now_ns();
    if (cupti_.timestamp(&theirs) != CUPTI_SUCCESS) continue;
    const std::uint64_t after = now_ns();
    if (after - before >= shortest) continue;
    shortest = after - before;
    offset = static_cast<std::int64_t>(before + shortest / 2 - theirs);
  }
  return offset;
}

/// Out of memory, it tells nothing more: the job goes on.
void Probe::flush(std::uint64_t horizon_ns) {
  const std::lock_guard lock(telling_);
  try {
    std::string text;
    for (const std::uint32_t device : records_.new_devices()) text += to_line(device_facts(device));
    write(text + records_.told_until(horizon_ns, control_ != nullptr, ended_));
  } catch (...) {
    ended_ = true;
  }
}

}  // namespace
}  // namespace stallcast::gpu

#define STALLCAST_GPU_EXPORT extern "C" __attribute__((visibility("default")))

/// What the CUDA driver calls, once a process. Always 1: a failure of ours is not the job's.
STALLCAST_GPU_EXPORT int InitializeInjection() {
  using stallcast::gpu::g_probe;
  const char* folder = std::getenv(stallcast::record::k_env_run_dir);
  if (g_probe != nullptr || folder == nullptr || *folder == '\0') return 1;
  try {
    g_probe = new stallcast::gpu::Probe(folder);
    g_probe->start();
    std::atexit([] { g_probe->finish(); });
  } catch (...) {
    // Out of memory or of threads: there is no GPU part then.
  }
  return 1;
}

/// The job is about to use CUPTI itself (torch.profiler): our part ends here, with `who` as the reason.
STALLCAST_GPU_EXPORT void stallcast_gpu_yield(const char* who) {
  using stallcast::gpu::g_probe;
  if (g_probe != nullptr) g_probe->stop(std::string("yielded to ") + (who != nullptr ? who : "the job's own profiler"));
}
