/// What `plan --json` prints is what its shipped schema says.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "model/plan/json.hpp"
#include "tests/model/made_profile.hpp"
#include "tests/schema_check.hpp"

namespace stallcast {
namespace {

using nlohmann::json;

bool is_plan(const json& document) {
  static const testing::SchemaCheck check(STALLCAST_PLAN_SCHEMA);
  return check.is_valid(document);
}

json answer(const PlanTarget& target) {
  made::TrueJob job;
  job.cores = 8.0;
  const auto catalog = parse_catalog(R"({"schema_version": 1, "machines": [
    {"name": "slow", "cores": 8, "memory_bytes": 64e9, "gpus": 1, "price_per_hour": 1.0, "max_nodes": 8},
    {"name": "fast", "cores": 32, "memory_bytes": 64e9, "gpus": 4, "gpu_speed": 2, "price_per_hour": 16.0}]})");
  REQUIRE(catalog.ok());
  const auto plan = make_plan(made::profile_of(job), catalog.value(), target);
  REQUIRE(plan.ok());
  return plan_to_json(plan.value(), catalog.value());
}

PlanTarget within(double seconds) {
  PlanTarget target;
  target.time = Seconds(seconds);
  return target;
}

}  // namespace

TEST_CASE("plans with a choice, with none and without a target are as their schema says") {
  const json met = answer(within(1e7));
  const json missed = answer(within(1e-3));
  CHECK_FALSE(met["choice"].is_null());
  CHECK_FALSE(missed["nearest"].is_null());
  CHECK_FALSE(met["curves"].empty());
  CHECK_FALSE(met["curves"][0]["strong"]["points"].empty());
  for (const json& document : {met, missed, answer({})}) CHECK_MESSAGE(is_plan(document), document.dump(2));
}

TEST_CASE("the schema of plans misses no key and lets in no other") {
  const json whole = answer(within(1e7));
  REQUIRE(is_plan(whole));
  const auto check_each_key = [&](const json::json_pointer& place) {
    for (const auto& [key, value] : whole[place].items()) {
      json without = whole;
      without[place].erase(key);
      const std::string without_what = (place / key).to_string();
      CHECK_MESSAGE(!is_plan(without), without_what);
    }
    json more = whole;
    more[place]["colour"] = "blue";
    CHECK_FALSE(is_plan(more));
  };
  for (const char* place : {"", "/front/0", "/choice", "/front/0/time_s", "/curves/0", "/curves/0/weak",
                            "/curves/0/weak/points/0", "/curves/0/weak/points/0/throughput_samples_per_s"}) {
    check_each_key(json::json_pointer(place));
  }
}

}  // namespace stallcast
