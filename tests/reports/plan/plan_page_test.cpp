/// The page of a plan: what it says, and that no string of a catalogue or profile breaks it.
#include <doctest/doctest.h>

#include <cmath>
#include <regex>

#include "reports/plan/plan_words.hpp"
#include "tests/reports/html/page_tags.hpp"
#include "tests/reports/random_profile.hpp"
#include "tests/reports/sample_plans.hpp"
#include "tests/reports/sample_profiles.hpp"

namespace stallcast::testing {
namespace {

std::string page_of(const SamplePlan& sample, const Profile& profile = prep_bound()) {
  const auto page = render_plan_html(sample.plan, sample.catalog, sample.target, profile, sample.source);
  REQUIRE_MESSAGE(page.ok(), page.error().what);
  return page.value();
}

bool holds(const std::string& page, const std::string& words) {
  return visible(page).find(words) != std::string::npos;
}

std::size_t rows_of(const std::string& page, const std::string& region) {
  const std::size_t at = page.find("aria-label=\"" + region + "\"");
  REQUIRE(at != std::string::npos);
  const std::string table = page.substr(at, page.find("</table>", at) - at);
  const std::regex row("<tr");
  return static_cast<std::size_t>(std::distance(std::sregex_iterator(table.begin(), table.end(), row), {})) - 1;
}

nlohmann::json group_of(const nlohmann::json& data, const std::string& name) {
  for (const auto& group : data["front"]["groups"]) {
    if (group["name"] == name) return group;
  }
  FAIL("no group " << name);
  return {};
}

}  // namespace

TEST_CASE("the page of a plan says the verdict, the choice and what it rests on") {
  const SamplePlan sample = met_plan();
  const std::string page = page_of(sample);
  CHECK(holds(page, "4 x small: 90 epochs in 6.0 h (5.3 to 6.7) for 27"));
  CHECK(holds(page, "the target is met, even at the pessimistic end of the interval</h1>"));
  CHECK(page.find("class=\"hero level-fine\"") != std::string::npos);
  for (const std::string& words :
       {sample.plan.buy_next, sample.plan.hangs_on, sample.plan.left_out[0], sample.plan.notes[0],
        sample.catalog.currency, sample.plan.curves[0].weak.stops, sample.source.profile_written,
        std::string("stallcast plan out --format html"), std::string("python train.py --data data/jpeg"),
        std::string("the user's figures"), std::string("11 candidates")}) {
    CHECK_MESSAGE(holds(page, words), words);
  }
  CHECK(rows_of(page, "Options") == 4);
  CHECK(rows_of(page, "Machines of the catalogue") == 2);
  CHECK(rows_of(page, "Scaling") == 3);
  CHECK(holds(page, "<td class=\"number\">1.125 EUR</td>"));  // as given, not rounded
  CHECK(holds(page, "<td class=\"number\">7.5</td>"));
}

TEST_CASE("the chart of a plan shows what the table says, with the choice and the target marked") {
  const SamplePlan sample = met_plan();
  const auto data = data_of(page_of(sample));
  CHECK(data["front"]["groups"].size() == 2);
  const auto choice = group_of(data, "the choice")["points"];
  REQUIRE(choice.size() == 1);
  CHECK(choice[0]["number"] == 2);
  CHECK(choice[0]["x"].get<double>() == doctest::Approx(6.0));
  CHECK(choice[0]["x_high"].get<double>() == doctest::Approx(6.0 / 0.9));
  CHECK(choice[0]["y"].get<double>() == doctest::Approx(27.0));
  CHECK(choice[0]["y_low"].get<double>() == doctest::Approx(24.0));
  CHECK(group_of(data, "on the front")["points"].size() == 3);
  REQUIRE(data["front"]["targets"].size() == 1);
  CHECK(data["front"]["targets"][0]["x"].get<double>() == doctest::Approx(8.0));
  for (const auto& group : data["front"]["groups"]) {
    for (const auto& point : group["points"]) {
      CHECK(point["x_low"].get<double>() >= data["front"]["x"]["min"].get<double>());
      CHECK(point["x_high"].get<double>() <= data["front"]["x"]["max"].get<double>());
      CHECK(point["y_low"].get<double>() >= data["front"]["y"]["min"].get<double>());
      CHECK(point["y_high"].get<double>() <= data["front"]["y"]["max"].get<double>());
    }
  }
  REQUIRE(data["curves"].size() == 1);  // one number of ranks alone is no curve
  CHECK(data["curves"][0]["key"] == "weak");
  CHECK(data["curves"][0]["lines"][0]["points"][2]["mean"].get<double>() == 50.0);
  CHECK(data["curves"][0]["lines"][0]["points"][2]["label"].get<std::string>().find("62 % of perfect scaling") !=
        std::string::npos);
}

TEST_CASE("what nothing meets: the nearest is marked, as an upper bound and as off the front") {
  const std::string page = page_of(missed_plan());
  CHECK(page.find("class=\"hero level-high\"") != std::string::npos);
  CHECK(
      holds(page, "Nothing in the catalogue meets the target: the nearest misses it by 12 %, held back by fetch</h1>"));
  CHECK(rows_of(page, "Options") == 5);
  CHECK(holds(page, "the nearest; not on the front: another is faster and cheaper by its mean; an upper bound"));
  const auto nearest = group_of(data_of(page), "the nearest, an upper bound of the rate");
  CHECK(nearest["hollow"] == true);
  CHECK(nearest["points"][0]["number"] == 2);
  CHECK(holds(page, "No single measurement stands out"));
  CHECK(holds(page, "No machine of the catalogue was answered in more than one number."));
  CHECK(holds(page, "<dt>Last changed</dt><dd>not known</dd>"));
  CHECK(holds(page, "<dt>Shared storage</dt><dd>not named</dd>"));
  CHECK(holds(page, "the catalogue's currency, which it does not name"));
}

TEST_CASE("without a target there is no verdict on it") {
  SamplePlan sample = met_plan();
  sample.target = {};
  sample.plan.choice.reset();
  sample.plan.verdict = "no target was given: the table shows what more money buys";
  const std::string page = page_of(sample);
  CHECK(page.find("class=\"hero level-unknown\"") != std::string::npos);
  CHECK(page.find(">Meets</th>") == std::string::npos);
  CHECK(data_of(page)["front"]["targets"].empty());
  CHECK(holds(page, "This is about 1 x big, the fastest."));
}

TEST_CASE("a free machine and a single option draw on axes that exist") {
  SamplePlan sample = met_plan();
  PlanOption free = sample.plan.front[0];
  free.cost = {};
  sample.plan.front = {free};
  sample.plan.choice.reset();
  sample.target = {};
  const auto front = data_of(page_of(sample))["front"];
  CHECK(front["y"]["log"] == false);
  CHECK(front["y"]["max"].get<double>() > front["y"]["min"].get<double>());
  CHECK(front["x"]["max"].get<double>() > front["x"]["min"].get<double>());
}

TEST_CASE("an interval without an upper end is said, and drawn on axes that exist") {
  SamplePlan sample = met_plan();
  for (PlanOption* option : {&sample.plan.front[1], &*sample.plan.choice}) {
    option->time.ci90_high = Seconds(INFINITY);
    option->cost.ci90_high = INFINITY;
  }
  const std::string page = page_of(sample);
  CHECK(holds(page, "6.00 h (at least 5.33 h, without an upper end)"));
  const auto front = data_of(page)["front"];
  CHECK(front["x"]["max"].get<double>() > front["x"]["min"].get<double>());
  CHECK(group_of(data_of(page), "the choice")["points"][0]["x_high"].is_null());
}

TEST_CASE("a plan without an option is a bug of ours, not a page") {
  SamplePlan sample = met_plan();
  sample.plan.front.clear();
  const auto page = render_plan_html(sample.plan, sample.catalog, sample.target, prep_bound(), sample.source);
  REQUIRE_FALSE(page.ok());
  CHECK(page.error().code == ErrorCode::internal);
}

TEST_CASE("hostile strings of a catalogue add no element, no attribute and no script") {
  check_page(page_of(met_plan()), 3);
  check_page(page_of(missed_plan()), 3);
  const std::string page = page_of(hostile_plan(), hostile());
  check_page(page, 3);
  CHECK(page.find("\xe2\x80\xae") == std::string::npos);  // reorders text
  CHECK(page.find("{{command}}") != std::string::npos);   // shown as written, not expanded
  CHECK(data_of(page)["front"]["groups"][0]["points"][0]["label"].get<std::string>().find("\xe2\x80\xae") ==
        std::string::npos);
  for (unsigned seed = 0; seed < 10; ++seed) check_page(page_of(hostile_plan(), random_profile(seed)), 3);
}

TEST_CASE("every chart of a plan has a table and a name, and only its own two scripts run") {
  const std::string page = page_of(met_plan());
  const std::regex canvas("<canvas id=\"chart-[a-z-]+\" role=\"img\" aria-label=\"[^\"]+\">");
  CHECK(std::distance(std::sregex_iterator(page.begin(), page.end(), canvas), std::sregex_iterator()) == 2);
  const std::regex hash("'sha256-[A-Za-z0-9+/]{43}='");
  CHECK(std::distance(std::sregex_iterator(page.begin(), page.end(), hash), std::sregex_iterator()) == 2);
  CHECK(page.find("default-src 'none'") != std::string::npos);
}

TEST_CASE("a currency is shown beside a number where it is a word") {
  const auto word_of = [](const char* currency) { return reports::currency_word({currency, {}, {}}); };
  CHECK(word_of("EUR, example prices") == "EUR");
  CHECK(word_of("USD") == "USD");
  CHECK(word_of("").empty());
  CHECK(word_of("aVeryLongWordThatIsNone").empty());
}

}  // namespace stallcast::testing
