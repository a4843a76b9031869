/// What can be measured on this machine and what not, each with its reason: `stallcast doctor`.
///
/// Nothing is taken on trust that can be tried: the capture library is preloaded into a program, a file of our own is
/// evicted from the page cache, a counter is opened. What was made for that is removed again.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace stallcast::collect {

enum class CheckState {
  ok,
  limited,  ///< works in part
  missing,
};

/// "ok", "limited" or "missing".
[[nodiscard]] const char* check_state_name(CheckState state);

struct DoctorCheck {
  std::string id{};  ///< stable, e.g. "page_cache"
  CheckState state = CheckState::ok;
  std::string seen{};         ///< what was found
  std::string consequence{};  ///< what that means for a measurement; empty where all is well
  std::string hint{};         ///< what would change it; may be empty
  bool required = false;      ///< without it nothing can be profiled at all
};

struct DoctorOptions {
  std::filesystem::path root = "/";  ///< of /proc, /sys, /dev and /usr; another one in tests
  std::filesystem::path data{};      ///< folder whose page cache is looked at; empty: $TMPDIR
  std::string search_path{};         ///< a PATH list, for Python
};

/// Every check, in the order of their weight. Takes a few seconds at most.
[[nodiscard]] std::vector<DoctorCheck> examine_machine(const DoctorOptions& options);

/// Whether no required check is missing.
[[nodiscard]] bool can_profile(const std::vector<DoctorCheck>& checks);

/// The checks one by one, by what they look at. Python: one check each for the shim and for torch.
[[nodiscard]] DoctorCheck check_capture_library();
[[nodiscard]] std::vector<DoctorCheck> check_python(const std::string& search_path);
[[nodiscard]] DoctorCheck check_run_folder(const std::filesystem::path& root);
[[nodiscard]] DoctorCheck check_page_cache(const std::filesystem::path& root, const std::filesystem::path& folder);
[[nodiscard]] DoctorCheck check_held_memory(const std::filesystem::path& root);
[[nodiscard]] DoctorCheck check_shared_memory(const std::filesystem::path& root);
[[nodiscard]] DoctorCheck check_proc_io(const std::filesystem::path& root);
[[nodiscard]] DoctorCheck check_cores(const std::filesystem::path& root);
[[nodiscard]] DoctorCheck check_cgroup(const std::filesystem::path& root);
/// What `--emulate-with kernel` could limit: planned below `root` and, where that is "/", tried.
[[nodiscard]] DoctorCheck check_kernel_limits(const std::filesystem::path& root);
[[nodiscard]] DoctorCheck check_open_files();
[[nodiscard]] DoctorCheck check_perf(const std::filesystem::path& root);
[[nodiscard]] DoctorCheck check_clock(const std::filesystem::path& root);
[[nodiscard]] DoctorCheck check_gpu(const std::filesystem::path& root);
[[nodiscard]] DoctorCheck check_cupti(const std::filesystem::path& root, const std::string& search_path);

}  // namespace stallcast::collect
