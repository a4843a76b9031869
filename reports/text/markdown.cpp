/// Markdown that fits a pull-request comment or a job summary (GitHub's dialect).
#include <fmt/format.h>

#include <algorithm>

#include "reports/findings/operator_rows.hpp"
#include "reports/findings/report_data.hpp"
#include "reports/text/constants.hpp"
#include "reports/words/escape.hpp"

namespace stallcast::reports {
namespace {

template <class Items, class Print>
void add_rows(const Items& items, std::string& out, Print print) {
  const std::size_t shown = std::min(items.size(), k_most_markdown_rows);
  for (std::size_t i = 0; i < shown; ++i) out += print(items[i]);
  if (shown < items.size()) out += fmt::format("\n_and {} more_\n", items.size() - shown);
}

std::string breakdown_table(const Breakdown& b) {
  std::string out = fmt::format("\n| Step, {} | Time | Share of the step |\n|---|--:|---|\n", b.title);
  for (const Slice& slice : b.slices) {
    out += fmt::format("| {} | {} | {} |\n", slice.label, slice.per_step ? duration(*slice.per_step) : "",
                       share_words(slice));
  }
  return out;
}

std::string epoch_table(const Epoch& epoch, const Epochs& epochs) {
  const bool costs = epochs.price.has_value();
  std::string out = fmt::format("\n| Epoch of {}, {} | Time |{}\n|---|---|{}\n", plural(epochs.samples, "sample"),
                                epoch.title, costs ? " Cost |" : "", costs ? "---|" : "");
  const auto add = [&](const EpochPart& part) {
    out += fmt::format("| {} | {} |", part.label, epoch_time_words(part));
    if (costs) out += " " + markdown_text(epoch_cost_words(part, epochs)) + " |";
    out += "\n";
  };
  for (const EpochPart& part : epoch.parts) add(part);
  if (epoch.lost) add(*epoch.lost);
  add(epoch.whole);
  return out;
}

std::string epochs_part(const Epochs& epochs) {
  if (!epochs.absent.empty()) return "\nWhat an epoch takes: " + markdown_text(not_measured(epochs.absent)) + ".\n";
  std::string out;
  for (const Epoch* epoch : telling_passes(epochs)) out += epoch_table(*epoch, epochs);
  out += "\n";
  if (!epochs.no_copy.empty()) out += "Copies to the GPU: " + markdown_text(not_measured(epochs.no_copy)) + ". ";
  out += epoch_note(epochs);
  if (epochs.price) out += " Costs are " + markdown_text(price_words(epochs)) + ".";
  return out + "\n";
}

std::string operators_table(const ReportData& data) {
  const std::vector<OperatorRow> rows = operator_rows(data);
  if (rows.empty()) return "";
  std::string out = "\n### " + operator_title(data.profile) +
                    "\n\n| Operator | Share | Own time (95 % interval) | samples/s without it |\n|---|--:|---|---|\n";
  add_rows(rows, out, [](const OperatorRow& row) {
    return fmt::format("| {} {} | {} | {} | {} |\n", markdown_text(row.name), markdown_text(row.where), row.share,
                       row.wall, row.without);
  });
  return out + "\n" + operator_note(data) + "\n";
}

std::string predictions_table(const ReportData& data) {
  if (data.predictions.empty()) return "";
  std::string out = "\n### What if\n\n| Change | samples/s (90 % interval) | Limited by, then |\n|---|---|---|\n";
  add_rows(data.predictions, out, [](const Prediction& p) {
    std::string notes;
    for (const std::string& note : prediction_notes(p)) notes += "; " + note;
    return fmt::format("| {} | {} | {} |\n", markdown_code(scenario_words(p), true), forecast_words(p),
                       markdown_text(bound_words(p) + notes));
  });
  return out;
}

std::string details(const ReportData& data) {
  std::string out = "\n<details><summary>Not measured, data issues, cost of measuring</summary>\n\n";
  add_rows(data.findings.missing, out, [](const Missing& missing) {
    std::string what;
    for (const std::string& name : missing.what) what += (what.empty() ? "" : ", ") + name;
    return fmt::format("- {}: not measured ({})\n", markdown_text(what), markdown_text(missing.reason));
  });
  add_rows(data.profile.issues, out, [](const DataIssue& issue) {
    return fmt::format("- {} {} ({}x): {} {}\n", severity_name(issue.severity), markdown_code(issue.id), issue.count,
                       markdown_text(issue.detail), markdown_text(issue.hint));
  });
  return out + "- " + markdown_text(data.findings.overhead) + "\n\n</details>\n";
}

}  // namespace

std::string render_markdown(const ReportData& data) {
  const Findings& f = data.findings;
  std::string out = "## stallcast: " + markdown_text(f.verdict) + "\n\n";
  if (!f.outcome_note.empty()) out += "**" + markdown_text(f.outcome_note) + "**\n\n";
  out += fmt::format("{} ({})\n\n",
                     markdown_code(shortened(shell_words(data.profile.command), k_markdown_command_characters)),
                     markdown_text(data.subtitle));
  if (f.level != Level::unknown) out += fmt::format("That is **{}**. ", f.level_words);
  out += "Confidence: " + f.confidence.word;
  for (const std::string& reason : f.confidence.reasons) out += "; " + markdown_text(reason);
  out += ".\n";
  for (const Breakdown& b : f.breakdowns) out += breakdown_table(b);
  out += epochs_part(data.epochs);
  if (!f.why.empty()) out += "\n### " + why_title(data.profile) + "\n\n";
  for (const Fact& fact : f.why) out += fmt::format("- {}: {}\n", fact.label, markdown_text(fact.text));
  out += operators_table(data);
  if (!f.next.empty()) out += "\n### What next\n\n";
  int number = 0;
  for (const NextStep& step : f.next) {
    out += fmt::format("{}. **{}**: {}\n", ++number, markdown_text(step.title), markdown_text(step.why));
  }
  if (data.options.recommendation) {
    const LoaderAdvice& r = *data.options.recommendation;
    out += "\n### Recommended loader\n\n" + markdown_code(r.loader_line) + " " + markdown_text(r.gain) + "\n";
    for (const std::string& line : r.lines) out += "- " + markdown_text(line) + "\n";
  }
  return out + predictions_table(data) + details(data);
}

}  // namespace stallcast::reports
