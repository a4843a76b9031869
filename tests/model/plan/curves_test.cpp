#include "model/plan/curves.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "model/plan/json.hpp"
#include "tests/model/made_profile.hpp"

namespace stallcast {
namespace {

PlanOption option(const std::string& machine, int nodes, double rate, const std::string& bound = "gpu") {
  PlanOption out;
  out.machine = machine;
  out.nodes = nodes;
  out.prediction.throughput.mean = SamplesPerSecond(rate);
  out.prediction.bound = bound;
  return out;
}

ScalingLine line_of(const std::vector<std::pair<int, double>>& points) {
  ScalingLine line;
  for (const auto& [nodes, rate] : points) line.points.push_back(option("a", nodes, rate, nodes > 4 ? "fetch" : "gpu"));
  say_where_it_stops(line);
  return line;
}

/// A job that computes, from memory, one rank, 32 samples a batch, gradients of 1 MB.
Profile computing() {
  made::TrueJob job;
  job.cores = 8.0;
  job.cpu_s = 0.002;
  job.cv_step = 0.0;
  Profile profile = made::profile_of(job);
  profile.job.gradient_bytes = Bytes(1e6);
  return profile;
}

std::string machine(const std::string& name, int most, const std::string& more = "") {
  return R"({"name": ")" + name +
         R"(", "cores": 8, "memory_bytes": 64e9, "gpus": 1, "price_per_hour": 1.0, "max_nodes": )" +
         std::to_string(most) + more + "}";
}

Plan plan_of(const Profile& profile, const std::string& machines, const std::string& storage = "") {
  const auto catalog = parse_catalog(R"({"schema_version": 1, )" + storage + R"("machines": [)" + machines + "]}");
  REQUIRE_MESSAGE(catalog.ok(), catalog.error().what);
  auto plan = make_plan(profile, catalog.value(), {});
  REQUIRE_MESSAGE(plan.ok(), plan.error().what);
  return std::move(plan).value();
}

double rate_of(const PlanOption& at) {
  return at.prediction.throughput.mean.value();
}

}  // namespace

TEST_CASE("of each machine and number of nodes the fastest option") {
  const std::vector<PlanOption> options{option("a", 2, 10.0), option("a", 1, 7.0), option("a", 2, 12.0),
                                        option("b", 2, 99.0), option("a", 2, 12.0)};
  const auto fastest = fastest_by_nodes(options);
  REQUIRE(fastest.size() == 2);
  REQUIRE(fastest.at("a").size() == 2);
  CHECK(fastest.at("a").at(1) == &options[1]);
  CHECK(fastest.at("a").at(2) == &options[2]);  // the first of equals
  CHECK(fastest.at("b").at(2) == &options[3]);
}

TEST_CASE("scaling stops where an added node brings less than half of what one brings alone") {
  const ScalingLine line = line_of({{1, 100.0}, {2, 195.0}, {4, 370.0}, {8, 450.0}});
  CHECK(line.worth_nodes == 4);
  CHECK(line.stops.find("beyond 4 nodes") == 0);
  CHECK(line.stops.find("limited by fetch") != std::string::npos);
  CHECK(line_of({{1, 100.0}, {2, 149.0}, {4, 349.0}}).worth_nodes == 1);  // the first place, though more follows
  CHECK(line_of({{2, 200.0}, {4, 310.0}}).worth_nodes == std::nullopt);   // 55 each, of 100
  CHECK(line_of({{2, 200.0}, {4, 290.0}}).worth_nodes == 2);
  CHECK(line_of({{1, 100.0}, {2, 90.0}}).worth_nodes == 1);  // slower with more
}

TEST_CASE("what scales to the most says how well, and one point says nothing") {
  const ScalingLine line = line_of({{1, 100.0}, {2, 180.0}});
  CHECK_FALSE(line.worth_nodes.has_value());
  CHECK(line.stops == "up to 2 nodes (the most in the catalogue): 90 % of perfect scaling, limited by gpu");
  ScalingLine bound = line_of({{1, 100.0}, {2, 180.0}});
  bound.points.back().upper_bound = true;
  say_where_it_stops(bound);
  CHECK(bound.stops.ends_with("limited by gpu (exchanging gradients is left out: not known)"));
  CHECK(line_of({{1, 100.0}}).stops.empty());
  CHECK(line_of({}).stops.empty());
}

