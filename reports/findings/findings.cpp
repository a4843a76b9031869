#include "reports/findings/findings.hpp"

#include <fmt/format.h>

#include <cmath>

#include "reports/findings/constants.hpp"
#include "reports/words/format.hpp"

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
      return "fine (under 5 % of the step)";
    case Level::moderate:
      return "moderately input-bound (5 to 20 % of the step)";
    case Level::high:
      return "highly input-bound (over 20 % of the step)";
    case Level::unknown:
      break;
  }
  return "not known whether the job is input-bound";
}

constexpr const char* k_none_of_these = "none of these";

struct Part {
  const char* words;
  double percent;
};

double wait_percent(const Breakdown& b) {
  return 100.0 * b.wait.mean;
}

/// The parts of the wait that are distinguishable from 0, and whether one was left out for not being so.
std::vector<Part> named_parts(const Breakdown& b, bool& left_out) {
  const std::pair<const char*, const char*> k_words[] = {
      {"fetch", b.over_network ? "fetching over the network" : "reading files"},
      {"prep", "preparing samples"},
      {"receive", "receiving batches that were ready"},
      {"sampler", "choosing samples in the training process"},
      {"other", k_none_of_these}};
  std::vector<Part> parts;
  for (const auto& [key, words] : k_words) {
    const Slice* slice = slice_of(b, key);
    if (slice == nullptr) continue;
    if (holds_zero(slice->share)) {
      left_out = true;
    } else {
      parts.push_back({words, slice->share.mean * 100.0});
    }
  }
  return parts;
}

/// ": 29 % reading files, 9 % preparing samples"; empty where the wait was not divided, or is next to
/// none and no part of it can be told.
std::string parts_words(const Breakdown& b, int places) {
  if (slice_of(b, "wait") != nullptr) return "";
  bool left_out = false;
  std::vector<Part> parts = named_parts(b, left_out);
  if (parts.size() == 1 && std::string_view(parts.front().words) == k_none_of_these) parts.clear();
  if (parts.size() == 1 && parts.front().percent >= k_nearly_all_of_wait * wait_percent(b)) {
    return std::string(", nearly all of it ") + parts.front().words;
  }
  if (parts.empty()) return b.wait.mean < k_worth_dividing ? "" : ", and how it divides cannot be told";
  std::vector<double> values;
  values.reserve(parts.size());
  for (const Part& part : parts) values.push_back(part.percent);
  // Only where every part is named do they add up to the whole.
  if (!left_out) values = rounded_parts(values, places);
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += fmt::format("{} {:.{}f} % {}", text.empty() ? ":" : ",", values[i], places, parts[i].words);
  }
  return text;
}

/// "; as the run was found, 21 %": only where that is another share, beyond both intervals.
std::string beside_words(const Findings& f) {
  if (f.breakdowns.size() < 2 || f.breakdowns[1].state != "as_is") return "";
  const Estimate<Fraction> shown = f.breakdowns[0].wait;
  const Estimate<Fraction> found = f.breakdowns[1].wait;
  if (shown.ci95_low <= found.ci95_high && found.ci95_low <= shown.ci95_high) return "";
  if (found.ci95_low <= 0.0) return "; as the run was found, at most " + percent(std::max(0.0, found.ci95_high));
  return "; as the run was found, " + percent(found.mean);
}

/// What is not told from no waiting at all has no level above "fine".
Level told_level(const Estimate<Fraction>& wait) {
  const Level level = level_of(wait.mean);
  return wait.ci95_low > 0.0 || level == Level::fine ? level : Level::unknown;
}

std::string verdict_sentence(const Profile& p, const Findings& f) {
  if (f.breakdowns.empty()) {
    return "How much of each step is spent waiting for data could not be measured: " + p.stalls.as_is_wait.reason() +
           ".";
  }
  const Breakdown& b = f.breakdowns.front();
  const Estimate<Fraction> wait = b.wait;
  const bool cold = b.state == "cold" && !found_is_cold(p);
  if (wait.ci95_low <= 0.0) {
    return fmt::format("No measurable waiting for data{}: at most {} of each step{}.",
                       cold ? " when every byte comes from storage" : "", percent(std::max(0.0, wait.ci95_high)),
                       beside_words(f));
  }
  const int places = wait.mean < 0.0995 ? 1 : 0;
  const std::string parts = parts_words(b, places);
  std::string text = fmt::format("{:.{}f} % of each step is spent waiting for data{}{}{}.", wait.mean * 100.0, places,
                                 cold ? " when every byte comes from storage" : "", parts, beside_words(f));
  if (slice_of(b, "wait") != nullptr)
    text += " How the waiting divides was not measured: " + p.stalls.as_is_fetch.reason() + ".";
  return text;
}

std::string without_stop(std::string text) {
  while (text.ends_with('.') || text.ends_with(' ')) text.pop_back();
  return text;
}

/// With a capital at its beginning and one full stop at its end: reasons come with and without.
std::string sentence(std::string text) {
  text = without_stop(std::move(text));
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') text.front() = static_cast<char>(text.front() - 32);
  return text.empty() ? text : text + ".";
}

std::string outcome_note(const Profile& p) {
  if (p.outcome.status == "measured") return "";
  if (!p.outcome.words.empty()) return sentence(p.outcome.words);
  return fmt::format("The run ended as \"{}\" (exit status {} of the command).", p.outcome.status,
                     p.outcome.child_exit_code);
}

std::string overhead_words(const Overhead& o) {
  std::string text;
  const auto add = [&](const char* what, const MeasuredEstimate<Fraction>& m) {
    const std::string value = usable(m) != nullptr ? percent_or_zero(*m) : not_measured(m.reason());
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", what, value);
  };
  if (usable(o.throughput) == nullptr && usable(o.cpu) == nullptr && o.throughput.reason() == o.cpu.reason()) {
    add("throughput lost while recording, and extra CPU per sample", o.throughput);
  } else {
    add("throughput lost while recording", o.throughput);
    add("extra CPU per sample", o.cpu);
  }
  if (o.recording) text += "; recording written: " + bytes(*o.recording);
  if (o.dropped_records > 0) text += fmt::format("; {} dropped", plural(o.dropped_records, "record"));
  if (o.held && o.measuring) {
    text += fmt::format("; measuring held the script back for {} in {}", duration(*o.held), duration(*o.measuring));
  }
  return text;
}

/// Where no rule finds anything to do, the measurement itself is what can be bettered.
NextStep measure_again(const Confidence& confidence) {
  std::string why = "this run does not tell what the waiting is made of";
  if (!confidence.reasons.empty()) why += ": " + confidence.reasons.front();
  return {"measure-again", "Measure again, for longer and with nothing else running", why, 0.01};
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
  if (!f.breakdowns.empty()) f.level = told_level(f.breakdowns.front().wait);
  f.level_words = level_words(f.level);
  f.verdict = sentence(verdict_sentence(p, f));
  f.outcome_note = outcome_note(p);
  f.confidence = confidence_of(p, f);
  f.why = why_of(p);
  f.next = next_steps_of(p, f.level);
  if (f.next.empty() && !f.breakdowns.empty()) f.next.push_back(measure_again(f.confidence));
  f.missing = missing_of(p);
  for (Missing& missing : f.missing) missing.reason = without_stop(missing.reason);
  f.overhead = overhead_words(p.overhead);
  return f;
}

}  // namespace stallcast::reports
