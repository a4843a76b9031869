#include "probes/collect/launch/child_environment.hpp"

#include <unistd.h>

#include <algorithm>

#include "probes/record/control.hpp"

namespace stallcast::collect {
namespace {

constexpr char k_capture_library_variable[] = "STALLCAST_CAPTURE_LIB";
constexpr char k_gpu_library_variable[] = "STALLCAST_GPU_LIB";  ///< for the shim, which tells it to yield
constexpr char k_injection_variable[] = "CUDA_INJECTION64_PATH";
constexpr char k_gpu_probe_variable[] = "STALLCAST_GPU_PROBE";

bool is_entry_of(const std::string& entry, const std::string& name) {
  return entry.size() > name.size() && entry[name.size()] == '=' && entry.compare(0, name.size(), name) == 0;
}

/// The sanitizers' run-time libraries insist on being the first in LD_PRELOAD; everything else comes after ours.
std::string preload_list(const std::string& ours, const std::string& theirs) {
  if (theirs.empty()) return ours;
  const bool sanitizer = theirs.find("san.so") != std::string::npos;
  return sanitizer ? theirs + ":" + ours : ours + ":" + theirs;
}

/// The CUDA driver loads one library so: whoever was there first keeps the place.
void add_gpu_probe(const std::vector<std::string>& own, const Installation& installation, ChildEnvironment& result) {
  const std::string library = installation.gpu_library.string();
  if (library.empty()) return;
  const std::string wanted = variable(own, k_gpu_probe_variable);
  if (wanted == "off") {
    result.issues.push_back({"gpu-probe-off", Severity::info, 1,
                             "STALLCAST_GPU_PROBE is off: what happens on a GPU is not recorded",
                             "STALLCAST_GPU_PROBE=on has the GPU's time divided"});
  }
  if (wanted.empty() || wanted == "off") return;
  const std::string theirs = variable(own, k_injection_variable);
  if (theirs.empty() || theirs == library) {
    result.added.emplace_back(k_injection_variable, library);
    result.added.emplace_back(k_gpu_library_variable, library);
    return;
  }
  result.issues.push_back({"gpu-probe-yields", Severity::info, 1,
                           "CUDA_INJECTION64_PATH is set to " + theirs + ": the job's own profiler keeps the GPU",
                           "unset it to have the GPU's time divided"});
}

DataIssue unusable_path(const char* list, const std::string& path, const char* lost) {
  return {"capture-path-unusable", Severity::error, 1,
          std::string(list) + " cannot hold the path " + path + ", so " + lost,
          "install stallcast under a path without blanks and colons"};
}

}  // namespace

std::vector<std::string> own_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

std::string variable(const std::vector<std::string>& entries, const std::string& name) {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const std::string& entry) { return is_entry_of(entry, name); });
  return found == entries.end() ? std::string() : found->substr(name.size() + 1);
}

ChildEnvironment child_environment(const std::vector<std::string>& own, const Installation& installation,
                                   const std::filesystem::path& run_folder) {
  ChildEnvironment result;
  result.added.emplace_back(record::k_env_run_dir, run_folder.string());
  const std::string library = installation.capture_library.string();
  result.added.emplace_back(k_capture_library_variable, library);
  if (library.find_first_of(": ") == std::string::npos) {
    result.added.emplace_back("LD_PRELOAD", preload_list(library, variable(own, "LD_PRELOAD")));
  } else {
    result.issues.push_back(unusable_path("LD_PRELOAD", library, "file reads were not recorded"));
  }
  const std::string python = installation.python_folder.string();
  const std::string theirs = variable(own, "PYTHONPATH");
  if (python.find(':') == std::string::npos) {
    result.added.emplace_back("PYTHONPATH", theirs.empty() ? python : python + ":" + theirs);
  } else {
    result.issues.push_back(unusable_path("PYTHONPATH", python, "Python loaders were not recorded"));
  }
  add_gpu_probe(own, installation, result);
  return result;
}

std::vector<std::string> merged_environment(const std::vector<std::string>& own, const Variables& added) {
  std::vector<std::string> merged;
  for (const std::string& entry : own) {
    const bool replaced = std::any_of(added.begin(), added.end(),
                                      [&](const auto& variable) { return is_entry_of(entry, variable.first); });
    if (!replaced) merged.push_back(entry);
  }
  for (const auto& [name, value] : added) merged.push_back(name + "=" + value);
  return merged;
}

}  // namespace stallcast::collect
