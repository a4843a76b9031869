#include "probes/collect/guardian.hpp"

#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <utility>

#include "probes/record/control.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;

constexpr int k_kill_rounds = 25;  ///< processes may be born while we kill
constexpr useconds_t k_round_us = 200'000;

/// Kills until nobody of the run is left, then deletes what it leaves. Runs in the guardian alone.
void clear_up(const fs::path& run_folder, const std::vector<fs::path>& folders) {
  for (int round = 0; round < k_kill_rounds; ++round) {
    const std::vector<pid_t> left = processes_with("/", record::k_env_run_dir, run_folder.string());
    if (left.empty()) break;
    for (const pid_t pid : left) {
      if (pid != getpid()) kill(pid, SIGKILL);
    }
    usleep(k_round_us);
  }
  std::error_code failed;
  for (const fs::path& folder : folders) fs::remove_all(folder, failed);
}

}  // namespace

std::vector<pid_t> processes_with(const fs::path& root, const std::string& name, const std::string& value) {
  std::vector<pid_t> found;
  const std::string wanted = name + "=" + value;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(root / "proc", failed)) {
    const std::string text = entry.path().filename().string();
    pid_t pid = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), pid);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) continue;
    std::ifstream environment(entry.path() / "environ", std::ios::binary);
    std::string variable;
    while (std::getline(environment, variable, '\0')) {
      if (variable != wanted) continue;
      found.push_back(pid);
      break;
    }
  }
  return found;
}

Result<Guardian> Guardian::post(const fs::path& run_folder, const std::vector<fs::path>& folders) {
  auto sentinel = Sentinel::post([&](bool told) {
    if (!told) clear_up(run_folder, folders);
  });
  if (!sentinel) return sentinel.error();
  return Guardian(std::move(sentinel).value());
}

}  // namespace stallcast::collect
