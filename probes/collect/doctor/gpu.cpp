/// doctor: accelerators, and the library that shows what they do. Nothing of it is loaded into this process.
#include <fmt/format.h>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "probes/collect/doctor/doctor.hpp"
#include "probes/collect/launch/command_facts.hpp"
#include "probes/collect/launch/installation.hpp"
#include "probes/collect/system/text_file.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    found.push_back(at->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool is_nvidia_device(const fs::path& path) {
  constexpr std::string_view k_device_prefix = "nvidia";
  const std::string name = path.filename().string();
  return name.size() > k_device_prefix.size() && name.compare(0, k_device_prefix.size(), k_device_prefix) == 0 &&
         std::all_of(name.begin() + k_device_prefix.size(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  ..." -> "535.104.05".
std::string driver_version(const std::string& text) {
  for (const std::string_view line : split_lines(text)) {
    for (const std::string_view word : split_fields(line)) {
      if (word.size() > 3 && word[0] >= '0' && word[0] <= '9' && word.find('.') != std::string_view::npos) {
        return std::string(word);
      }
    }
  }
  return "unknown";
}

int nvidia_devices(const fs::path& root) {
  const auto devices = entries(root / "dev");
  return static_cast<int>(std::count_if(devices.begin(), devices.end(), is_nvidia_device));
}

/// The system's own search, in a child: the library must not stay in this process.
std::string found_by_loader() {
  static constexpr std::array<const char*, 5> k_names = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
                                                         "libcupti.so.11", "libcupti.so"};
  const pid_t child = fork();
  if (child == 0) {
    for (std::size_t i = 0; i < k_names.size(); ++i) {
      if (dlopen(k_names[i], RTLD_LAZY | RTLD_LOCAL) != nullptr) _exit(static_cast<int>(i));
    }
    _exit(99);
  }
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const auto number = child > 0 && WIFEXITED(status) ? static_cast<std::size_t>(WEXITSTATUS(status)) : 99U;
  return number < k_names.size() ? k_names[number] : std::string();
}

/// Where toolkits put it, and where the wheels of torch do.
std::vector<fs::path> cupti_folders(const fs::path& root, const std::string& search_path) {
  std::vector<fs::path> folders;
  for (const fs::path& toolkit : entries(root / "usr/local")) {
    if (toolkit.filename().string().compare(0, 4, "cuda") != 0) continue;
    folders.push_back(toolkit / "extras/CUPTI/lib64");
    folders.push_back(toolkit / "lib64");
  }
  folders.push_back(root / "usr/lib/x86_64-linux-gnu");
  folders.push_back(root / "usr/lib/aarch64-linux-gnu");
  for (const char* name : {"python", "python3"}) {
    const Executable python = examine_executable(name, search_path);
    if (python.kind == ExecutableKind::missing) continue;
    for (const fs::path& library : entries(python.path.parent_path().parent_path() / "lib")) {
      if (library.filename().string().compare(0, 6, "python") != 0) continue;
      folders.push_back(library / "site-packages/nvidia/cuda_cupti/lib");
      folders.push_back(library / "site-packages/nvidia/cu13/lib");
    }
  }
  return folders;
}

std::string found_in_folders(const std::vector<fs::path>& folders) {
  for (const fs::path& folder : folders) {
    for (const fs::path& file : entries(folder)) {
      std::error_code failed;
      const bool is_it = file.filename().string().compare(0, 11, "libcupti.so") == 0;
      if (is_it && fs::exists(file, failed)) return file.string();  // not a link into a toolkit that is gone
    }
  }
  return {};
}

}  // namespace

DoctorCheck check_gpu(const fs::path& root) {
  DoctorCheck check{.id = "gpu"};
  const auto driver = read_text(root / "proc/driver/nvidia/version");
  const int devices = nvidia_devices(root);
  std::error_code failed;
  const bool amd = fs::exists(root / "dev/kfd", failed);
  if (devices > 0) {
    check.seen = fmt::format("{} NVIDIA device{}, driver {}", devices, devices == 1 ? "" : "s",
                             driver ? driver_version(*driver) : "unknown");
    return check;
  }
  check.state = amd || driver ? CheckState::limited : CheckState::missing;
  check.seen = driver ? "an NVIDIA driver, but no device in /dev" : amd ? "an AMD device" : "none";
  check.consequence = amd && !driver ? "the device's own time is not measured; waiting for data is"
                                     : "jobs on the CPU are measured; there is no GPU time to divide";
  if (driver) check.hint = "give the container its devices (docker: --gpus all)";
  return check;
}

DoctorCheck check_cupti(const fs::path& root, const std::string& search_path) {
  DoctorCheck check{.id = "cupti"};
  const std::string file = found_in_folders(cupti_folders(root, search_path));
  check.seen = !file.empty() ? file : found_by_loader();
  const auto installation = find_installation();
  if (!check.seen.empty() && installation && installation.value().gpu_library.empty()) {
    check.state = CheckState::limited;
    check.consequence = "this stallcast was built without CUPTI's headers: the GPU's own time is not divided";
    check.hint = "build it where a CUDA toolkit is (cmake -DSTALLCAST_CUPTI=ON)";
  }
  if (!check.seen.empty()) return check;
  check.state = CheckState::missing;
  check.seen = "libcupti was not found";
  check.consequence = "kernels and copies on a GPU cannot be seen; waiting for data is measured without it";
  if (nvidia_devices(root) > 0) check.hint = "pip install nvidia-cuda-cupti-cu12, or install a CUDA toolkit";
  return check;
}

}  // namespace stallcast::collect
