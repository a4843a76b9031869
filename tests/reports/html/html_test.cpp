/// The HTML page: built of nothing but the elements of its template, whatever the strings in it.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "reports/html/charts.hpp"
#include "reports/render.hpp"
#include "tests/reports/html/page_tags.hpp"
#include "tests/reports/random_profile.hpp"
#include "tests/reports/sample_predictions.hpp"
#include "tests/reports/sample_profiles.hpp"

namespace stallcast::testing {
namespace {

std::string page_of(const Profile& profile) {
  RenderOptions options;
  options.recommendation = sample_recommendation();
  options.grid = sample_grid();
  options.curves = sample_curves();
  options.price = parse_price("32USD/h").value();
  const auto page = render(profile, sample_predictions(), ReportFormat::html, options);
  REQUIRE_MESSAGE(page.ok(), page.error().what);
  return page.value();
}

}  // namespace

TEST_CASE("hostile strings add no element, no attribute and no script") {
  for (const NamedProfile& named : sample_profiles()) {
    INFO(named.name);
    check_page(page_of(named.profile), 4);
  }
  for (unsigned seed = 0; seed < 20; ++seed) check_page(page_of(random_profile(seed)), 4);
}

TEST_CASE("hostile strings are shown as they are") {
  const std::string page = page_of(hostile());
  const std::size_t at = page.find("<p class=\"command\">");
  REQUIRE(at != std::string::npos);
  const std::size_t begin = page.find("<code", at);
  const std::string command = visible(page.substr(begin, page.find("</code>", begin) - begin));
  CHECK(command.find("</script><script>alert(1)</script>") != std::string::npos);
  CHECK(command.find("{{command}} {{{command}}} {{#rows}}x{{/rows}}") != std::string::npos);
}

TEST_CASE("the page loads nothing and lets only its own three scripts run") {
  const std::string page = page_of(hostile());
  std::smatch match;
  const std::regex policy("http-equiv=\"Content-Security-Policy\" content=\"([^\"]*)\"");
  REQUIRE(std::regex_search(page, match, policy));
  const std::string rules = match[1].str();
  CHECK(rules.find("default-src 'none'") != std::string::npos);
  const std::regex hash("'sha256-[A-Za-z0-9+/]{43}='");
  CHECK(std::distance(std::sregex_iterator(rules.begin(), rules.end(), hash), std::sregex_iterator()) == 3);
  CHECK(rules.find("script-src 'unsafe-inline'") == std::string::npos);
  for (const Tag& tag : tags_of(page)) {
    for (const std::string& attribute : tag.attributes) CHECK(attribute != "src");
    if (tag.name == "style") CHECK(tag.raw.find("url(") == std::string::npos);
    if (tag.name == "style") CHECK(tag.raw.find("@import") == std::string::npos);
  }
}

TEST_CASE("a distribution has the unit that its key names, and a number of things has none") {
  Profile p = prep_bound();
  for (const double reads : {3.0, 4.0, 4.0, 5.0}) p.resources.distributions["sample_reads"].add(reads);
  p.resources.distributions["sample_bytes"].add(4096.0);
  std::map<std::string, std::string> units;
  for (const auto& named : reports::distributions_of(p)) units[named.title] = named.scale.unit;
  CHECK(units.at("Read calls for one sample").empty());
  CHECK(units.at("Bytes read for one sample") == "KiB");
  CHECK(units.at("One step") == "ms");
}

TEST_CASE("the data of the charts is JSON that says what the profile says") {
  const Profile p = hostile();
  for (const Tag& tag : tags_of(page_of(p))) {
    if (tag.name != "script" || tag.attributes.empty()) continue;
    const auto data = nlohmann::json::parse(tag.raw);
    REQUIRE(data["timeline"].size() == p.timeline.size());
    CHECK(data["timeline"][4]["phase"] == "</script><script>alert(1)</script>");
    const TimelineRow& row = p.timeline[7];
    CHECK(data["timeline"][7]["percent"].get<double>() ==
          doctest::Approx(100.0 * row.wait_s / (row.end_s - row.begin_s)));
    CHECK(data["distributions"].size() == 5);
    for (const auto& entry : data["distributions"]) CHECK(entry["labels"].size() == entry["counts"].size());
  }
}

TEST_CASE("the sliders have every combination, a table of single changes, and the reason where there are none") {
  const std::string page = page_of(prep_bound());
  for (const Tag& tag : tags_of(page)) {
    if (tag.name != "script" || tag.attributes.empty()) continue;
    const auto grid = nlohmann::json::parse(tag.raw)["grid"];
    REQUIRE(grid["index"].size() == 6);
    for (const auto& column : grid["points"]) REQUIRE(column.size() == 4);
    CHECK(grid["texts"].size() == 5);  // told once, named by number
    CHECK(grid["points"]["set"][1] == "");
    CHECK(grid["points"]["set"][0] == " --set workers=1");
    CHECK(grid["points"]["mean"][0].get<double>() == doctest::Approx(331.0));
  }
  CHECK(page.find("<th scope=\"row\"><code>workers=1</code></th>") != std::string::npos);
  CHECK(page.find("id=\"knob-gpu_speedup\"") != std::string::npos);
  CHECK(page.find("about 3.10 times the samples/s (2.80 to 3.40)") < page.find("id=\"remedies\""));
  RenderOptions options;
  options.no_grid = "no rate was <b> measured";
  const auto without = render(prep_bound(), {}, ReportFormat::html, options);
  REQUIRE(without.ok());
  CHECK(without.value().find("no rate was &#60;b&#62; measured") != std::string::npos);
  CHECK(without.value().find("whatif-form\"") == without.value().rfind("whatif-form\""));  // in the script alone
}

TEST_CASE("every chart has a table beside it and a name") {
  const std::string page = page_of(multi_rank());
  const std::regex canvas("<canvas id=\"chart-[a-z0-9-]+\" role=\"img\" aria-label=\"[^\"]+\">");
  CHECK(std::distance(std::sregex_iterator(page.begin(), page.end(), canvas), std::sregex_iterator()) == 7);
  CHECK(page.find("<tr><th scope=\"row\">Reading one sample</th>") != std::string::npos);
}

TEST_CASE("the curves say what was predicted, and mark what was found and what is recommended") {
  const std::string page = page_of(prep_bound());
  const auto curves = data_of(page)["curves"];
  REQUIRE(curves.size() == 2);
  CHECK(curves[0]["lines"][0]["points"][0]["mean"].get<double>() == 331.0);
  CHECK(curves[0]["marks"][1]["words"] == "recommended");
  CHECK(curves[0]["marks"][1]["x"].get<double>() == 4.0);
  CHECK(curves[1]["lines"].size() == 2);
  CHECK(curves[1]["lines"][1]["points"][1]["x"].get<double>() == 100.0);
  CHECK(page.find("<th scope=\"row\">4</th><td>predicted</td>") != std::string::npos);
  CHECK(page.find("<td>recommended (extrapolated)</td>") != std::string::npos);
  CHECK(page.find("Not predicted: this run read &#60;b&#62;everything") != std::string::npos);
}

TEST_CASE("phases are shaded and listed, with why a block does not count") {
  const Profile p = multi_rank();
  const std::string page = page_of(p);
  const auto data = data_of(page);
  REQUIRE(data["stretches"].size() == p.phases.size());
  CHECK(data["stretches"][0]["phase"] == "cold");
  CHECK(data["stretches"][0]["tint"] == "fetch");
  CHECK(data["stretches"][0]["counts"] == true);
  CHECK(data["stretches"][8]["counts"] == false);
  CHECK(page.find("<td>no: records of its batches are missing</td>") != std::string::npos);
  CHECK(data_of(page_of(prep_bound()))["stretches"].empty());
}

TEST_CASE("a timeline of many steps is thinned so that sums and extremes stay") {
  Profile p = compute_bound();
  p.timeline.clear();
  double wait = 0.0;
  for (int i = 0; i < 100'000; ++i) {
    const double long_wait = i == 77'777 ? 0.05 : 0.001;
    p.timeline.push_back({0.1 * i, 0.1 * (i + 1), 1, long_wait, long_wait, "as_is", i == 33'333 ? 0.9 : 0.1});
    wait += long_wait;
  }
  const std::string page = page_of(p);
  CHECK(page.size() < 1'500'000);
  const auto rows = data_of(page)["timeline"];
  CHECK(rows.size() <= 1500);
  CHECK(rows.back()["to"].get<double>() == doctest::Approx(10'000.0));
  const auto holds = [&](const std::string& words) {
    return std::count_if(rows.begin(), rows.end(), [&](const auto& row) {
      return row["label"].template get<std::string>().find(words) != std::string::npos;
    });
  };
  CHECK(holds("longest wait 50.0 ms") == 1);
  CHECK(holds("the longest 900 ms") == 1);
  double waited = 0.0;
  for (const auto& row : rows) {
    waited += row["percent"].get<double>() / 100.0 * (row["to"].get<double>() - row["from"].get<double>());
  }
  CHECK(waited == doctest::Approx(wait));
  CHECK(page.find("The longest step took 900 ms: beyond the top of the chart.") != std::string::npos);
  // Phases that change with every step cannot make the page grow without end.
  for (std::size_t i = 0; i < p.timeline.size(); ++i) p.timeline[i].phase = i % 2 == 0 ? "cold" : "cached";
  CHECK(data_of(page_of(p))["timeline"].size() <= 1500);
}

TEST_CASE("a long timeline is drawn whole and tabled in few rows") {
  Profile p = compute_bound();
  const std::vector<TimelineRow> rows = p.timeline;
  for (int i = 0; i < 20; ++i) p.timeline.insert(p.timeline.end(), rows.begin(), rows.end());
  const std::string page = page_of(p);
  const std::size_t table = page.find("aria-label=\"Waiting over the run\"");
  REQUIRE(table != std::string::npos);
  const std::string body = page.substr(table, page.find("</table>", table) - table);
  const std::regex row("<tr><td");
  const auto count = std::distance(std::sregex_iterator(body.begin(), body.end(), row), std::sregex_iterator());
  CHECK(count > 10);
  CHECK(count <= 20);
}

}  // namespace stallcast::testing
