#include "probes/collect/run/run_extras.hpp"

#include <utility>

#include "probes/collect/launch/loader_override.hpp"
#include "probes/collect/run/constants.hpp"

namespace stallcast::collect {
namespace {

/// Nothing where storage is as it is.
Result<std::optional<Emulation>> begin_emulation(const RecordOptions& options, const RunFolder& folder, ToolLog& log) {
  if (!options.emulation || options.emulation->needs_groups()) return std::optional<Emulation>();
  log.append(to_line(*options.emulation, nullptr));
  if (!options.emulation->has_storage()) return std::optional<Emulation>();
  auto emulation = Emulation::create(folder.path(), *options.emulation);
  if (!emulation) return emulation.error();
  return std::optional<Emulation>(std::move(emulation).value());
}

/// Nothing where the kernel is to limit nothing.
Result<std::unique_ptr<KernelLimits>> begin_kernel(const RecordOptions& options, const RunFolder& folder,
                                                   ToolLog& log) {
  if (!options.emulation || !options.emulation->needs_groups()) return std::unique_ptr<KernelLimits>();
  auto limits = KernelLimits::make(*options.emulation, folder.run_id());
  if (!limits) return limits.error();
  log.append(to_line(*options.emulation, limits.value().plan(), nullptr));
  return std::make_unique<KernelLimits>(std::move(limits).value());
}

/// What became of the limits so far.
void log_kernel(const RecordOptions& options, const KernelLimits& limits, bool ended, ToolLog& log) {
  const GroupReadings readings = limits.read();
  log.append(to_line(*options.emulation, limits.plan(), &readings));
  if (!ended) return;
  for (const DataIssue& issue : issues_of(limits.plan(), readings)) log.append(issue);
}

/// Nothing where the run is passive.
Result<std::unique_ptr<PhasedRun>> begin_phases(const RecordOptions& options, const RunFolder& folder, ToolLog& log) {
  if (!options.phased) return std::unique_ptr<PhasedRun>();
  auto phased = PhasedRun::begin(folder, *options.phased);
  if (!phased) return phased.error();
  for (const DataIssue& issue : phased.value()->issues()) log.append(issue);
  return phased;
}

}  // namespace

Result<std::optional<CpuLimit>> limit_cpus(const RecordOptions& options) {
  const auto emulated = options.emulation ? options.emulation->cpus : std::nullopt;
  const auto cpus = emulated ? emulated : options.cpus;
  if (!cpus) return std::optional<CpuLimit>();
  auto limit = CpuLimit::hold(*cpus);
  if (!limit) return limit.error();
  return std::optional<CpuLimit>(std::move(limit).value());
}

std::span<const int> joins_of(const RunExtras& extras) {
  return extras.kernel ? std::span<const int>(extras.kernel->joins()) : std::span<const int>();
}

Result<RunExtras> begin_extras(const RecordOptions& options, const RunFolder& folder, ToolLog& log) {
  auto emulation = begin_emulation(options, folder, log);
  if (!emulation) return emulation.error();
  auto kernel = begin_kernel(options, folder, log);
  if (!kernel) return kernel.error();
  auto phased = begin_phases(options, folder, log);
  if (!phased) return phased.error();
  if (options.loader) STALLCAST_RETURN_IF_ERROR(write_loader_override(folder.path(), *options.loader));
  RunExtras extras{std::move(emulation).value(), std::move(kernel).value(), std::move(phased).value(), nullptr};
  if (options.cpu_probe) extras.cpu = std::make_unique<CpuProbe>();
  return extras;
}

Launched launch_with(const RunExtras& extras, const std::function<Launched()>& start) {
  return extras.cpu ? extras.cpu->launch(start) : start();
}

void log_extras(const RecordOptions& options, const RunExtras& extras, const RunFolder& folder, ToolLog& log) {
  if (extras.cpu) {
    for (const DataIssue& issue : extras.cpu->finish(folder.path(), folder.run_id())) log.append(issue);
  }
  if (extras.phased) {
    for (const DataIssue& issue : extras.phased->issues_at_end()) log.append(issue);
  }
  if (extras.kernel) log_kernel(options, *extras.kernel, /*ended=*/true, log);
  if (!extras.emulation) return;
  for (const DataIssue& issue : extras.emulation->issues()) log.append(issue);
  log.append(to_line(*options.emulation, &extras.emulation->block()));
}

std::function<void(std::uint64_t)> beat_of(const RecordOptions& options, const RunExtras& extras, ToolLog& log) {
  return [&options, &extras, &log, next_ns = std::uint64_t{0}](std::uint64_t now_ns) mutable {
    if (extras.phased) extras.phased->beat(now_ns);
    if (extras.cpu) extras.cpu->beat(now_ns);
    if ((!extras.emulation && !extras.kernel) || now_ns < next_ns) return;
    next_ns = now_ns + k_emulation_logged_every_ns;
    if (extras.kernel) log_kernel(options, *extras.kernel, /*ended=*/false, log);
    if (extras.emulation) log.append(to_line(*options.emulation, &extras.emulation->block()));
  };
}

}  // namespace stallcast::collect
