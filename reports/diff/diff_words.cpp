#include "reports/diff/diff_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "reports/words/format.hpp"

namespace stallcast {
namespace reports {
namespace {

bool is_rate(const std::string& key) {
  return key.ends_with("_samples_per_s");
}

bool is_share(const std::string& key) {
  return key.ends_with("_frac");
}

/// The unit in which both sides are shown, so that they can be compared by eye.
Scale scale_of(const ComparedNumber& number) {
  if (is_rate(number.key)) return {1.0, "samples/s"};
  if (is_share(number.key)) return percent_scale();
  double size = 0.0;
  if (number.before) size = std::max(size, std::abs(number.before->mean));
  if (number.after) size = std::max(size, std::abs(number.after->mean));
  return time_scale(size);
}

std::string with_sign(double mean, std::string text) {
  return mean > 0.0 ? "+" + std::move(text) : text;
}

/// The first rate that both sides have: as found, else the closest to it.
const ComparedNumber* leading_rate(const Comparison& comparison) {
  constexpr std::array k_order = {"as_is_samples_per_s", "cold_samples_per_s", "cached_samples_per_s"};
  for (const char* key : k_order) {
    for (const ComparedNumber& number : comparison.numbers) {
      if (number.key == key && number.change) return &number;
    }
  }
  return nullptr;
}

const char* rate_name(const ComparedNumber& number) {
  if (number.key == "as_is_samples_per_s") return "as found";
  return number.key == "cold_samples_per_s" ? "with every byte from storage" : "with every byte from memory";
}

std::string rate_words(const ComparedNumber& number) {
  const Change& change = *number.change;
  if (number.verdict == ChangeVerdict::within_noise) {
    return fmt::format("Samples a second {}: {}, no more than noise", rate_name(number), change_words(number));
  }
  if (change.kind != ChangeKind::ratio) {
    return fmt::format("{} samples a second {}", change_words(number), rate_name(number));
  }
  const bool fewer = change.mean < 0.0;
  const double sign = fewer ? -1.0 : 1.0;
  const double low = fewer ? -change.ci95_high : change.ci95_low;
  const double high = fewer ? -change.ci95_low : change.ci95_high;
  return fmt::format("{} {} samples a second {}: {}", with_interval(sign * change.mean, low, high, percent_scale(), 3),
                     fewer ? "fewer" : "more", rate_name(number),
                     number.verdict == ChangeVerdict::changed ? "beyond noise" : "perhaps noise");
}

}  // namespace

int goodness(const ComparedNumber& number) {
  if (!number.change || number.change->mean == 0.0) return 0;
  const int up = number.change->mean > 0.0 ? 1 : -1;
  return is_rate(number.key) ? up : -up;
}

std::string side_words(const ComparedNumber& number, const std::optional<Estimate<double>>& side) {
  if (!side) return "not measured";
  // No rate, share of a step or time is less than nothing, whatever a symmetric interval says.
  const bool may_be_negative = number.section == "overhead" || side->mean < 0.0;
  const double low = may_be_negative ? side->ci95_low : std::max(side->ci95_low, 0.0);
  return with_interval(side->mean, low, side->ci95_high, scale_of(number), is_share(number.key) ? 3 : 4);
}

std::string change_words(const ComparedNumber& number) {
  if (!number.change) return "";
  const Change& change = *number.change;
  Scale scale = scale_of(number);
  if (change.kind == ChangeKind::ratio) scale = percent_scale();
  if (is_share(number.key)) scale.unit = "points";
  return with_sign(change.mean, with_interval(change.mean, change.ci95_low, change.ci95_high, scale, 3));
}

std::string verdict_words(ChangeVerdict verdict) {
  switch (verdict) {
    case ChangeVerdict::changed:
      return "changed";
    case ChangeVerdict::perhaps:
      return "perhaps";
    case ChangeVerdict::within_noise:
      return "within noise";
    case ChangeVerdict::not_comparable:
      break;
  }
  return "not compared";
}

const char* state_name(ConditionState state) {
  switch (state) {
    case ConditionState::holds:
      return "holds";
    case ConditionState::within_noise:
      return "within_noise";
    case ConditionState::not_exceeded:
      return "not_exceeded";
    case ConditionState::not_enough_data:
      break;
  }
  return "not_enough_data";
}

std::string headline_words(const Comparison& comparison) {
  const std::size_t changed = with_verdict(comparison, ChangeVerdict::changed).size();
  const std::size_t compared = changed + with_verdict(comparison, ChangeVerdict::perhaps).size() +
                               with_verdict(comparison, ChangeVerdict::within_noise).size();
  if (compared == 0) return "Nothing could be compared: no number was measured on both sides with an interval.";
  const std::string of = plural(static_cast<std::int64_t>(compared), "number");
  std::string text = changed == 0 ? fmt::format("Nothing changed beyond noise in {}", of)
                                  : fmt::format("{} of {} changed beyond noise", changed, of);
  if (const ComparedNumber* rate = leading_rate(comparison)) text = rate_words(*rate) + ". " + text;
  return text + ".";
}

std::string setting_words(const SettingChange& change, const std::string& value) {
  if (value.empty()) return "nothing";
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  const bool is_number = end != value.c_str() && *end == '\0';
  if (is_number && change.key.ends_with("_frac")) return percent(number);
  return is_number && change.key.ends_with("_bytes") ? bytes(Bytes(number)) : value;
}

std::string setting_name(const SettingChange& change) {
  return change.section.empty() ? change.key : change.section + "." + change.key;
}

std::string number_name(const ComparedNumber& number) {
  return number.section == "overhead" ? number.section + "." + number.key : number.key;
}

std::map<std::string, std::vector<std::string>> not_compared(const Comparison& comparison) {
  std::map<std::string, std::vector<std::string>> keys;
  for (const ComparedNumber& number : comparison.numbers) {
    if (number.verdict == ChangeVerdict::not_comparable) keys[number.reason].push_back(number_name(number));
  }
  return keys;
}

std::vector<const ComparedNumber*> with_verdict(const Comparison& comparison, ChangeVerdict verdict) {
  std::vector<const ComparedNumber*> numbers;
  for (const ComparedNumber& number : comparison.numbers) {
    if (number.verdict == verdict) numbers.push_back(&number);
  }
  return numbers;
}

std::string joined_words(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

}  // namespace reports

std::string condition_words(const JudgedCondition& judged) {
  const std::string change = judged.number.key + " changed by " + reports::change_words(judged.number);
  switch (judged.state) {
    case ConditionState::holds:
      return judged.condition.text + ": " + change + ", more than asked and beyond noise";
    case ConditionState::within_noise:
      return judged.condition.text + ": " + change + ", more than asked but within noise, so that it does not count";
    case ConditionState::not_exceeded:
      return judged.condition.text + ": " + change + ", not more than asked";
    case ConditionState::not_enough_data:
      break;
  }
  return judged.condition.text + ": " + judged.condition.key + " cannot be compared, " + judged.number.reason;
}

Result<std::string> render_diff(const Comparison& comparison, std::span<const JudgedCondition> conditions,
                                const DiffNames& names, ReportFormat format, const RenderOptions& options) {
  const reports::DiffData data{comparison, conditions, names, options, reports::headline_words(comparison)};
  switch (format) {
    case ReportFormat::text:
      return reports::diff_text(data);
    case ReportFormat::json:
      return reports::diff_json(data);
    case ReportFormat::md:
      return reports::diff_markdown(data);
    case ReportFormat::html:
      return reports::diff_html(data);
    case ReportFormat::csv:
    case ReportFormat::perfetto:
    case ReportFormat::openmetrics:
      break;
  }
  return Error{ErrorCode::usage, std::string("a comparison cannot be written as ") + report_format_name(format),
               "write one of text, json, md, html"};
}

}  // namespace stallcast
