#include "probes/collect/doctor/doctor.hpp"

#include <algorithm>

#include "probes/collect/launch/run_folder.hpp"

namespace stallcast::collect {

const char* check_state_name(CheckState state) {
  switch (state) {
    case CheckState::ok:
      return "ok";
    case CheckState::limited:
      return "limited";
    case CheckState::missing:
      return "missing";
  }
  return "missing";
}

std::vector<DoctorCheck> examine_machine(const DoctorOptions& options) {
  const std::filesystem::path data = options.data.empty() ? temporary_folder() : options.data;
  std::vector<DoctorCheck> checks{check_capture_library()};
  for (DoctorCheck& check : check_python(options.search_path)) checks.push_back(std::move(check));
  checks.push_back(check_run_folder(options.root));
  checks.push_back(check_proc_io(options.root));
  checks.push_back(check_page_cache(options.root, data));
  checks.push_back(check_held_memory(options.root));
  checks.push_back(check_shared_memory(options.root));
  checks.push_back(check_cores(options.root));
  checks.push_back(check_cgroup(options.root));
  checks.push_back(check_kernel_limits(options.root));
  checks.push_back(check_open_files());
  checks.push_back(check_clock(options.root));
  checks.push_back(check_perf(options.root));
  checks.push_back(check_gpu(options.root));
  checks.push_back(check_cupti(options.root, options.search_path));
  return checks;
}

bool can_profile(const std::vector<DoctorCheck>& checks) {
  return std::none_of(checks.begin(), checks.end(),
                      [](const DoctorCheck& check) { return check.required && check.state == CheckState::missing; });
}

}  // namespace stallcast::collect
