#include "probes/collect/system/process_reader.hpp"

#include <unistd.h>

#include <ctime>
#include <utility>

#include "probes/collect/system/constants.hpp"
#include "probes/collect/system/page_bytes.hpp"
#include "probes/collect/system/text_file.hpp"

namespace stallcast::collect {
namespace {

std::uint64_t ticks_to_ns(std::uint64_t ticks) {
  static const auto per_second = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  return ticks * (1'000'000'000ULL / per_second);
}

/// The number behind "key:" at the start of a line.
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view key) {
  for (const std::string_view line : split_lines(text)) {
    if (line.substr(0, key.size()) != key) continue;
    const auto fields = split_fields(trim(line.substr(key.size())));
    return fields.empty() ? std::nullopt : parse_u64(fields.front());
  }
  return std::nullopt;
}

}  // namespace

std::optional<StatLine> parse_stat(std::string_view text) {
  // The name is whatever the process calls itself, parentheses and blanks included: it ends at the last one.
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  const auto fields = split_fields(trim(text.substr(close + 1)));
  if (fields.size() < 22 || fields[0].size() != 1) return std::nullopt;
  const auto field = [&](std::size_t number) { return parse_u64(fields[number - 3]).value_or(0); };  // as in proc(5)
  StatLine stat;
  stat.name = std::string(text.substr(open + 1, close - open - 1));
  stat.state = fields[0][0];
  stat.parent_pid = static_cast<pid_t>(field(4));
  stat.minor_faults = field(10);
  stat.major_faults = field(12);
  stat.own_cpu_ns = ticks_to_ns(field(14) + field(15));
  stat.children_cpu_ns = ticks_to_ns(field(16) + field(17));
  stat.start_ticks = field(22);
  stat.rss_bytes = field(24) * page_bytes();
  return stat;
}

std::optional<IoCounters> parse_io(std::string_view text) {
  const auto read_bytes = number_after(text, "read_bytes:");
  const auto rchar = number_after(text, "rchar:");
  if (!read_bytes || !rchar) return std::nullopt;
  return IoCounters{*read_bytes, *rchar};
}

std::optional<StatusFacts> parse_status(std::string_view text) {
  StatusFacts facts;
  constexpr std::string_view k_cpus = "Cpus_allowed_list:";
  for (const std::string_view line : split_lines(text)) {
    if (line.substr(0, k_cpus.size()) == k_cpus) facts.cpus = std::string(trim(line.substr(k_cpus.size())));
  }
  if (facts.cpus.empty()) return std::nullopt;
  facts.swap_bytes = number_after(text, "VmSwap:").value_or(0) * 1024;  // not there for kernel threads and the dead
  return facts;
}

ProcessReader::ProcessReader(std::filesystem::path proc) : proc_(std::move(proc)), real_(proc_ == "/proc") {}

std::filesystem::path ProcessReader::file(pid_t pid, const char* name) const {
  return proc_ / std::to_string(pid) / name;
}

std::optional<StatLine> ProcessReader::stat(pid_t pid) const {
  const auto text = read_text(file(pid, "stat"));
  return text ? parse_stat(*text) : std::nullopt;
}

std::optional<IoCounters> ProcessReader::io(pid_t pid) const {
  const auto text = read_text(file(pid, "io"));
  return text ? parse_io(*text) : std::nullopt;
}

std::uint64_t ProcessReader::cpu_ns(pid_t pid, std::uint64_t fallback) const {
  if (!real_) return fallback;
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) return fallback;
  return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(used.tv_nsec);
}

std::optional<std::uint64_t> ProcessReader::run_delay_ns(pid_t pid) const {
  const auto text = read_text(file(pid, "schedstat"));
  if (!text) return std::nullopt;
  const auto fields = split_fields(trim(*text));
  return fields.size() < 2 ? std::nullopt : parse_u64(fields[1]);
}

std::optional<std::uint64_t> ProcessReader::anonymous_bytes(pid_t pid) const {
  const auto text = read_text(file(pid, "statm"));
  if (!text) return std::nullopt;
  const auto fields = split_fields(trim(*text));
  if (fields.size() < 3) return std::nullopt;
  const auto resident = parse_u64(fields[1]);
  const auto shared = parse_u64(fields[2]);
  if (!resident || !shared || *shared > *resident) return std::nullopt;
  return (*resident - *shared) * page_bytes();
}

std::optional<StatusFacts> ProcessReader::status(pid_t pid) const {
  const auto text = read_text(file(pid, "status"));
  return text ? parse_status(*text) : std::nullopt;
}

std::optional<ProportionalSet> ProcessReader::proportional(pid_t pid) const {
  const auto text = read_text(file(pid, "smaps_rollup"));
  const auto kib = text ? number_after(*text, "Pss:") : std::nullopt;
  if (!kib) return std::nullopt;
  ProportionalSet set{*kib * 1024, std::nullopt, std::nullopt};
  if (const auto anonymous = number_after(*text, "Pss_Anon:")) set.anonymous_bytes = *anonymous * 1024;
  if (const auto swapped = number_after(*text, "SwapPss:")) set.swap_bytes = *swapped * 1024;
  return set;
}

std::optional<std::string> ProcessReader::command_line(pid_t pid) const {
  return read_text(file(pid, "cmdline"));
}

std::optional<bool> ProcessReader::has_variable(pid_t pid, std::string_view name) const {
  const auto text = read_text(file(pid, "environ"), k_most_environment_bytes);
  if (!text) return std::nullopt;
  for (const std::string_view entry : split_fields(*text, '\0')) {
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.substr(0, name.size()) == name) return true;
  }
  return false;
}

}  // namespace stallcast::collect
