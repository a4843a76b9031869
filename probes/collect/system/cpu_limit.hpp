/// Fewer CPUs for what is started while the limit lives: affinity, which children inherit and nobody needs rights for.
#pragma once

#include <vector>

#include "core/result.hpp"

namespace stallcast::collect {

/// CPUs that this process may run on, ascending; empty if the kernel does not say.
[[nodiscard]] std::vector<int> allowed_cpus();

/// Holds the calling thread to some of its CPUs until the end of its life. Movable.
class CpuLimit {
 public:
  /// The first `count` of allowed_cpus(). Neighbours in the kernel's numbering may be threads of one core, as they may
  /// be on the whole machine. usage error if there are not so many, environment error if the kernel refuses.
  [[nodiscard]] static Result<CpuLimit> hold(int count);

  CpuLimit(CpuLimit&& other) noexcept;
  CpuLimit& operator=(CpuLimit&&) = delete;
  CpuLimit(const CpuLimit&) = delete;
  CpuLimit& operator=(const CpuLimit&) = delete;
  ~CpuLimit();

 private:
  explicit CpuLimit(std::vector<int> before) : before_(std::move(before)) {}
  std::vector<int> before_{};  ///< to return to; empty: nothing is held
};

}  // namespace stallcast::collect
