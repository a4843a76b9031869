/// libstallcast_cupti.so as the CUDA driver would use it, in a process of its own, with a libcupti that plays a script.
/// No GPU is needed.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "analyzer/load/gpu_recording.hpp"
#include "core/clock.hpp"
#include "probes/record/control.hpp"

namespace {

void (*g_at_wait)() = nullptr;

}  // namespace

/// The capture library's: this program plays it.
extern "C" __attribute__((visibility("default"), used)) void stallcast_at_wait(void (*function)());
void stallcast_at_wait(void (*function)()) {
  g_at_wait = function;
}

namespace stallcast {
namespace {

namespace fs = std::filesystem;

using Yield = void (*)(const char*);

std::string new_folder() {
  std::string folder = (fs::temp_directory_path() / "stallcast-XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  return folder;
}

/// What a process that uses a GPU for `milliseconds` leaves.
GpuRecording recorded(const char* script, int milliseconds, bool yields = false, const char* probe = "always",
                      const std::string& folder = new_folder(), const std::function<void()>& train = {}) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    setenv("STALLCAST_RUN_DIR", folder.c_str(), 1);
    setenv("STALLCAST_CUPTI_LIB", STALLCAST_FAKE_CUPTI_LIB, 1);
    setenv("STALLCAST_FAKE_CUPTI", script, 1);
    setenv("STALLCAST_GPU_PROBE", probe, 1);
    void* library = dlopen(STALLCAST_GPU_LIB, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) _exit(3);
    const auto initialize = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
    if (initialize == nullptr || initialize() != 1 || initialize() != 1) _exit(4);
    if (train) train();
    usleep(static_cast<useconds_t>(milliseconds) * 1000);
    if (yields) reinterpret_cast<Yield>(dlsym(library, "stallcast_gpu_yield"))("torch.profiler");
    if (yields) usleep(600'000);
    std::exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == 0);
  std::ifstream file(folder + "/gpu-" + std::to_string(child) + ".jsonl");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  GpuRecording recording = parse_gpu_recording(text);
  CHECK(recording.pid == child);
  CHECK(recording.bad_lines == 0);
  CHECK(recording.run_folder == fs::path(folder).filename().string());
  return recording;
}

void check_script(const GpuRecording& recording) {
  CHECK(recording.absent.empty());
  CHECK(recording.dropped == 0);
  REQUIRE(recording.devices.count(0) == 1);
  const GpuCourse& device = recording.devices.at(0);
  const auto over_all = [&](const Cumulative& of) { return of.between(recording.begin_ns, recording.covered_ns); };
  const double kernels = over_all(device.kernels);
  REQUIRE(kernels >= 2.0);
  CHECK(over_all(device.bytes_in) == doctest::Approx(kernels * 1e6).epsilon(0.35));  // the last may be cut
  CHECK(over_all(device.exposed) / over_all(device.busy) == doctest::Approx(0.2).epsilon(0.2));
  CHECK(over_all(device.busy) <= kernels * 0.030 + 1e-9);
  CHECK(over_all(device.pageable) == over_all(device.bytes_in));
}

TEST_CASE("records become bins of time, in our clock") {
  check_script(recorded("good", 2600));
}

TEST_CASE("a libcupti whose clock is its own") {
  check_script(recorded("old", 2600));
}

TEST_CASE("somebody else holds CUPTI: the recording names the error") {
  const GpuRecording recording = recorded("held", 50);
  CHECK(recording.devices.empty());
  CHECK(recording.absent.find("MULTIPLE_SUBSCRIBERS") != std::string::npos);
  CHECK(recording.absent.find("(39)") != std::string::npos);
}

TEST_CASE("a part of a GPU (MIG) that CUPTI refuses: the recording names the error") {
  const GpuRecording recording = recorded("mig", 50);
  CHECK(recording.devices.empty());
  CHECK(recording.absent.find("MIG_DEVICE_NOT_SUPPORTED (43)") != std::string::npos);
}

TEST_CASE("records for which CUPTI had no room are counted") {
  const GpuRecording recording = recorded("full", 1200);
  CHECK(recording.dropped >= 5);
  CHECK(recording.devices.empty());
}

TEST_CASE("the job's own profiler gets CUPTI, and the recording says until when it holds") {
  const GpuRecording recording = recorded("good", 1700, /*yields=*/true);
  CHECK(recording.absent == "yielded to torch.profiler");
  CHECK(recording.devices.count(0) == 1);
}

constexpr std::uint64_t k_block_at = 250;

/// A run whose processes are given a batch every 10 ms, and whose block begins at batch `block_at`.
record::ControlBlock* new_control(const std::string& folder, std::uint64_t block_at) {
  const int fd = open((folder + "/control").c_str(), O_RDWR | O_CREAT, 0600);
  REQUIRE(ftruncate(fd, sizeof(record::ControlBlock)) == 0);
  void* at = mmap(nullptr, sizeof(record::ControlBlock), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  REQUIRE(at != MAP_FAILED);
  auto* control = static_cast<record::ControlBlock*>(at);
  std::copy(std::begin(record::k_control_magic), std::end(record::k_control_magic), std::begin(control->magic));
  control->abi = record::k_control_abi;
  control->recording = 1;
  control->segments[0] = {block_at, 0, 1000, static_cast<std::uint32_t>(record::Phase::cold), 0, 0, 0, 0};
  control->segment_count = 1;
  return control;
}

/// What a training thread does.
void take_batches(record::ControlBlock& control, int count) {
  control.ranks[0].pid = static_cast<std::uint64_t>(getpid());
  for (int i = 0; i < count; ++i) {
    if (g_at_wait != nullptr) g_at_wait();
    ++control.ranks[0].batches;
    if (++control.phases[0].turns == k_block_at) control.heartbeat_ns = monotonic_ns();
    usleep(10'000);
  }
}

TEST_CASE("records are of windows in the steps as found, and there are none of a block") {
  const std::string folder = new_folder();
  record::ControlBlock* control = new_control(folder, k_block_at);  // in 2.5 s
  const GpuRecording recording = recorded("good", 100, false, "on", folder, [control] { take_batches(*control, 400); });
  const std::uint64_t block_ns = control->heartbeat_ns;
  munmap(control, sizeof(record::ControlBlock));
  CHECK(recording.absent.empty());
  CHECK(!recording.always);
  CHECK(recording.opened == static_cast<std::int64_t>(recording.windows.size()));
  REQUIRE(!recording.windows.empty());
  CHECK(recording.windows.size() <= 5);
  const GpuWindow& first = recording.windows.front();
  for (const GpuWindow& window : recording.windows) {
    CAPTURE(window.open_ns - first.open_ns);
    CHECK(window.begin_ns >= window.open_ns);
    CHECK(window.end_ns - window.open_ns < 1'000'000'000);
    CHECK(window.end_ns < block_ns);
  }
  CHECK(recording.devices.at(0).busy.between(first.open_ns, recording.covered_ns) > 0.0);
}

TEST_CASE("CUPTI is called by the thread that takes batches, and by no other") {
  const std::string folder = new_folder();
  record::ControlBlock* control = new_control(folder, 100'000);
  const GpuRecording recording = recorded("good", 100, false, "on", folder, [control] {
    std::thread other([control] { take_batches(*control, 100); });
    other.join();
  });
  munmap(control, sizeof(record::ControlBlock));
  CHECK(recording.devices.empty());
  CHECK(recording.windows.empty());
}

TEST_CASE("a run whose control block cannot be read") {
  const GpuRecording recording = recorded("good", 50, false, "on");
  CHECK(recording.devices.empty());
  CHECK(recording.absent.find("control block") != std::string::npos);
}

TEST_CASE("a library that is no libcupti") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    unsetenv("STALLCAST_RUN_DIR");  // a process outside of a run: nothing happens
    void* library = dlopen(STALLCAST_GPU_LIB, RTLD_NOW | RTLD_LOCAL);
    const auto initialize = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
    _exit(initialize() == 1 ? 0 : 5);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace stallcast
