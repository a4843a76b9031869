#include "probes/collect/launch/installation.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;

constexpr char k_library_name[] = "libstallcast_capture.so";
constexpr char k_gpu_library_name[] = "libstallcast_cupti.so";

/// From the folder of the executable: the install tree first, then the build tree.
const std::array<const char*, 5> k_library_folders = {"../" STALLCAST_INSTALL_LIBDIR "/stallcast",
                                                      "../" STALLCAST_INSTALL_LIBDIR, "../lib/stallcast", "../lib",
                                                      "../probes/capture"};
const std::array<const char*, 5> k_gpu_library_folders = {"../" STALLCAST_INSTALL_LIBDIR "/stallcast",
                                                          "../" STALLCAST_INSTALL_LIBDIR, "../lib/stallcast", "../lib",
                                                          "../probes/capture/gpu"};
const std::array<const char*, 1> k_python_folders = {"../share/stallcast/python"};

template <std::size_t N>
fs::path first_with(const fs::path& base, const std::array<const char*, N>& folders, const char* file) {
  std::error_code failed;
  for (const char* folder : folders) {
    const fs::path candidate = base / folder;
    if (fs::exists(candidate / file, failed)) return fs::canonical(candidate, failed);
  }
  return {};
}

Error missing(const char* part, const fs::path& folder) {
  return {ErrorCode::environment, fmt::format("{} was not found beside {}", part, folder.string()),
          "install stallcast again: its parts must stay together"};
}

}  // namespace

Result<Installation> find_installation_at(const fs::path& executable_folder) {
  const fs::path library = first_with(executable_folder, k_library_folders, k_library_name);
  if (library.empty()) return missing("the capture library", executable_folder);
  const fs::path python = first_with(executable_folder, k_python_folders, "sitecustomize.py");
  if (python.empty()) return missing("the Python part", executable_folder);
  const fs::path gpu = first_with(executable_folder, k_gpu_library_folders, k_gpu_library_name);
  return Installation{library / k_library_name, python, gpu.empty() ? gpu : gpu / k_gpu_library_name};
}

Result<Installation> find_installation() {
  std::error_code failed;
  const fs::path executable = fs::read_symlink("/proc/self/exe", failed);
  if (failed) {
    return Error{ErrorCode::environment, "cannot read /proc/self/exe: " + failed.message(), "mount /proc"};
  }
  return find_installation_at(executable.parent_path());
}

}  // namespace stallcast::collect
