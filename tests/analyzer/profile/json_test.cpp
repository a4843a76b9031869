/// profile.json: what is written comes back, and what is not a profile is refused by the name of its fault.
#include "analyzer/profile/json.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <regex>

#include "tests/reports/random_profile.hpp"
#include "tests/reports/sample_profiles.hpp"

namespace stallcast::testing {
namespace {

using nlohmann::json;

std::string refusal(const json& root) {
  const auto profile = profile_from_json(root);
  if (profile.ok()) return "";
  CHECK(profile.error().code == ErrorCode::bad_input);
  return profile.error().what;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// "/points/0/estimate/mean" -> "points[0].estimate.mean".
std::string dotted(const std::string& pointer) {
  std::string path = std::regex_replace(pointer, std::regex("/([0-9]+)(?=/|$)"), "[$1]");
  path = std::regex_replace(path, std::regex("/"), ".");
  return path.substr(1);
}

}  // namespace

TEST_CASE("every profile survives being written and read") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    INFO("seed ", seed);
    const Profile profile = random_profile(seed);
    const json written = to_json(profile);
    const auto read = parse_profile(profile_text(written), "test");
    REQUIRE_MESSAGE(read.ok(), read.error().what);
    CHECK(to_json(read.value()) == written);
  }
}

TEST_CASE("an absent value keeps its reason, and a present one has none") {
  Profile profile = compute_bound();
  profile.rates.cold = MeasuredEstimate<SamplesPerSecond>::absent("the cache could not be emptied");
  profile.points.resize(2);
  profile.points[1].estimate = MeasuredEstimate<SamplesPerSecond>::absent("too short");
  const json root = to_json(profile);
  CHECK(root["rates"]["cold_samples_per_s"].is_null());
  CHECK(root["absent"]["rates.cold_samples_per_s"] == "the cache could not be emptied");
  CHECK(root["absent"]["points[1].estimate"] == "too short");
  CHECK_FALSE(root["absent"].contains("rates.as_is_samples_per_s"));
  const auto read = profile_from_json(root);
  REQUIRE(read.ok());
  CHECK(read.value().rates.cold.reason() == "the cache could not be emptied");
  CHECK(read.value().points[1].estimate.reason() == "too short");
  CHECK(read.value().rates.as_is.has_value());
}

TEST_CASE("a number that is not finite becomes absent, never 0 and never invalid JSON") {
  Profile profile = compute_bound();
  profile.rates.as_is.value().ci95_high = SamplesPerSecond(std::numeric_limits<double>::infinity());
  profile.measured_s = std::nan("");
  const json root = json::parse(profile_text(to_json(profile)));
  CHECK(root["rates"]["as_is_samples_per_s"].is_null());
  CHECK(root["measured_s"].is_null());
  CHECK(holds(root["absent"]["rates.as_is_samples_per_s"], "finite"));
  const auto read = profile_from_json(root);
  REQUIRE(read.ok());
  CHECK_FALSE(read.value().rates.as_is.has_value());
  CHECK(std::isnan(read.value().measured_s));
}

TEST_CASE("strings that are not UTF-8 are written with replacement characters") {
  Profile profile = compute_bound();
  profile.command = {
      "a\xff"
      "b",
      "\xed\xa0\x80", "\xe2\x82", "ok \xe2\x82\xac"};
  const json root = json::parse(to_json(profile).dump());  // dump() throws on invalid UTF-8
  CHECK(root["command"][0] ==
        "a\xEF\xBF\xBD"
        "b");
  CHECK(root["command"][3] == "ok \xe2\x82\xac");
}

TEST_CASE("a newer schema is refused by name") {
  json root = to_json(compute_bound());
  root["schema_version"] = 7;
  root["tool_version"] = "9.1";
  const std::string what = refusal(root);
  CHECK(holds(what, "schema version 7"));
  CHECK(holds(what, "9.1"));
  CHECK(holds(what, "up to version 1"));
  root["schema_version"] = 0;
  CHECK(holds(refusal(root), "schema_version"));
  root["schema_version"] = "1";
  CHECK(holds(refusal(root), "schema_version"));
  root.erase("schema_version");
  CHECK(holds(refusal(root), "schema_version is missing"));
  CHECK(holds(refusal(json::array()), "must be an object"));
}

