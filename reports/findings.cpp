#include "reports/findings.hpp"

#include <fmt/format.h>

#include <cmath>

#include "reports/format.hpp"

namespace stallcast::reports {
namespace {

const Slice* slice_of(const Breakdown& b, std::string_view key) {
  for (const Slice& slice : b.slices) {
    if (slice.key == key) return &slice;
  }
  return nullptr;
}

std::string level_words(Level level) {
  switch (level) {
    case Level::fine:
      return "fine: under 5 % of the step";
    case Level::moderate:
      return "moderately input-bound: 5 to 20 % of the step";
    case Level::high:
      return "highly input-bound: over 20 % of the step";
    case Level::unknown:
      break;
  }
  return "not known";
}

/// ": 29 % reading files, 9 % preparing them", with parts that add up to `total`.
std::string parts_words(const Breakdown& b, double wait, int places, double& total) {
  struct Part {
    const char* key;
    const char* words;
  };
  std::vector<double> values;
  std::vector<const char*> words;
  double sum = 0.0;
  for (const Part& part :
       {Part{"fetch", "reading files"}, Part{"prep", "preparing samples"}, Part{"other", "neither"}}) {
    const Slice* slice = slice_of(b, part.key);
    if (slice == nullptr || slice->share.mean <= 0.0) continue;
    values.push_back(slice->share.mean * 100.0);
    words.push_back(part.words);
    sum += slice->share.mean * 100.0;
  }
  if (values.empty()) return "";
  for (double& value : values) value *= wait * 100.0 / sum;  // the last point of slack goes to all alike
  const std::vector<double> rounded = rounded_parts(values, places);
  std::string text;
  total = 0.0;
  for (std::size_t i = 0; i < rounded.size(); ++i) {
    total += rounded[i];
    if (rounded[i] > 0.0)
      text += fmt::format("{} {:.{}f} % {}", text.empty() ? ":" : ",", rounded[i], places, words[i]);
  }
  return text;
}

std::string verdict_words(const Profile& p, const Findings& f) {
  if (f.breakdowns.empty()) {
    return "How much of each step is spent waiting for data could not be measured: " + p.stalls.as_is_wait.reason() +
           ".";
  }
  const Breakdown& b = f.breakdowns.front();
  const Slice* compute = slice_of(b, "compute");
  const double wait = 1.0 - compute->share.mean;
  if (compute->share.ci95_high >= 1.0) {
    return fmt::format("No measurable waiting for data: at most {} of each step.",
                       percent(1.0 - compute->share.ci95_low));
  }
  const int places = wait < 0.0995 ? 1 : 0;
  double total = rounded_parts({wait * 100.0}, places).front();
  const std::string parts = parts_words(b, wait, places, total);
  const bool cold = usable(p.stalls.as_is_wait) == nullptr;
  std::string text = fmt::format("{:.{}f} % of each step is spent waiting for data{}{}.", total, places,
                                 cold ? " when every byte comes from storage" : "", parts);
  if (parts.empty()) text += " How it divides was not measured: " + p.stalls.as_is_fetch.reason() + ".";
  return text;
}

/// A reason often ends with its own full stop.
std::string one_stop(std::string text) {
  for (std::size_t at; (at = text.find("..")) != std::string::npos;) text.erase(at, 1);
  return text;
}

std::string outcome_note(const Profile& p) {
  if (p.outcome.status == "measured") return "";
  if (!p.outcome.words.empty()) return p.outcome.words;
  return fmt::format("The run ended as \"{}\" (exit status {} of the command).", p.outcome.status,
                     p.outcome.child_exit_code);
}

std::string overhead_words(const Overhead& o) {
  std::string text;
  const auto add = [&](const char* what, const MeasuredEstimate<Fraction>& m) {
    const std::string value = usable(m) != nullptr ? percent_or_zero(*m) : "not measured (" + m.reason() + ")";
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", what, value);
  };
  add("throughput lost while recording", o.throughput);
  add("extra CPU per sample", o.cpu);
  if (o.recording) text += "; recording written: " + bytes(*o.recording);
  if (o.dropped_records > 0) text += fmt::format("; {} dropped", plural(o.dropped_records, "record"));
  return text;
}

}  // namespace

const char* level_name(Level level) {
  switch (level) {
    case Level::fine:
      return "fine";
    case Level::moderate:
      return "moderate";
    case Level::high:
      return "high";
    case Level::unknown:
      break;
  }
  return "unknown";
}

Level level_of(Fraction wait) {
  if (!std::isfinite(wait)) return Level::unknown;
  if (wait < k_moderate_from) return Level::fine;
  return wait > k_high_from ? Level::high : Level::moderate;
}

Findings find(const Profile& p) {
  Findings f;
  f.breakdowns = breakdowns_of(p);
  if (!f.breakdowns.empty()) f.level = level_of(1.0 - slice_of(f.breakdowns.front(), "compute")->share.mean);
  f.level_words = level_words(f.level);
  f.verdict = one_stop(verdict_words(p, f));
  f.outcome_note = outcome_note(p);
  f.confidence = confidence_of(p, f);
  f.why = why_of(p);
  f.next = next_steps_of(p, f.level);
  f.missing = missing_of(p);
  f.overhead = overhead_words(p.overhead);
  return f;
}

}  // namespace stallcast::reports
