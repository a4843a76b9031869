#include "reports/cpu_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/escape.hpp"
#include "reports/html_sections.hpp"

namespace stallcast::reports {
namespace {

constexpr std::size_t k_most_named = 4;
constexpr double k_least_named = 0.03;
constexpr std::size_t k_most_columns = 32;

/// "libjpeg" of "libjpeg.so.62.3.0": what follows tells machines apart, not work.
std::string short_library(const std::string& library) {
  const std::size_t end = std::min({library.find(".so"), library.find(".cpython"), library.find(".abi3")});
  return shortened(library.substr(0, end), k_most_columns);
}

/// The library where the name does not say it already.
std::string work_words(const CpuFunctions& work) {
  const std::string name = shortened(work.name, k_most_columns);
  const bool plain = work.library.starts_with("lib") && name.find('(') == std::string::npos;
  return plain && name != short_library(work.library) ? fmt::format("{} ({})", name, short_library(work.library))
                                                      : name;
}

Tags rows_of(const std::vector<CpuFunctions>& works) {
  Tags rows{Tags::type::list};
  for (const CpuFunctions& work : works) {
    const auto* share = usable(work.share);
    Tags row;
    row.set("name", work.name);
    row.set("share", share != nullptr ? percent(*share) : not_measured(work.share.reason()));
    row.set("library", work.library);
    row.set("function", work.function);
    rows.push_back(row);
  }
  return rows;
}

void add_table(const char* whose, const std::vector<CpuFunctions>& works, const Measured<std::int64_t>& samples,
               Tags& tables) {
  if (works.empty() || !samples) return;
  Tags table;
  table.set("title", fmt::format("{} ({})", whose, plural(*samples, "CPU sample")));
  table.set("rows", rows_of(works));
  tables.push_back(table);
}

void add_counter(const char* label, const Measured<std::int64_t>& counter, double span_s, Tags& facts) {
  if (!counter || !(span_s > 0.0)) return;
  Tags fact;
  fact.set("label", label);
  fact.set("text", fmt::format("{}, {} a second", count(*counter), number(static_cast<double>(*counter) / span_s)));
  facts.push_back(fact);
}

Tags counter_facts(const CpuCounters& counters) {
  Tags facts{Tags::type::list};
  const double span_s = counters.span ? counters.span->value() : 0.0;
  add_counter("context switches", counters.context_switches, span_s, facts);
  add_counter("migrations between CPUs", counters.migrations, span_s, facts);
  add_counter("page faults", counters.minor_faults, span_s, facts);
  add_counter("page faults from storage", counters.major_faults, span_s, facts);
  add_counter("cycles", counters.cycles, span_s, facts);
  add_counter("instructions", counters.instructions, span_s, facts);
  add_counter("reads past the last-level cache", counters.llc_misses, span_s, facts);
  return facts;
}

std::string note_of(const Cpu& cpu) {
  std::string text = fmt::format(
      "Sampled {} times a second of each thread's CPU time, while batches were made from "
      "memory or as found; shares of what was seen, named by library.",
      number(cpu.sampled_hz));
  if (!cpu.kernel) text += " Time in the kernel could not be sampled: shares are of the time in user space.";
  if (cpu.lost > 0) text += fmt::format(" {} were lost.", plural(cpu.lost, "record"));
  return text;
}

}  // namespace

std::string cpu_words(const Cpu& cpu) {
  if (!cpu.worker_samples) return "";
  std::string text;
  std::size_t named = 0;
  for (const CpuFunctions& work : cpu.workers) {
    const auto* share = usable(work.share);
    if (share == nullptr || share->mean < k_least_named || work.name == "other" || named >= k_most_named) continue;
    text += fmt::format("{}{} {}", named++ == 0 ? "" : ", ", percent(*share), work_words(work));
  }
  if (named == 0) return "";
  return text + fmt::format("; from {}{}", plural(*cpu.worker_samples, "CPU sample"),
                            cpu.kernel ? "" : ", without the kernel");
}

void add_cpu(const ReportData& report, Tags& page) {
  const Cpu& cpu = report.profile.cpu;
  Tags tables{Tags::type::list};
  add_table("Workers, while they make batches", cpu.workers, cpu.worker_samples, tables);
  add_table("Training process, apart from making batches", cpu.main, cpu.main_samples, tables);
  set_list(page, "cpu", tables);
  page.set("cpu_words", note_of(cpu));
  set_list(page, "cpu_counters", counter_facts(cpu.counters));
}

}  // namespace stallcast::reports
