/// Profiles in, reports out: tests/golden holds both. Run with STALLCAST_UPDATE_GOLDEN=1 to write them anew, and read
/// the difference before committing it.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "analyzer/compare/compare.hpp"
#include "analyzer/compare/fail_condition.hpp"
#include "analyzer/profile/json.hpp"
#include "reports/diff/diff.hpp"
#include "reports/plan/plan.hpp"
#include "reports/render.hpp"
#include "tests/reports/sample_plans.hpp"
#include "tests/reports/sample_predictions.hpp"
#include "tests/reports/sample_profiles.hpp"

namespace stallcast::testing {
namespace {

const std::filesystem::path k_golden = STALLCAST_GOLDEN_FOLDER;

std::string content_of(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// Compares `text` with the golden file, or replaces the file when asked to.
void check_golden(const std::string& file, const std::string& text) {
  INFO("golden file ", file);
  if (std::getenv("STALLCAST_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(k_golden / file, std::ios::binary) << text;
    return;
  }
  const std::string expected = content_of(k_golden / file);
  REQUIRE_FALSE(expected.empty());
  CHECK(text == expected);
}

/// The page without its style and scripts, which have tests of their own and, for one, another author.
std::string body_only(std::string page) {
  for (const std::string name : {"style", "script"}) {
    for (std::size_t at = 0; (at = page.find("<" + name, at)) != std::string::npos;) {
      const std::size_t end = page.find("</" + name + ">", at);
      page.erase(at, end + name.size() + 3 - at);
    }
  }
  const std::size_t policy = page.find("<meta http-equiv=");
  return page.erase(policy, page.find('\n', policy) + 1 - policy);
}

std::string rendered(const Profile& profile, ReportFormat format, bool with_predictions) {
  RenderOptions options;
  options.profile_path = "out";
  std::vector<Prediction> predictions;
  if (with_predictions) {
    options.recommendation = sample_recommendation();
    predictions = sample_predictions();
    options.grid = sample_grid();
    options.curves = sample_curves();
    options.policies = {{"LRU", 0.024, 0.024, 0.024}, {"page cache of Linux", 0.024, 0.05, 0.052}};
  }
  const auto report = render(profile, predictions, format, options);
  REQUIRE(report.ok());
  return report.value();
}

}  // namespace

TEST_CASE("the keys and values of profile.json stay as committed") {
  for (const auto& [name, profile] : sample_profiles()) check_golden(name + ".json", profile_text(to_json(profile)));
}

TEST_CASE("text, Markdown and HTML of the committed profiles stay as committed") {
  for (const auto& [name, ignored] : sample_profiles()) {
    const auto profile = load_profile(k_golden / (name + ".json"));
    REQUIRE_MESSAGE(profile.ok(), profile.error().what);
    const bool with_predictions = name == "prep-bound" || name == "hostile";
    check_golden(name + ".txt", rendered(profile.value(), ReportFormat::text, with_predictions));
    check_golden(name + ".md", rendered(profile.value(), ReportFormat::md, with_predictions));
    check_golden(name + ".html", body_only(rendered(profile.value(), ReportFormat::html, with_predictions)));
  }
}

TEST_CASE("a comparison of committed profiles stays as committed, in every format") {
  const auto before = load_profile(k_golden / "prep-bound.json");
  const auto after = load_profile(k_golden / "hostile.json");
  REQUIRE(before.ok());
  REQUIRE(after.ok());
  std::vector<FailCondition> conditions;
  for (const char* text : {"as_is_fetch_frac>+5%", "as_is_samples_per_s<-90%", "fetch_frac>+5%"}) {
    conditions.push_back(parse_fail_condition(text).value());
  }
  const Comparison comparison = compare(before.value(), after.value());
  const auto judged = judge(comparison, conditions);
  for (const ReportFormat format : {ReportFormat::text, ReportFormat::json, ReportFormat::md, ReportFormat::html}) {
    const auto text = render_diff(comparison, judged, {"before", "after<b>|`\n"}, format, {});
    REQUIRE(text.ok());
    const std::string name = format == ReportFormat::text ? "txt" : report_format_name(format);
    check_golden("diff." + name, format == ReportFormat::html ? body_only(text.value()) : text.value());
  }
}

TEST_CASE("the page of a plan stays as committed") {
  const auto profile = load_profile(k_golden / "prep-bound.json");
  REQUIRE(profile.ok());
  for (const auto& [name, sample] : {std::pair{"plan-met", met_plan()}, std::pair{"plan-missed", missed_plan()},
                                     std::pair{"plan-hostile", hostile_plan()}}) {
    const auto page = render_plan_html(sample.plan, sample.catalog, sample.target, profile.value(), sample.source);
    REQUIRE(page.ok());
    check_golden(std::string(name) + ".html", body_only(page.value()));
  }
}

}  // namespace stallcast::testing