TEST_CASE("a job that computes scales with its nodes, each with its batch or the batch of all kept") {
  const Plan plan = plan_of(computing(), machine("a", 8, R"(, "network_bytes_per_s": 1e12)"));
  REQUIRE(plan.curves.size() == 1);
  const auto& weak = plan.curves[0].weak.points;
  const auto& strong = plan.curves[0].strong.points;
  REQUIRE(weak.size() == 6);  // 1, 2, 3, 4, 6, 8
  for (std::size_t i = 0; i < weak.size(); ++i) {
    const auto& rate = weak[i].prediction.throughput;
    CHECK(rate_of(weak[i]) == doctest::Approx(weak[i].nodes * rate_of(weak[0])).epsilon(0.1));
    CHECK(rate.ci90_low < rate.mean);
    CHECK(rate.mean < rate.ci90_high);
  }
  CHECK_FALSE(plan.curves[0].weak.worth_nodes.has_value());
  // 32 samples divide by 1, 2, 4 and 8 ranks.
  REQUIRE(strong.size() == 4);
  CHECK(strong[0].nodes == 1);
  CHECK(rate_of(strong[0]) == doctest::Approx(rate_of(weak[0])));
  CHECK(strong[3].nodes == 8);
  bool found = false;
  for (const ScenarioItem& item : strong[3].prediction.scenario)
    found = found || (item.key == "batch" && item.value == "4");
  CHECK(found);
  const auto caveat = [](const std::string& note) {
    return note.find("in proportion to a rank's batch") != std::string::npos;
  };
  CHECK(std::count_if(plan.notes.begin(), plan.notes.end(), caveat) == 1);
}

TEST_CASE("exchanging gradients in each step costs small batches more: strong scaling falls behind weak") {
  Profile profile = computing();
  profile.job.gradient_bytes = Bytes(500e6);
  const Plan plan = plan_of(profile, machine("a", 8, R"(, "network_bytes_per_s": 2e9)"));
  REQUIRE(plan.curves.size() == 1);
  const PlanCurve& curve = plan.curves[0];
  CHECK(rate_of(curve.strong.points.back()) < 0.8 * rate_of(curve.weak.points.back()));
  REQUIRE(curve.strong.worth_nodes.has_value());
  CHECK(curve.strong.stops.find("limited by") != std::string::npos);
}

TEST_CASE("shared storage ends the scaling, and is named") {
  made::TrueJob job;
  job.cores = 8.0;
  job.cpu_s = 0.002;
  job.latency_s = 0.001;
  job.miss = 1.0;
  Profile profile = made::profile_of(job);  // about 300 samples/s of 110 KB a node
  profile.job.gradient_bytes = Bytes(1e6);
  // 5.5 GB of data do not fit beside the 4 GB of the job, and without a network no other node's memory helps.
  const std::string small =
      R"({"name": "a", "cores": 8, "memory_bytes": 4.5e9, "gpus": 1, "price_per_hour": 1, "max_nodes": 16})";
  const Plan plan = plan_of(profile, small, R"("shared_storage": {"bandwidth_bytes_per_s": 1e8}, )");
  REQUIRE(plan.curves.size() == 1);
  const ScalingLine& weak = plan.curves[0].weak;
  for (const PlanOption& at : weak.points) CHECK(at.data == "shared storage");
  REQUIRE(weak.worth_nodes.has_value());
  CHECK(*weak.worth_nodes < 16);
  CHECK(weak.stops.find("limited by fetch (exchanging gradients is left out") != std::string::npos);
}

TEST_CASE("curves are bounded, those on the front first; a machine that comes alone has none") {
  std::string machines = machine("alone", 1);
  for (int i = 0; i < 8; ++i) machines += ", " + machine("m" + std::to_string(i), 4);
  machines +=
      R"(, {"name": "best", "cores": 8, "memory_bytes": 64e9, "gpus": 1, "price_per_hour": 0.1, "max_nodes": 4})";
  const Plan plan = plan_of(computing(), machines);
  CHECK(plan.curves.size() == k_most_curves);
  CHECK(plan.curves_left_out == 9 - k_most_curves);
  CHECK(plan.curves.front().machine == "best");
  for (const PlanCurve& curve : plan.curves) CHECK(curve.machine != "alone");
}

}  // namespace stallcast
