/// A comparison as text, JSON, Markdown and HTML: the same numbers in each, and nothing that a string starts.
#include "reports/diff/diff.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "analyzer/compare/compare.hpp"
#include "analyzer/compare/fail_condition.hpp"
#include "tests/reports/sample_profiles.hpp"

namespace stallcast::testing {
namespace {

std::string rendered(const Profile& before, const Profile& after, ReportFormat format,
                     const std::vector<std::string>& fail_on = {}) {
  std::vector<FailCondition> conditions;
  for (const std::string& text : fail_on) conditions.push_back(parse_fail_condition(text).value());
  const Comparison comparison = compare(before, after);
  const auto text =
      render_diff(comparison, judge(comparison, conditions), {"a", hostile_strings().front()}, format, {});
  REQUIRE_MESSAGE(text.ok(), text.error().what);
  return text.value();
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

}  // namespace

TEST_CASE("every format of a comparison says the same change") {
  const auto root = nlohmann::json::parse(rendered(prep_bound(), fetch_bound(), ReportFormat::json));
  double change = 0.0;
  for (const auto& number : root["numbers"]) {
    if (number["key"] != "as_is_samples_per_s") continue;
    change = number["change"]["mean"];
    CHECK(number["change_kind"] == "ratio");
    CHECK(number["verdict"] == "changed");
    CHECK(number["b"]["mean"].get<double>() / number["a"]["mean"].get<double>() - 1.0 == doctest::Approx(change));
    CHECK(number["change"]["ci95_low"].get<double>() < change);
    CHECK(number["change"]["ci95_high"].get<double>() > change);
  }
  const std::string shown = std::to_string(static_cast<int>(std::lround(-100.0 * change))) + " % (";
  for (const ReportFormat format : {ReportFormat::text, ReportFormat::md, ReportFormat::html}) {
    const std::string text = rendered(prep_bound(), fetch_bound(), format);
    INFO(report_format_name(format));
    CHECK(text.find(shown) != std::string::npos);
    CHECK(text.find("-" + shown) != std::string::npos);
  }
}

TEST_CASE("shares are percents, and no time reaches below nothing") {
  Profile before = prep_bound();
  Profile after = prep_bound();
  before.dataset.small_files = 0.759654471545;
  after.dataset.small_files = 0.5;
  before.resources.read =
      Estimate<SecondsPerSample>{SecondsPerSample(283e-6), SecondsPerSample(-137e-6), SecondsPerSample(703e-6), 9};
  const std::string text = rendered(before, after, ReportFormat::text);
  CHECK(text.find("76 % -> 50 %") != std::string::npos);
  CHECK(text.find("283 us (0 to 703)") != std::string::npos);
  CHECK(text.find("-137") == std::string::npos);
}

TEST_CASE("conditions are told with their state in every format") {
  const std::vector<std::string> conditions = {"as_is_fetch_frac>+5%", "fetch_frac>+5%", "step_s>+5000%"};
  const auto root = nlohmann::json::parse(rendered(prep_bound(), fetch_bound(), ReportFormat::json, conditions));
  REQUIRE(root["conditions"].size() == 3);
  CHECK(root["conditions"][0]["state"] == "holds");
  CHECK(root["conditions"][1]["state"] == "not_enough_data");
  CHECK(root["conditions"][2]["state"] == "not_exceeded");
  CHECK(rendered(prep_bound(), fetch_bound(), ReportFormat::text, conditions).find("  FAIL") != std::string::npos);
  CHECK(rendered(prep_bound(), fetch_bound(), ReportFormat::md, conditions).find("**FAIL**") != std::string::npos);
  CHECK(rendered(prep_bound(), fetch_bound(), ReportFormat::html, conditions).find(">fail</span>") !=
        std::string::npos);
}

TEST_CASE("hostile strings start nothing") {
  const std::string page = rendered(fetch_bound(), hostile(), ReportFormat::html);
  CHECK(count_of(page, "<script") == 0);
  CHECK(count_of(page, "<img") == 0);
  CHECK(count_of(page, "<svg") == 0);
  CHECK(count_of(page, "<td") == count_of(page, "</td>"));
  CHECK(page.find("{{") != std::string::npos);  // shown as written, not expanded
  for (const NamedProfile& named : sample_profiles()) {
    const std::string text = rendered(named.profile, hostile(), ReportFormat::text);
    CHECK(text.find('\x1b') == std::string::npos);
    const std::string markdown = rendered(named.profile, hostile(), ReportFormat::md);
    CHECK(count_of(markdown, "\n<script") == 0);
    for (const auto format : {ReportFormat::json, ReportFormat::html})
      CHECK_FALSE(rendered(named.profile, hostile(), format).empty());
  }
}

TEST_CASE("nothing in common is said, not shown as equal") {
  const std::string text = rendered(absent_heavy(), prep_bound(), ReportFormat::text);
  CHECK(text.find("Not compared") != std::string::npos);
  const auto root = nlohmann::json::parse(rendered(absent_heavy(), absent_heavy(), ReportFormat::json));
  for (const auto& number : root["numbers"]) {
    if (number["verdict"] == "not_comparable") CHECK_FALSE(number["reason"].get<std::string>().empty());
    if (number["verdict"] == "not_comparable") CHECK(number["change"].is_null());
  }
}

TEST_CASE("formats in which there is no comparison are refused with those there are") {
  const auto csv = render_diff(compare(prep_bound(), prep_bound()), {}, {}, ReportFormat::csv, {});
  REQUIRE_FALSE(csv.ok());
  CHECK(csv.error().code == ErrorCode::usage);
  CHECK(csv.error().hint.find("json") != std::string::npos);
}

}  // namespace stallcast::testing
