#include "cli/answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/utf8.hpp"
#include "reports/findings/report_data.hpp"
#include "reports/text/text_layout.hpp"
#include "reports/words/escape.hpp"

namespace stallcast::cli {
namespace {

using namespace reports;

/// "about 1.52 times the samples/s (1.40 to 1.61)".
std::string gain_words(const Gain& gain) {
  return fmt::format("about {:.2f} times the samples/s ({:.2f} to {:.2f})", 1.0 + gain.mean, 1.0 + gain.ci90_low,
                     1.0 + gain.ci90_high);
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return quoted + "\"";
}

std::vector<std::string> keys_of(std::span<const Prediction> predictions) {
  std::vector<std::string> keys;
  for (const Prediction& prediction : predictions) {
    for (const ScenarioItem& item : prediction.scenario) {
      if (std::find(keys.begin(), keys.end(), item.key) == keys.end()) keys.push_back(item.key);
    }
  }
  return keys;
}

std::string value_of(const Prediction& prediction, const std::string& key) {
  const auto found = std::find_if(prediction.scenario.begin(), prediction.scenario.end(),
                                  [&](const ScenarioItem& item) { return item.key == key; });
  return found == prediction.scenario.end() ? std::string() : found->value;
}

constexpr const char* k_simulated_columns =
    ",simulated_throughput_samples_per_s,simulated_step_p50_s,simulated_step_p99_s,simulated_first_epoch_s,"
    "simulated_last_epoch_s";

std::string simulated_fields(const Prediction& prediction) {
  if (!prediction.simulation) return ",,,,,";
  const SimulatedCluster& run = *prediction.simulation;
  const SimulatedEpoch& judged = run.epochs[run.judged];
  return fmt::format(",{:.9g},{:.9g},{:.9g},{:.9g},{:.9g}", run.throughput.value(), judged.step_p50.value(),
                     judged.step_p99.value(), run.epochs.front().duration.value(), run.epochs.back().duration.value());
}

void add_list(std::string& text, const char* title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  text += fmt::format("\n{}\n", title);
  for (const std::string& line : lines) text += fmt::format("  - {}\n", line);
}

/// The same, in the columns of a terminal.
void add_items(TextPage& page, const char* title, const std::vector<std::string>& lines) {
  if (!lines.empty()) page.heading(title);
  for (const std::string& line : lines) page.item("  -", 4, line);
}

/// "layout: needs the size of the data set, which this profile lacks; needed: ...": the key is said once.
std::string unanswered_words(const KeyAvailability& key) {
  const std::string named = "the scenario key '" + key.key + "' ";
  const bool repeats = key.reason.starts_with(named);
  return fmt::format("{}: {}{}{}", key.key, repeats ? key.reason.substr(named.size()) : key.reason,
                     key.unlocked_by.empty() ? "" : "; ", key.unlocked_by);
}

/// Notes in the order of their first row; one that every row has is said without naming rows.
std::vector<std::string> shared_notes(std::span<const Prediction> predictions) {
  std::vector<std::string> notes;
  for (const Prediction& prediction : predictions) {
    for (const std::string& note : prediction_notes(prediction)) {
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
    }
  }
  return notes;
}

/// "staging=overlap: 12 min, then 6 min each", of those that stage data.
std::vector<std::string> first_epochs(std::span<const Prediction> predictions) {
  std::vector<std::string> lines;
  for (const Prediction& prediction : predictions) {
    if (!prediction.first_epoch) continue;
    const auto& first = *prediction.first_epoch;
    lines.push_back(scenario_words(prediction) + ": " +
                    (first && prediction.epoch ? duration(*first) + ", then " + duration(*prediction.epoch) + " each"
                                               : "not known: " + first.reason()));
  }
  return lines;
}

}  // namespace

std::string predictions_text(std::span<const Prediction> predictions) {
  std::size_t width = 12;
  for (const Prediction& prediction : predictions) width = std::max(width, scenario_words(prediction).size());
  std::string text = fmt::format("{:<{}}  {:>30}  {:>8}  {:>7}  {}\n", "change", width, "samples/s (90 % interval)",
                                 "step", "waiting", "limited by, then");
  for (const Prediction& prediction : predictions) {
    text += fmt::format("{:<{}}  {:>30}  {:>8}  {:>7}  {}{}\n", scenario_words(prediction), width,
                        forecast_words(prediction), duration(prediction.step), percent(prediction.stall),
                        bound_words(prediction), prediction.extrapolated ? " (extrapolated)" : "");
  }
  add_list(text, "First epoch, while data is staged", first_epochs(predictions));
  add_list(text, "Notes", shared_notes(predictions));
  return valid_utf8(text);
}

std::string predictions_csv(std::span<const Prediction> predictions) {
  const std::vector<std::string> keys = keys_of(predictions);
  std::string text;
  for (const std::string& key : keys) text += csv_field(key) + ",";
  text +=
      "throughput_samples_per_s,throughput_samples_per_s_ci90_low,throughput_samples_per_s_ci90_high,step_s,epoch_s,"
      "stall_frac,bound,next_bound,headroom_frac,extrapolated,first_epoch_s";
  const bool simulated = !predictions.empty() && predictions.front().simulation.has_value();
  if (simulated) text += k_simulated_columns;
  text += "\r\n";
  for (const Prediction& prediction : predictions) {
    for (const std::string& key : keys) text += csv_field(value_of(prediction, key)) + ",";
    const auto& rate = prediction.throughput;
    text += fmt::format(
        "{:.9g},{:.9g},{:.9g},{:.9g},{},{:.9g},{},{},{:.9g},{},{}", rate.mean.value(), rate.ci90_low.value(),
        rate.ci90_high.value(), prediction.step.value(),
        prediction.epoch ? fmt::format("{:.9g}", prediction.epoch->value()) : "", prediction.stall,
        csv_field(prediction.bound), csv_field(prediction.next_bound), prediction.headroom, prediction.extrapolated,
        prediction.first_epoch && *prediction.first_epoch ? fmt::format("{:.9g}", (*prediction.first_epoch)->value())
                                                          : "");
    if (simulated) text += simulated_fields(prediction);
    text += "\r\n";
  }
  return valid_utf8(text);
}

LoaderAdvice loader_advice(const Recommendation& recommendation) {
  LoaderAdvice advice;
  advice.loader_line = recommendation.loader_line;
  if (recommendation.change_loader) {
    advice.gain = gain_words(recommendation.gain) + (recommendation.is_sure ? "" : ": worth a try");
    advice.gains_surely = recommendation.is_sure;
  } else {
    advice.lines.push_back(recommendation.verdict);
  }
  advice.lines.insert(advice.lines.end(), recommendation.notes.begin(), recommendation.notes.end());
  for (const Remedy& remedy : recommendation.remedies) advice.fixes.push_back({remedy.title, gain_words(remedy.gain)});
  return advice;
}

std::string recommendation_text(const Recommendation& recommendation) {
  TextPage page(/*color=*/false);
  page.item("", 0, recommendation.verdict);
  page.blank();
  page.item("", 2, recommendation.loader_line);
  if (!recommendation.remedies.empty()) page.heading("Beyond the loader's settings, largest gain first");
  int number_of = 0;
  for (const Remedy& remedy : recommendation.remedies) {
    page.item(fmt::format("  {}.", ++number_of), 5, remedy.title + ": " + gain_words(remedy.gain));
    page.item("", 5, "needs " + remedy.cost);
    // To be copied: not broken, however long it is.
    page.line("     stallcast whatif PROFILE --set " + one_line(scenario_words(remedy.prediction)));
  }
  add_items(page, "Would bring next to nothing", recommendation.without_gain);
  std::vector<std::string> unanswered;
  for (const KeyAvailability& key : recommendation.unanswered) unanswered.push_back(unanswered_words(key));
  add_items(page, "Cannot be predicted from this profile", unanswered);
  add_items(page, "Notes", recommendation.notes);
  if (!recommendation.narrowed_by.empty()) {
    page.blank();
    page.item("", 0, "Least certain: " + recommendation.narrowed_by);
  }
  return page.take();
}

std::string verification_text(const Verification& verification) {
  const Prediction& prediction = verification.prediction;
  std::string text = fmt::format("change     {}\n", scenario_words(prediction));
  text += fmt::format("predicted  {} samples/s, 90 % interval{}\n", forecast_words(prediction),
                      prediction.extrapolated ? " (extrapolated)" : "");
  text += verification.measured ? fmt::format("measured   {}, 95 % interval, {} steps\n", rate(*verification.measured),
                                              verification.measured->n)
                                : std::string("measured   nothing that could stand beside it\n");
  if (verification.err_frac) {
    text += fmt::format("error      {:+.1f} % of the measured rate\n", 100.0 * *verification.err_frac);
  }
  text += fmt::format("verdict    {}\n", verification.words);
  if (!verification.hint.empty()) text += fmt::format("  hint: {}\n", verification.hint);
  std::vector<std::string> applied;
  for (const AppliedKey& key : verification.applied) applied.push_back(fmt::format("{}: {}", key.key, key.how));
  add_list(text, "Applied", applied);
  std::vector<std::string> checked;
  for (const Premise& premise : verification.premises) {
    checked.push_back(fmt::format("{}{}: {}{}", premise.holds ? "" : "DOES NOT HOLD: ", premise.check, premise.seen,
                                  premise.holds ? "" : ", expected " + premise.expected));
  }
  add_list(text, "Checked of the run", checked);
  add_list(text, "Notes", prediction_notes(prediction));
  return valid_utf8(text);
}

std::string ledger_text(std::span<const LedgerRow> rows) {
  std::string text = fmt::format("{:<10} {:>12} {:>8} {:>12} {:>8}  {}\n", "kind", "published", "known to", "predicted",
                                 "error", "what (source)");
  for (const LedgerRow& row : rows) {
    const std::string read_to =
        row.published_err_frac > 0.0 ? fmt::format("+-{:.1f}%", 100.0 * row.published_err_frac) : std::string{};
    text += fmt::format("{:<10} {:>12.4g} {:>8} {:>12.4g} {:>7.1f}%  {}, {} ({}){}\n", row_kind_name(row.kind),
                        row.published, read_to, row.predicted, 100.0 * row.err_frac(), row.system, row.quantity,
                        row.source, row.control ? " [known not to help]" : "");
  }
  const LedgerSummary summary = summarize({rows.begin(), rows.end()});
  text += fmt::format(
      "\n{} rows, of which {} were predicted: median error {}, worst {}\n"
      "{} lie within {} of the published figure; {} once the uncertainty of that figure is\n"
      "allowed for (it was read off a plot, or runs that should agree scatter)\n"
      "Changes known not to help: {}\n",
      summary.rows, summary.predicted_rows, percent(summary.median_err_frac), percent(summary.worst_err_frac),
      summary.within_tolerance, percent(k_ledger_tolerance_frac), summary.within_tolerance_as_read,
      summary.controls_hold ? "the model predicts no gain from them" : "THE MODEL PREDICTS A GAIN FROM ONE OF THEM");
  add_list(text, "Not replayed", not_replayed());
  return valid_utf8(text);
}

}  // namespace stallcast::cli
