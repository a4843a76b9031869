#include "reports/html/parts.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "reports/html/sections.hpp"
#include "reports/words/format.hpp"

namespace stallcast::reports {
namespace {

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
