#include <cmath>
#include <nlohmann/json.hpp>

#include "core/utf8.hpp"
#include "reports/diff/diff_words.hpp"

namespace stallcast::reports {
namespace {

using nlohmann::json;

json number_json(double value) {
  return std::isfinite(value) ? json(value) : json(nullptr);
}

json estimate_json(const std::optional<Estimate<double>>& estimate) {
  if (!estimate) return nullptr;
  return {{"mean", number_json(estimate->mean)},
          {"ci95_low", number_json(estimate->ci95_low)},
          {"ci95_high", number_json(estimate->ci95_high)},
          {"n", estimate->n}};
}

const char* verdict_name(ChangeVerdict verdict) {
  switch (verdict) {
    case ChangeVerdict::changed:
      return "changed";
    case ChangeVerdict::perhaps:
      return "perhaps";
    case ChangeVerdict::within_noise:
      return "within_noise";
    case ChangeVerdict::not_comparable:
      break;
  }
  return "not_comparable";
}

json compared_json(const ComparedNumber& number) {
  json out{{"section", number.section},
           {"key", number.key},
           {"a", estimate_json(number.before)},
           {"b", estimate_json(number.after)},
           {"change", nullptr},
           {"change_kind", nullptr},
           {"p_value", nullptr},
           {"verdict", verdict_name(number.verdict)}};
  if (number.change) {
    out["change_kind"] = number.change->kind == ChangeKind::ratio ? "ratio" : "difference";
    out["change"] = {{"mean", number_json(number.change->mean)},
                     {"ci95_low", number_json(number.change->ci95_low)},
                     {"ci95_high", number_json(number.change->ci95_high)}};
    out["p_value"] = number_json(number.p_value);
  } else {
    out["reason"] = valid_utf8(number.reason);
  }
  return out;
}

json condition_json(const JudgedCondition& judged) {
  return {{"condition", valid_utf8(judged.condition.text)},
          {"key", judged.condition.key},
          {"threshold_frac", judged.condition.rises ? judged.condition.threshold : -judged.condition.threshold},
          {"state", state_name(judged.state)},
          {"words", valid_utf8(condition_words(judged))}};
}

json texts_json(const std::vector<std::string>& texts) {
  json list = json::array();
  for (const std::string& text : texts) list.push_back(valid_utf8(text));
  return list;
}

}  // namespace

std::string diff_json(const DiffData& data) {
  json numbers = json::array();
  for (const ComparedNumber& number : data.comparison.numbers) numbers.push_back(compared_json(number));
  json settings = json::array();
  for (const SettingChange& change : data.comparison.settings) {
    settings.push_back({{"section", change.section},
                        {"key", change.key},
                        {"a", valid_utf8(change.before)},
                        {"b", valid_utf8(change.after)}});
  }
  json conditions = json::array();
  for (const JudgedCondition& judged : data.conditions) conditions.push_back(condition_json(judged));
  const json root{{"schema_version", k_diff_schema_version},
                  {"a", valid_utf8(data.names.before)},
                  {"b", valid_utf8(data.names.after)},
                  {"headline", valid_utf8(data.headline)},
                  {"numbers", std::move(numbers)},
                  {"settings", std::move(settings)},
                  {"issues_only_a", texts_json(data.comparison.gone_issues)},
                  {"issues_only_b", texts_json(data.comparison.new_issues)},
                  {"conditions", std::move(conditions)},
                  {"notes", texts_json(data.comparison.notes)}};
  return root.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace stallcast::reports
