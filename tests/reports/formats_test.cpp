/// What every format must hold: the same numbers, 80 columns, valid syntax.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "analyzer/profile/json.hpp"
#include "reports/export/predictions_json.hpp"
#include "reports/findings/findings.hpp"
#include "reports/render.hpp"
#include "reports/words/escape.hpp"
#include "tests/reports/random_profile.hpp"
#include "tests/reports/sample_predictions.hpp"
#include "tests/reports/sample_profiles.hpp"

namespace stallcast::testing {
namespace {

using nlohmann::json;

std::string report(const Profile& profile, ReportFormat format, bool color = false, bool unicode = false) {
  RenderOptions options;
  options.color = color;
  options.unicode = unicode;
  options.recommendation = sample_recommendation();
  const auto text = render(profile, sample_predictions(), format, options);
  REQUIRE(text.ok());
  return text.value();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The first number that follows `mark` in `text`; NaN if there is none.
double number_after(const std::string& text, const std::string& mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return std::nan("");
  std::smatch match;
  const std::string rest = text.substr(at + mark.size(), 200);
  return std::regex_search(rest, match, std::regex("-?[0-9]+(\\.[0-9]+)?")) ? std::stod(match.str()) : std::nan("");
}

/// An even simpler check than a parser: name{labels} value, with TYPE before the first sample of a family.
void check_openmetrics(const std::string& text) {
  const std::regex sample(R"re(([a-z_]+)\{([a-z0-9_]+="([^"\\]|\\["\\n])*",?)*\} (-?[0-9.]+(e[-+]?[0-9]+)?))re");
  std::set<std::string> families;
  std::set<std::string> seen;
  const auto lines = lines_of(text);
  REQUIRE_FALSE(lines.empty());
  CHECK(lines.back() == "# EOF");
  CHECK(text.ends_with("# EOF\n"));
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    const std::string& line = lines[i];
    INFO(line);
    if (line.starts_with("# TYPE ")) {
      CHECK(families.insert(line.substr(7, line.find(' ', 7) - 7)).second);
    } else if (!line.starts_with("# ")) {
      std::smatch match;
      REQUIRE(std::regex_match(line, match, sample));
      CHECK(families.contains(match[1].str()));
      CHECK(seen.insert(line.substr(0, line.rfind(' '))).second);
    }
  }
}

}  // namespace

TEST_CASE("the main numbers read back the same from every format") {
  for (const Profile& p : {compute_bound(), prep_bound(), fetch_bound(), multi_rank()}) {
    const double rate = p.rates.as_is->mean.value();
    const double wait = p.stalls.as_is_wait->mean;
    const auto near_rate = doctest::Approx(rate).epsilon(0.005);
    CHECK(number_after(report(p, ReportFormat::text), "rate  ") == near_rate);
    CHECK(number_after(report(p, ReportFormat::md), "rate: ") == near_rate);
    CHECK(number_after(report(p, ReportFormat::html), "<dt>rate</dt><dd>") == near_rate);
    CHECK(number_after(report(p, ReportFormat::openmetrics),
                       "stallcast_rate_samples_per_second{phase=\"as_is\",stat=\"mean\"}") == near_rate);
    const json profile = json::parse(report(p, ReportFormat::json));
    CHECK(profile["rates"]["as_is_samples_per_s"]["mean"].get<double>() == rate);
    const json trace = json::parse(report(p, ReportFormat::perfetto));
    CHECK(trace["otherData"]["as_is_samples_per_s"].get<double>() == rate);

    const auto near_wait = doctest::Approx(wait).epsilon(0.02);
    CHECK(number_after(report(p, ReportFormat::openmetrics),
                       "stallcast_stall_ratio{kind=\"as_is_wait\",stat=\"mean\"}") == doctest::Approx(wait));
    CHECK(trace["otherData"]["as_is_wait_frac"].get<double>() == wait);
    CHECK(profile["stalls"]["as_is_wait_frac"]["mean"].get<double>() == wait);
    if (wait < 0.05) continue;  // worded, not numbered
    CHECK(number_after(report(p, ReportFormat::text), "workers") > 0.0);
    const std::string verdict = profile["findings"]["verdict"];
    if (!reports::speaks_of_cold(p)) CHECK(std::stod(verdict) / 100.0 == near_wait);
    for (const ReportFormat format : {ReportFormat::text, ReportFormat::md}) {
      const std::string text = std::regex_replace(report(p, format), std::regex("\n +"), " ");
      CHECK(text.find(verdict) != std::string::npos);
    }
    const std::string html = std::regex_replace(report(p, ReportFormat::html), std::regex("&nbsp;"), " ");
    CHECK(html.find("<h1 id=\"verdict-words\">" + verdict) != std::string::npos);
  }
}

TEST_CASE("the CSV timeline adds up to the waiting of the profile") {
  const Profile p = fetch_bound();
  const auto lines = lines_of(report(p, ReportFormat::csv));
  REQUIRE(lines.size() == p.timeline.size() + 1);
  CHECK(lines[0] == "begin_s,end_s,steps,wait_s,longest_wait_s,phase,longest_step_s\r");
  double waited = 0.0;
  double end = 0.0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    std::istringstream row(lines[i]);
    double begin = 0.0, steps = 0.0, wait = 0.0;
    char comma = 0;
    row >> begin >> comma >> end >> comma >> steps >> comma >> wait;
    CHECK(begin == p.timeline[i - 1].begin_s);
    waited += wait;
  }
  CHECK(waited / end == doctest::Approx(p.stalls.as_is_wait->mean).epsilon(0.02));
}

