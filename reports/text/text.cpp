/// The terminal report: at most 80 columns, readable without knowing the method.
#include <fmt/format.h>

#include <algorithm>

#include "reports/findings/operator_rows.hpp"
#include "reports/findings/report_data.hpp"
#include "reports/text/text_layout.hpp"
#include "reports/words/escape.hpp"

namespace stallcast::reports {
namespace {

constexpr std::size_t k_bar_width = 20;
constexpr std::size_t k_label_width = 12;
constexpr std::size_t k_command_columns = 4 * (k_text_width - k_label_width);

Paint paint_of(Level level) {
  switch (level) {
    case Level::fine:
      return Paint::green;
    case Level::moderate:
      return Paint::yellow;
    case Level::high:
      return Paint::red;
    case Level::unknown:
      break;
  }
  return Paint::bold;
}

Paint paint_of(const Slice& slice) {
  if (slice.key == "compute" || slice.key == "copy") return Paint::green;
  return slice.key == "prep" ? Paint::yellow : slice.key == "fetch" ? Paint::blue : Paint::red;
}

/// "highly input-bound (over 20 % of the step); 95 % interval: 90 to 92 %".
std::string level_and_interval(const Findings& findings) {
  if (findings.breakdowns.empty()) return findings.level_words;
  const Estimate<Fraction>& wait = findings.breakdowns.front().wait;
  const int places = wait.mean < 0.0995 ? 1 : 0;
  return findings.level_words + fmt::format("; 95 % interval: {:.{}f} to {:.{}f} %",
                                            100.0 * std::max(0.0, wait.ci95_low), places, 100.0 * wait.ci95_high,
                                            places);
}

void print_head(const ReportData& data, TextPage& page) {
  page.item("stallcast", k_label_width, shortened(shell_words(data.profile.command), k_command_columns), Paint::bold);
  if (!data.subtitle.empty()) page.item("", k_label_width, data.subtitle, Paint::dim);
  page.blank();
  if (!data.findings.outcome_note.empty()) page.item("", 2, data.findings.outcome_note, Paint::yellow);
  page.item("", 2, data.findings.verdict, paint_of(data.findings.level));
  if (data.findings.level != Level::unknown) page.item("", 2, "That is " + level_and_interval(data.findings) + ".");
  const Confidence& confidence = data.findings.confidence;
  std::string words = "Confidence: " + confidence.word;
  for (const std::string& reason : confidence.reasons)
    words += (&reason == &confidence.reasons[0] ? " - " : "; ") + reason;
  page.item("", 2, words + ".");
}

void print_breakdown(const Breakdown& b, const RenderOptions& options, TextPage& page) {
  std::string title = "Where a step goes, " + b.title;
  if (const auto* step = usable(b.step)) title += ": " + duration(*step);
  page.heading(title);
  double begin = 0.0;
  for (const Slice& slice : b.slices) {
    const double end = begin + (holds_zero(slice.share) ? 0.0 : slice.share.mean);
    const std::string time = slice.per_step ? duration(*slice.per_step) : "";
    const std::string numbers = padded(time, 8, true) + " " + share_words(slice);
    page.line(fmt::format("  {}|{}| {}", padded(slice.label, 24),
                          page.painted(bar(begin, end, k_bar_width, options.unicode), paint_of(slice)),
                          shortened(numbers, k_text_width - 24 - k_bar_width - 5)));
    begin = end;
  }
  const bool zero = std::any_of(b.slices.begin(), b.slices.end(), [](const Slice& x) { return holds_zero(x.share); });
  if (zero) page.item("", 2, "0 means: not distinguishable from 0 in this run.", Paint::dim);
}

void print_epoch_row(const EpochPart& part, const Epochs& epochs, TextPage& page) {
  const std::string cost = epoch_cost_words(part, epochs);
  const std::string line = fmt::format("  {} {}", padded(part.label, 24), epoch_time_words(part));
  const bool fits = columns(line) < 54 && columns(cost) + 54 <= k_text_width;
  page.line(cost.empty() || !fits ? line : padded(line, 54) + cost);
  if (!cost.empty() && !fits) page.item("", 27, cost);  // an amount without its interval would not be one
}

void print_epochs(const ReportData& data, TextPage& page) {
  const Epochs& epochs = data.epochs;
  if (!epochs.absent.empty() && data.findings.level == Level::unknown) return;  // it is in "Not measured" already
  page.heading(epochs.absent.empty() ? fmt::format("What an epoch of {} takes", plural(epochs.samples, "sample"))
                                     : "What an epoch takes");
  if (!epochs.absent.empty()) return page.item("", 2, not_measured(epochs.absent));
  for (const Epoch* epoch : telling_passes(epochs)) {
    page.item("", 2, epoch->title + ":", Paint::dim);
    for (const EpochPart& part : epoch->parts) print_epoch_row(part, epochs, page);
    if (epoch->lost) print_epoch_row(*epoch->lost, epochs, page);
    print_epoch_row(epoch->whole, epochs, page);
  }
  if (!epochs.no_copy.empty()) {
    page.item("", 2, "Copies to the GPU: " + not_measured(epochs.no_copy) + ".", Paint::dim);
  }
  page.item("", 2, epoch_note(epochs) + (epochs.price ? " Costs are " + price_words(epochs) + "." : ""), Paint::dim);
}

void print_operators(const ReportData& data, TextPage& page) {
  const std::vector<OperatorRow> rows = operator_rows(data);
  if (rows.empty()) return;
  page.heading(operator_title(data.profile));
  const bool predicted = !data.options.without_operator.empty();
  page.line("  " +
            page.painted(fmt::format("{:<27} {:>6}  {}", "operator", "share",
                                     predicted ? "own time (95 %)        without: samples/s" : "own time (95 %)"),
                         Paint::dim));
  for (const OperatorRow& row : rows) {
    const auto same = std::count_if(rows.begin(), rows.end(), [&](const OperatorRow& x) { return x.name == row.name; });
    const std::string name = same < 2 || row.where.empty() ? row.name : row.name + ", " + row.where;
    const std::string line =
        fmt::format("  {} {}  {} {}", padded(shortened(name, 27), 27), padded(row.share, 6, true),
                    padded(shortened(row.wall, 22), 22), shortened(row.without, k_text_width - 61));
    page.line(line.substr(0, line.find_last_not_of(' ') + 1));
  }
  page.item("", 2, operator_note(data), Paint::dim);
}

void print_next(const ReportData& data, TextPage& page) {
  if (data.findings.next.empty()) return;
  page.heading("What next");
  int number = 0;
  for (const NextStep& step : data.findings.next) {
    page.item(fmt::format("  {}.", ++number), 5, step.title + ".", Paint::bold);
    page.item("", 5, "Because " + step.why + ".");
  }
}

void print_recommendation(const LoaderAdvice& r, TextPage& page) {
  page.heading("Recommended loader");
  page.item("", 2, r.loader_line, Paint::green);
  if (!r.gain.empty()) page.item("", 2, r.gain);
  for (const std::string& line : r.lines) page.item("  -", 4, line);
}

void print_predictions(const ReportData& data, TextPage& page) {
  if (data.predictions.empty()) return;
  const auto* now = usable(data.profile.rates.as_is);
  page.heading(now != nullptr ? "What if (as found: " + rate(now->mean) + ")" : std::string("What if"));
  page.line("  " +
            page.painted(fmt::format("{:<28} {:<30} {}", "change", "samples/s (90 % interval)", "limited by, then"),
                         Paint::dim));
  for (const Prediction& prediction : data.predictions) {
    const std::vector<std::string> change = wrap(scenario_words(prediction), 28);
    page.line(fmt::format("  {} {} {}", padded(change.front(), 28),
                          padded(shortened(forecast_words(prediction), 30), 30),
                          shortened(bound_words(prediction), k_text_width - 62)));
    for (std::size_t i = 1; i < change.size(); ++i) page.line("  " + change[i]);
    for (const std::string& note : prediction_notes(prediction)) page.item("", 4, note, Paint::dim);
  }
  const std::string legend = bound_legend(data.predictions);
  if (!legend.empty()) page.item("", 2, "Limits: " + legend + ".", Paint::dim);
}

void print_missing(const ReportData& data, TextPage& page) {
  if (data.findings.missing.empty()) return;
  page.heading("Not measured");
  for (const Missing& missing : data.findings.missing) {
    std::string what;
    for (const std::string& name : missing.what) what += (what.empty() ? "" : ", ") + name;
    page.item("  -", 4, what + ":", Paint::bold);
    page.item("", 4, missing.reason);
  }
}

void print_issues(const ReportData& data, TextPage& page) {
  if (data.profile.issues.empty()) return;
  page.heading("Data issues");
  for (const DataIssue& issue : data.profile.issues) {
    const Paint paint = issue.severity == Severity::error     ? Paint::red
                        : issue.severity == Severity::warning ? Paint::yellow
                                                              : Paint::plain;
    const std::string times = issue.count > 1 ? fmt::format(" ({} times)", count(issue.count)) : "";
    page.item("  -", 4, fmt::format("{}: {}{}: {}", severity_name(issue.severity), issue.id, times, issue.detail),
              paint);
    if (!issue.hint.empty()) page.item("", 4, "hint: " + issue.hint);
  }
}

void print_premises(const ReportData& data, TextPage& page) {
  const auto& premises = data.profile.premises;
  const auto shown = [&](const Premise& premise) { return is_worth_showing(data.profile, premise); };
  if (std::none_of(premises.begin(), premises.end(), shown)) return;
  page.heading("Premises: was each state really that state?");
  for (const Premise& premise : premises) {
    if (!shown(premise)) continue;
    const bool broken = !premise.holds && rests_on(data.profile, premise);
    page.item(premise.holds ? "  yes"
              : broken      ? "  NO"
                            : "  no",
              6,
              fmt::format("{}. Expected: {}. Seen: {} (by {}).", premise.phase, premise.expected, premise.seen,
                          premise.check),
              broken ? Paint::red : Paint::plain);
  }
}

void print_ranks(const ReportData& data, TextPage& page) {
  if (data.profile.ranks.size() < 2) return;
  page.heading("Ranks");
  for (const Rank& rank : data.profile.ranks) {
    const auto* wait = usable(rank.wait);
    const auto* speed = usable(rank.rate);
    page.item(fmt::format("  {}", rank.rank), 7,
              fmt::format("{}: waits {} of the step, {}", rank.host,
                          wait != nullptr ? percent_or_zero(*wait) : "(not measured)",
                          speed != nullptr ? rate(*speed) : "rate not measured"));
  }
}

}  // namespace

std::string render_text(const ReportData& data) {
  TextPage page(data.options.color);
  print_head(data, page);
  for (const Breakdown& b : data.findings.breakdowns) print_breakdown(b, data.options, page);
  print_epochs(data, page);
  if (!data.findings.why.empty()) page.heading(why_title(data.profile));
  for (const Fact& fact : data.findings.why) page.item("  " + fact.label, 2 + k_label_width, fact.text);
  print_operators(data, page);
  print_next(data, page);
  if (data.options.recommendation) print_recommendation(*data.options.recommendation, page);
  print_predictions(data, page);
  print_ranks(data, page);
  print_premises(data, page);
  print_missing(data, page);
  print_issues(data, page);
  page.heading("Cost of measuring");
  page.item("", 2, data.findings.overhead);
  if (!data.options.profile_path.empty()) {
    page.blank();
    page.item("", 0, "Other formats: stallcast report " + shell_words({data.options.profile_path}) + " --format html",
              Paint::dim);
  }
  return page.take();
}

}  // namespace stallcast::reports
