#include "probes/collect/system/machine_cpu.hpp"

#include <unistd.h>

#include <string>

#include "probes/collect/system/host_facts.hpp"
#include "probes/collect/system/text_file.hpp"

namespace stallcast::collect {
namespace fs = std::filesystem;

std::optional<MachineCpu> parse_machine_cpu(std::string_view text, const std::set<int>& cpus) {
  constexpr std::size_t k_idle = 4;  // fields of a line: cpuN user nice system idle iowait irq softirq steal
  constexpr std::size_t k_iowait = 5;
  constexpr std::size_t k_steal = 8;
  const auto tick_ns = 1'000'000'000ULL / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  MachineCpu sum;
  for (const std::string_view line : split_lines(text)) {
    const auto words = split_fields(line);
    if (words.size() <= k_steal || words[0].substr(0, 3) != "cpu") continue;
    const auto number = parse_u64(words[0].substr(3));
    const auto idle = parse_u64(words[k_idle]);
    const auto iowait = parse_u64(words[k_iowait]);
    const auto steal = parse_u64(words[k_steal]);
    if (!number || !idle || !iowait || !steal || !cpus.contains(static_cast<int>(*number))) continue;
    ++sum.cpus;
    sum.idle_ns += (*idle + *iowait) * tick_ns;
    sum.stolen_ns += *steal * tick_ns;
  }
  if (cpus.empty() || sum.cpus != static_cast<int>(cpus.size())) return std::nullopt;
  return sum;
}

MachineCpuReader::MachineCpuReader(const fs::path& root) : stat_(root / "proc/stat"), cpus_(allowed_cpus(root)) {}

std::optional<MachineCpu> MachineCpuReader::read() const {
  return parse_machine_cpu(read_text(stat_).value_or(""), cpus_);
}

}  // namespace stallcast::collect