TEST_CASE("a wrong type anywhere is refused with its path") {
  const json good = to_json(multi_rank());
  const json flat = good.flatten();
  int checked = 0;
  for (const auto& item : flat.items()) {
    const std::string& pointer = item.key();  // a structured binding could not be logged below (clang 14)
    if (pointer.starts_with("/absent/") || pointer.starts_with("/schema_version")) continue;
    json bad = good;
    bad[json::json_pointer(pointer)] = json::array({json::object({{"x", 1}})});
    const std::string what = refusal(bad);
    INFO(pointer, ": ", what);
    const std::string path = dotted(pointer);
    const bool named = holds(what, path + " ") || holds(what, path + ".") || holds(what, path + "[");
    CHECK(named);
    ++checked;
  }
  CHECK(checked > 500);
}

TEST_CASE("a missing key of a plain value is refused, of a measured one reads as absent") {
  json root = to_json(compute_bound());
  root["job"].erase("loaders_seen");
  CHECK(holds(refusal(root), "job.loaders_seen is missing"));
  root = to_json(compute_bound());
  root["job"].erase("batch_size");
  root["rates"].erase("as_is_samples_per_s");
  const auto read = profile_from_json(root);
  REQUIRE(read.ok());
  CHECK_FALSE(read.value().job.batch_size.has_value());
  CHECK(holds(read.value().rates.as_is.reason(), "another version"));
}

TEST_CASE("an older profile tells the job's cores by its CPU time of a sample, if these are no more than it may use") {
  json document = to_json(sample_profiles().front().profile);
  document["resources"].erase("job_cpus");
  document["host"]["usable_cpus"] = 4.0;
  document["rates"]["as_is_samples_per_s"]["mean"] = 100.0;
  document["resources"]["tree_cpu_s_per_sample"]["mean"] = 0.015;
  auto profile = profile_from_json(document);
  REQUIRE(profile.ok());
  REQUIRE(profile.value().resources.job_cpus);
  CHECK(*profile.value().resources.job_cpus == doctest::Approx(1.5));
  document["resources"]["tree_cpu_s_per_sample"]["mean"] = 0.045;
  profile = profile_from_json(document);
  REQUIRE(profile.ok());
  CHECK_FALSE(profile.value().resources.job_cpus);
}

TEST_CASE("impossible values are refused with their path") {
  json root = to_json(compute_bound());
  root["rates"]["as_is_samples_per_s"]["ci95_low"] = 1e9;
  CHECK(holds(refusal(root), "rates.as_is_samples_per_s has an interval"));
  root = to_json(compute_bound());
  root["resources"]["distributions"]["step_s"]["counts"][0] = 1'000'000;
  CHECK(holds(refusal(root), "resources.distributions.step_s is not a histogram"));
  root = to_json(compute_bound());
  root["host"]["logical_cpus"] = 4'000'000'000LL;
  CHECK(holds(refusal(root), "host.logical_cpus is out of range"));
  root["host"]["logical_cpus"] = std::numeric_limits<std::uint64_t>::max();
  CHECK(holds(refusal(root), "host.logical_cpus is out of range"));
  root["host"]["logical_cpus"] = 2.5;
  CHECK(holds(refusal(root), "host.logical_cpus must be a whole number"));
  root = to_json(prep_bound());
  root["issues"][0]["severity"] = "fatal";
  CHECK(holds(refusal(root), "issues[0].severity must be"));
}

TEST_CASE("a file cut off anywhere is refused, and the error names it") {
  const std::string text = profile_text(to_json(absent_heavy()));
  for (std::size_t length = 0; length + 3 < text.size(); length += 7) {
    const auto read = parse_profile(text.substr(0, length), "cut.json");
    REQUIRE_FALSE(read.ok());
    CHECK(read.error().code == ErrorCode::bad_input);
    CHECK(holds(read.error().what, "cut.json"));
  }
  CHECK_FALSE(parse_profile(std::string(100000, '['), "deep").ok());
  CHECK_FALSE(parse_profile("{\"schema_version\": 1e999}", "huge").ok());
}

}  // namespace stallcast::testing
