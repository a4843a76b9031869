/// What a run may have besides its recording: phases, emulated hardware, other loader settings, fewer CPUs, samples of
/// CPU time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "core/result.hpp"
#include "probes/collect/emulation/emulation.hpp"
#include "probes/collect/emulation/kernel_limits.hpp"
#include "probes/collect/launch/run_folder.hpp"
#include "probes/collect/perf/cpu_probe.hpp"
#include "probes/collect/run/record_run.hpp"
#include "probes/collect/run/tool_log.hpp"
#include "probes/collect/schedule/phased_run.hpp"
#include "probes/collect/system/cpu_limit.hpp"

namespace stallcast::collect {

/// They live until the command has ended.
struct RunExtras {
  std::optional<Emulation> emulation{};
  std::unique_ptr<KernelLimits> kernel{};  ///< instead of it, where the kernel limits the hardware
  std::unique_ptr<PhasedRun> phased{};     ///< nothing where the run is passive
  std::unique_ptr<CpuProbe> cpu{};         ///< nothing where it was not asked for
};

/// Groups that the command joins; none where the kernel limits nothing.
[[nodiscard]] std::span<const int> joins_of(const RunExtras& extras);

/// Until the command runs: it inherits the limit, and the facts of the host are those that it sees.
[[nodiscard]] Result<std::optional<CpuLimit>> limit_cpus(const RecordOptions& options);

/// Everything that `options` ask for in `folder`; what is impaired goes to `log`.
[[nodiscard]] Result<RunExtras> begin_extras(const RecordOptions& options, const RunFolder& folder, ToolLog& log);

/// Starts the command by `start`, with the CPU probe where there is one.
[[nodiscard]] Launched launch_with(const RunExtras& extras, const std::function<Launched()>& start);

/// What happens besides watching, ten times a second. What became of the emulation so far is logged now and then: a
/// tool that is killed leaves it, too.
[[nodiscard]] std::function<void(std::uint64_t)> beat_of(const RecordOptions& options, const RunExtras& extras,
                                                         ToolLog& log);

/// What became of them, when the command has ended.
void log_extras(const RecordOptions& options, const RunExtras& extras, const RunFolder& folder, ToolLog& log);

}  // namespace stallcast::collect
