#include "probes/collect/system/cpu_limit.hpp"

#include <fmt/format.h>

#include <sched.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace stallcast::collect {
namespace {

/// Room for more CPUs than Linux supports anywhere (8192), which cpu_set_t has not.
using Mask = std::array<cpu_set_t, 16>;

constexpr int k_most_cpus = static_cast<int>(sizeof(Mask)) * 8;

bool set_allowed(const std::vector<int>& cpus) {
  Mask mask{};
  for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), sizeof mask, mask.data());
  return sched_setaffinity(0, sizeof mask, mask.data()) == 0;
}

}  // namespace

std::vector<int> allowed_cpus() {
  Mask mask{};
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof mask, mask.data()) != 0) return cpus;
  for (int cpu = 0; cpu < k_most_cpus; ++cpu) {
    if (CPU_ISSET_S(static_cast<std::size_t>(cpu), sizeof mask, mask.data())) cpus.push_back(cpu);
  }
  return cpus;
}

Result<CpuLimit> CpuLimit::hold(int count) {
  std::vector<int> before = allowed_cpus();
  if (count < 1 || static_cast<std::size_t>(count) > before.size()) {
    return Error{ErrorCode::usage, fmt::format("{} CPUs were asked for, {} may be used here", count, before.size()),
                 "ask for fewer"};
  }
  const std::vector<int> fewer(before.begin(), before.begin() + count);
  if (!set_allowed(fewer)) {
    return Error{ErrorCode::environment,
                 fmt::format("cannot limit the job to {} CPUs: {}", count, std::strerror(errno)),
                 "start stallcast itself with fewer CPUs (taskset)"};
  }
  return CpuLimit(std::move(before));
}

CpuLimit::CpuLimit(CpuLimit&& other) noexcept : before_(std::exchange(other.before_, {})) {}

CpuLimit::~CpuLimit() {
  if (!before_.empty()) set_allowed(before_);
}

}  // namespace stallcast::collect