TEST_CASE("text keeps to 80 columns and to characters that a terminal only shows") {
  std::vector<Profile> profiles;
  for (auto& [name, profile] : sample_profiles()) profiles.push_back(profile);
  for (unsigned seed = 0; seed < 100; ++seed) profiles.push_back(random_profile(seed));
  for (const Profile& p : profiles) {
    for (const bool unicode : {false, true}) {
      for (const std::string& line : lines_of(report(p, ReportFormat::text, false, unicode))) {
        INFO(line);
        CHECK(reports::columns(line) <= 80);
        CHECK(reports::one_line(line) == line);
        CHECK_FALSE(line.ends_with(' '));
      }
    }
  }
}

TEST_CASE("colours come only when asked for, and change nothing else") {
  const std::string plain = report(hostile(), ReportFormat::text);
  const std::string colored = report(hostile(), ReportFormat::text, true);
  CHECK(plain.find('\x1b') == std::string::npos);
  CHECK(colored.find("\x1b[1;31m") != std::string::npos);
  CHECK(std::regex_replace(colored, std::regex("\x1b\\[[0-9;]*m"), "") == plain);
}

TEST_CASE("the JSON report reads back as the profile, and as predictions") {
  for (const auto& [name, profile] : sample_profiles()) {
    const json root = json::parse(report(profile, ReportFormat::json));
    const auto read = profile_from_json(root);
    REQUIRE(read.ok());
    CHECK(to_json(read.value()) == to_json(profile));
    CHECK(root["predictions"] == predictions_json(sample_predictions())["predictions"]);
  }
  const json first = predictions_json(sample_predictions())["predictions"][0];
  CHECK(first["scenario"]["cpus"] == "4");
  CHECK(first["throughput_samples_per_s"]["ci90_low"] == 318.0);
  const json second = predictions_json(sample_predictions())["predictions"][1];
  CHECK(second["epoch_s"].is_null());
  CHECK(second["epoch_absent"] == "the size of the data set is not known");
}

TEST_CASE("OpenMetrics is well-formed, whatever the names in it") {
  for (const auto& [name, profile] : sample_profiles()) check_openmetrics(report(profile, ReportFormat::openmetrics));
  for (unsigned seed = 0; seed < 50; ++seed) check_openmetrics(report(random_profile(seed), ReportFormat::openmetrics));
}

TEST_CASE("absent values have no metric, and no number") {
  const std::string metrics = report(absent_heavy(), ReportFormat::openmetrics);
  CHECK(metrics.find("stallcast_stall_ratio") == std::string::npos);
  CHECK(metrics.find("as_is") == std::string::npos);
}

TEST_CASE("slices of the trace do not overlap on their track") {
  for (const auto& [name, profile] : sample_profiles()) {
    const json trace = json::parse(report(profile, ReportFormat::perfetto));
    std::map<int, double> ends;
    std::size_t slices = 0;
    for (const json& event : trace["traceEvents"]) {
      if (event["ph"] != "X") continue;
      double& end = ends[event["tid"].get<int>()];
      CHECK(event["ts"].get<double>() >= end - 1e-3);
      end = event["ts"].get<double>() + event["dur"].get<double>();
      slices += event["tid"] == 1 ? 1 : 0;
    }
    CHECK(slices == profile.timeline.size());
  }
}

TEST_CASE("Markdown fits a comment, and its tables have a cell per column") {
  for (const auto& [name, profile] : sample_profiles()) {
    const std::string text = report(profile, ReportFormat::md);
    CHECK(text.size() < 65536);
    std::size_t cells = 0;
    for (const std::string& line : lines_of(text)) {
      if (!line.starts_with("|")) {
        cells = 0;
        continue;
      }
      std::size_t bars = 0;
      for (std::size_t i = 0; i < line.size(); ++i) bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\') ? 1 : 0;
      if (cells == 0) cells = bars;
      CHECK(bars == cells);
    }
  }
}

TEST_CASE("a recommendation silences the rule of thumb on workers") {
  RenderOptions options;
  const Profile p = fetch_bound();
  CHECK(render(p, {}, ReportFormat::text, options).value().find("More workers than 2") != std::string::npos);
  CHECK(report(p, ReportFormat::text).find("More workers than 2") == std::string::npos);
}

TEST_CASE("a recommended loader that surely gains is the first thing to do; another one is not") {
  RenderOptions options;
  options.recommendation = sample_recommendation();
  const auto first_of = [&] {
    const std::string text = render(fetch_bound(), {}, ReportFormat::text, options).value();
    return text.find("1. Use the recommended loader settings") != std::string::npos;
  };
  CHECK_FALSE(first_of());
  options.recommendation->gains_surely = true;
  CHECK(first_of());
}

TEST_CASE("format names round-trip, and a wrong one lists the right ones") {
  for (const char* name : {"text", "json", "html", "md", "csv", "perfetto", "openmetrics"}) {
    const auto format = report_format_from_name(name);
    REQUIRE(format.ok());
    CHECK(std::string(report_format_name(format.value())) == name);
  }
  const auto wrong = report_format_from_name("pdf");
  REQUIRE_FALSE(wrong.ok());
  CHECK(wrong.error().code == ErrorCode::usage);
  CHECK(wrong.error().hint.find("openmetrics") != std::string::npos);
}

TEST_CASE("every format takes every profile") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const Profile p = random_profile(seed);
    for (const ReportFormat format :
         {ReportFormat::json, ReportFormat::md, ReportFormat::csv, ReportFormat::perfetto}) {
      const std::string text = report(p, format);
      CHECK(text.ends_with("\n"));
      if (format == ReportFormat::json || format == ReportFormat::perfetto) CHECK(json::accept(text));
    }
  }
}

}  // namespace stallcast::testing
