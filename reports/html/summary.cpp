#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/html/sections.hpp"
#include "reports/words/escape.hpp"

namespace stallcast::reports {
namespace {

std::string css_percent(double share) {
  return fmt::format("{:.2f}", (std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0) * percent_scale().factor);
}

Tags slice_data(const Slice& slice, double begin) {
  const double mean = holds_zero(slice.share) ? 0.0 : slice.share.mean;
  const double low = std::clamp(begin + slice.share.ci95_low, 0.0, 1.0);
  const double high = std::clamp(begin + slice.share.ci95_high, low, 1.0);
  Tags row;
  row.set("key", slice.key);
  row.set("label", slice.label);
  row.set("left", css_percent(begin));
  row.set("width", css_percent(std::min(mean, 1.0 - std::clamp(begin, 0.0, 1.0))));
  row.set("whisker_left", css_percent(low));
  row.set("whisker_width", css_percent(high - low));
  row.set("share", share_words(slice));
  row.set("time", slice.per_step ? duration(*slice.per_step) : "");
  return row;
}

Tags breakdown_data(const Breakdown& b) {
  Tags result;
  result.set("title", b.title);
  result.set("has_step", usable(b.step) != nullptr);
  result.set("step", usable(b.step) != nullptr ? duration(*b.step) : "");
  Tags slices{Tags::type::list};
  double begin = 0.0;
  for (const Slice& slice : b.slices) {
    slices.push_back(slice_data(slice, begin));
    begin += holds_zero(slice.share) ? 0.0 : slice.share.mean;
  }
  result.set("slices", slices);
  return result;
}

Tags epoch_row(const EpochPart& part, const Epochs& epochs) {
  Tags row;
  row.set("label", part.label);
  row.set("class", part.key == "lost" ? "lost" : part.key == "whole" ? "whole" : "part");
  row.set("time", epoch_time_words(part));
  row.set("cost", epoch_cost_words(part, epochs));
  return row;
}

void add_epochs(const Epochs& epochs, Tags& page) {
  Tags passes{Tags::type::list};
  for (const Epoch& epoch : epochs.passes) {
    Tags rows{Tags::type::list};
    for (const EpochPart& part : epoch.parts) rows.push_back(epoch_row(part, epochs));
    if (epoch.lost) rows.push_back(epoch_row(*epoch.lost, epochs));
    rows.push_back(epoch_row(epoch.whole, epochs));
    Tags pass;
    pass.set("title", epoch.title);
    pass.set("rows", rows);
    passes.push_back(pass);
  }
  set_list(page, "epochs", passes);
  page.set("has_price", epochs.price.has_value());
  page.set("epoch_samples", plural(epochs.samples, "sample"));
  page.set("no_epoch", not_measured(epochs.absent));
  page.set("has_no_copy", !epochs.no_copy.empty());
  page.set("no_copy", not_measured(epochs.no_copy));
  page.set("epoch_note", epoch_note(epochs) + (epochs.price ? " Costs are " + price_words(epochs) + "." : ""));
}

Tags prediction_data(const Prediction& p) {
  std::string notes;
  for (const std::string& note : prediction_notes(p)) notes += (notes.empty() ? "" : "; ") + note;
  Tags row;
  row.set("scenario", scenario_words(p));
  row.set("rate", forecast_words(p));
  row.set("stall", percent(p.stall));
  row.set("epoch", p.epoch ? duration(*p.epoch) : "not known: " + p.epoch.reason());
  row.set("bound", bound_words(p));
  row.set("notes", notes);
  return row;
}

std::string badge(Level level) {
  switch (level) {
    case Level::fine:
      return "Fine";
    case Level::moderate:
      return "Moderately input-bound";
    case Level::high:
      return "Highly input-bound";
    case Level::unknown:
      break;
  }
  return "Not known";
}

/// A number and its percent sign stay on one line.
std::string unbroken(std::string text) {
  for (std::size_t at = 0; (at = text.find(" %", at)) != std::string::npos;) text.replace(at, 1, "&nbsp;");
  return text;
}

/// How reading and preparing were told apart; empty where they were not.
std::string method_words(const Findings& f) {
  if (f.breakdowns.empty() || f.breakdowns.front().slices.size() < 3) return "";
  const std::string& method = f.breakdowns.front().method;
  if (method == "attributed")
    return "The split into reading and preparing is attributed (inferred from what the workers did).";
  if (method == "differential+attributed") {
    return "The waiting was measured beside batches that lay ready; its split into reading and preparing is "
           "attributed (inferred from what the workers did).";
  }
  if (method == "differential") {
    const bool beside =
        f.breakdowns.size() > 1 && f.breakdowns[1].slices.size() > 2 && f.breakdowns[1].method == "attributed";
    return std::string("The split into reading and preparing comes from comparing states of this run") +
           (beside ? "; as the run was found, it is attributed (inferred from what the workers did)." : ".");
  }
  return "The split into reading and preparing is by this method: " + method + ".";
}

/// One row of a list: a title with what is told of it.
Tags titled(const std::string& title, const char* name, const std::string& text) {
  Tags row;
  row.set("title", title);
  row.set(name, text);
  return row;
}

void add_recommendation(const RenderOptions& options, Tags& page) {
  page.set("has_recommendation", options.recommendation.has_value());
  const LoaderAdvice r = options.recommendation.value_or(LoaderAdvice{});
  page.set("loader_line", r.loader_line);
  page.set("gain", r.gain);
  Tags lines{Tags::type::list};
  for (const std::string& line : r.lines) lines.push_back(Tags{"text", line});
  page.set("recommendation_lines", lines);
  Tags fixes{Tags::type::list};
  for (const RankedFix& fix : r.fixes) fixes.push_back(titled(fix.title, "gain", fix.gain));
  set_list(page, "fixes", fixes);
}

}  // namespace

void set_list(Tags& page, const std::string& name, const Tags& rows) {
  page.set("has_" + name, !rows.is_empty_list());
  page.set(name, rows);
}

void add_summary(const ReportData& report, Tags& page) {
  const Findings& f = report.findings;
  page.set("title", f.verdict);
  page.set("command", shell_words(report.profile.command));
  page.set("subtitle", report.subtitle);
  page.set("level", level_name(f.level));
  page.set("level_badge", badge(f.level));
  page.set("verdict_html", unbroken(html_text(f.verdict)));
  page.set("has_outcome_note", !f.outcome_note.empty());
  page.set("outcome_note", f.outcome_note);
  page.set("confidence", f.confidence.word);
  Tags reasons{Tags::type::list};
  for (const std::string& reason : f.confidence.reasons) reasons.push_back(Tags{"text", reason});
  set_list(page, "reasons", reasons);
  Tags breakdowns{Tags::type::list};
  for (const Breakdown& b : f.breakdowns) breakdowns.push_back(breakdown_data(b));
  page.set("method_words", method_words(f));
  add_epochs(report.epochs, page);
  set_list(page, "breakdowns", breakdowns);
  Tags next{Tags::type::list};
  for (const NextStep& step : f.next) next.push_back(titled(step.title, "why", step.why));
  set_list(page, "next", next);
  add_recommendation(report.options, page);
  Tags predictions{Tags::type::list};
  for (const Prediction& p : report.predictions) predictions.push_back(prediction_data(p));
  set_list(page, "predictions", predictions);
  page.set("has_limits", !bound_legend(report.predictions).empty());
  page.set("limits", bound_legend(report.predictions));
}

}  // namespace stallcast::reports
