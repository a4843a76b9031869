#include "model/plan/plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "model/plan/json.hpp"
#include "tests/model/made_profile.hpp"

namespace stallcast {
namespace {

constexpr const char* k_two_machines = R"({
  "schema_version": 1, "currency": "EUR",
  "shared_storage": {"bandwidth_bytes_per_s": 1e12},
  "machines": [
    {"name": "slow", "cores": 8, "memory_bytes": 64e9, "gpus": 1, "price_per_hour": 1.0, "max_nodes": 8,
     "network_bytes_per_s": 1e12},
    {"name": "fast", "cores": 32, "memory_bytes": 64e9, "gpus": 4, "gpu_speed": 2, "price_per_hour": 16.0}
  ]})";

Catalog catalog_of(const std::string& text) {
  auto catalog = parse_catalog(text);
  REQUIRE(catalog.ok());
  return std::move(catalog).value();
}

std::string error_of(const std::string& text) {
  const auto catalog = parse_catalog(text);
  REQUIRE_FALSE(catalog.ok());
  CHECK(catalog.error().code == ErrorCode::bad_input);
  return catalog.error().what;
}

std::string with_machine(const std::string& machine) {
  return R"({"schema_version": 1, "machines": [)" + machine + "]}";
}

/// A job that computes, from memory, one rank.
Profile all_computing() {
  made::TrueJob job;
  job.cores = 8.0;
  job.cpu_s = 0.002;
  job.cv_step = 0.0;
  Profile profile = made::profile_of(job);
  profile.job.gradient_bytes = Bytes(1e6);
  return profile;
}

Plan plan_of(const Profile& profile, const std::string& catalog, const PlanTarget& target) {
  const Catalog parsed = catalog_of(catalog);
  auto plan = make_plan(profile, parsed, target);
  REQUIRE(plan.ok());
  return std::move(plan).value();
}

TEST_CASE("a catalogue is read with its units") {
  const Catalog catalog = catalog_of(k_two_machines);
  CHECK(catalog.currency == "EUR");
  CHECK(catalog.shared->bandwidth->value() == 1e12);
  CHECK_FALSE(catalog.shared->files_per_s.has_value());
  REQUIRE(catalog.machines.size() == 2);
  CHECK(catalog.machines[0].most_nodes == 8);
  CHECK(catalog.machines[1].gpu_speed == 2.0);
  CHECK(catalog.machines[1].most_nodes == 1);
  CHECK_FALSE(catalog.machines[1].network_bandwidth.has_value());
}

TEST_CASE("a catalogue's shared storage may be told by files opened, and by how it scales") {
  const Catalog catalog = catalog_of(
      R"({"schema_version": 1, "shared_storage": {"metadata_per_s": 5e4, "contention": 0.02, "coherence": 0},
          "machines": [{"name": "a", "cores": 8, "memory_bytes": 1e9, "gpus": 1, "price_per_hour": 1}]})");
  CHECK(catalog.shared->metadata_per_s->value() == 5e4);
  CHECK(*catalog.shared->contention == 0.02);
  CHECK(*catalog.shared->coherence == 0.0);
  CHECK(error_of(R"({"schema_version": 1, "shared_storage": {"contention": -1}, "machines": []})")
            .find("shared_storage.contention must be at least 0") != std::string::npos);
}

TEST_CASE("what is wrong in a catalogue is named with its place") {
  CHECK(error_of("{") == "catalogue: the file is not JSON");
  CHECK(error_of("[]").find("the file must be an object") != std::string::npos);
  CHECK(error_of(R"({"schema_version": 2, "machines": []})").find("schema_version is newer") != std::string::npos);
  CHECK(error_of(R"({"schema_version": 1})").find("machines is missing") != std::string::npos);
  CHECK(error_of(R"({"schema_version": 1, "machines": []})").find("machines must be a list") != std::string::npos);
  CHECK(error_of(with_machine("7")).find("machines[0] must be an object") != std::string::npos);
  const std::string good = R"("name": "a", "memory_bytes": 1e9, "gpus": 1, "price_per_hour": 1)";
  CHECK(error_of(with_machine("{" + good + "}")).find("machines[0].cores is missing") != std::string::npos);
  CHECK(error_of(with_machine("{" + good + R"(, "cores": -4})")) ==
        "catalogue: machines[0].cores must be above 0, but is -4");
  CHECK(error_of(with_machine("{" + good + R"(, "cores": 1e20})")).find("cores must be at most 1e+18") !=
        std::string::npos);
  CHECK(error_of(with_machine("{" + good + R"(, "cores": "4"})")).find("machines[0].cores must be a number") !=
        std::string::npos);
  CHECK(error_of(with_machine("{" + good + R"(, "cores": 4, "max_nodes": 1.5})"))
            .find("max_nodes must be a whole number") != std::string::npos);
  CHECK(error_of(with_machine("{" + good + R"(, "cores": 4, "prise_per_hour": 2})"))
            .find("did you mean 'price_per_hour'?") != std::string::npos);
  CHECK(error_of(with_machine("{" + good + R"(, "cores": 4, "local_disk_bytes": 1e12})"))
            .find("machines[0].local_disk_bytes_per_s is missing") != std::string::npos);
  const std::string whole = "{" + good + R"(, "cores": 4})";
  CHECK(error_of(with_machine(whole + "," + whole)).find("machines[1].name is that of another machine") !=
        std::string::npos);
  CHECK(error_of(R"({"schema_version": 1, "shared_storage": {}, "machines": []})").find("shared_storage needs") !=
        std::string::npos);
}

TEST_CASE("the front: none is worse in both, and times and costs are those of the rate") {
  PlanTarget target;
  target.epochs = 10.0;
  const Plan plan = plan_of(all_computing(), k_two_machines, target);
  CHECK(plan.candidates >= 9);
  CHECK_FALSE(plan.choice.has_value());
  REQUIRE_FALSE(plan.front.empty());
  for (std::size_t i = 0; i < plan.front.size(); ++i) {
    const PlanOption& option = plan.front[i];
    const double seconds = 10.0 * 50'000.0 / option.prediction.throughput.mean.value();
    CHECK(option.time.mean.value() == doctest::Approx(seconds));
    const double price = option.machine == "slow" ? 1.0 : 16.0;
    CHECK(option.cost.mean == doctest::Approx(seconds * price * option.nodes / 3600.0));
    CHECK(option.time.ci90_low <= option.time.mean);
    CHECK(option.cost.mean <= option.cost.ci90_high);
    if (i == 0) continue;
    CHECK(option.time.mean >= plan.front[i - 1].time.mean);
    CHECK(option.cost.mean < plan.front[i - 1].cost.mean);
  }
  // Perfect scaling at the same price a sample: the single machine is among the cheapest.
  CHECK(plan.front.back().machine == "slow");
}

TEST_CASE("the choice is the cheapest that meets the target with its interval") {
  const Profile profile = all_computing();
  const double alone_s = 50'000.0 / profile.rates.as_is->mean.value();
  PlanTarget target;
  target.time = Seconds(alone_s / 3.0);
  const Plan plan = plan_of(profile, k_two_machines, target);
  REQUIRE(plan.choice.has_value());
  CHECK(plan.choice->meets_surely);
  CHECK(plan.choice->time.ci90_high <= *target.time);
  CHECK(plan.choice->machine == "slow");
  CHECK(plan.choice->nodes >= 3);
  CHECK(plan.choice->nodes <= 6);
  CHECK(plan.buy_next.find("limits the rate") != std::string::npos);
}

TEST_CASE("what nodes exchange is not known: an upper bound meets nothing surely") {
  Profile profile = all_computing();
  profile.job.gradient_bytes = Measured<Bytes>::absent("no step of an optimizer showed any");
  PlanTarget target;
  target.time = Seconds(50'000.0 / profile.rates.as_is->mean.value() / 20.0);
  const std::string slow_only = R"({"schema_version": 1, "machines": [
    {"name": "slow", "cores": 8, "memory_bytes": 64e9, "gpus": 1, "price_per_hour": 1.0, "max_nodes": 64}]})";
  const Plan plan = plan_of(profile, slow_only, target);
  REQUIRE(plan.choice.has_value());
  CHECK(plan.choice->nodes > 1);
  CHECK(plan.choice->upper_bound);
  CHECK(plan.choice->meets);
  CHECK_FALSE(plan.choice->meets_surely);
  CHECK(plan.verdict.find("if exchanging gradients") != std::string::npos);
}

TEST_CASE("more workers leave less memory for the data") {
  made::TrueJob job;
  job.cores = 8.0;
  job.latency_s = 0.001;
  job.miss = 1.0;
  const Profile profile = made::profile_of(job);  // 5.5 GB of data, 4 GB of the job, 400 MB of each worker
  PlanTarget target;
  const std::string tight = R"({"schema_version": 1, "machines": [
    {"name": "tight", "cores": 8, "memory_bytes": 10e9, "gpus": 1, "price_per_hour": 1.0}]})";
  const Plan plan = plan_of(profile, tight, target);
  REQUIRE(plan.candidates == 2);
  REQUIRE(plan.front.size() == 1);  // more workers are faster on the same machine
  CHECK(plan.front[0].workers == 8);
  CHECK(plan.front[0].data == "as profiled");
}

TEST_CASE("a target that nothing meets: the nearest, and why") {
  PlanTarget target;
  target.time = Seconds(1e-3);
  const Plan plan = plan_of(all_computing(), k_two_machines, target);
  CHECK_FALSE(plan.choice.has_value());
  REQUIRE(plan.nearest.has_value());
  CHECK(plan.verdict.find("nothing in the catalogue meets the target") == 0);
  CHECK(plan.verdict.find(plan.nearest->prediction.bound) != std::string::npos);
  CHECK(plan.nearest->time.mean == plan.front.front().time.mean);  // the fastest there is
}

TEST_CASE("data that fit no memory lie where the catalogue has room for them") {
  made::TrueJob job;
  job.cores = 8.0;
  job.cpu_s = 0.002;
  job.latency_s = 0.001;
  job.miss = 1.0;
  const Profile profile = made::profile_of(job);  // 5.5 GB
  const std::string small =
      R"({"schema_version": 1, "shared_storage": {"bandwidth_bytes_per_s": 1e6}, "machines": [
        {"name": "disk", "cores": 8, "memory_bytes": 5e9, "gpus": 1, "price_per_hour": 1,
         "local_disk_bytes": 1e12, "local_disk_bytes_per_s": 1e9},
        {"name": "diskless", "cores": 8, "memory_bytes": 5e9, "gpus": 1, "price_per_hour": 1}]})";
  PlanTarget target;
  target.epochs = 10.0;
  const Plan plan = plan_of(profile, small, target);
  const PlanOption& best = plan.front.front();
  CHECK(best.machine == "disk");
  CHECK(best.data == "local disk");
  // The first epoch brings all of it from the shared storage: 50,000 samples of 110 kB, 5.5 GB at 1 MB/s.
  REQUIRE(best.prediction.first_epoch.has_value());
  CHECK((*best.prediction.first_epoch)->value() >= 5500.0 - 1.0);
  const double later = 9.0 * best.prediction.epoch->value();
  CHECK(best.time.mean.value() == doctest::Approx((*best.prediction.first_epoch)->value() + later));
  target.time = Seconds(1e-3);
  const Plan memory = plan_of(profile, k_two_machines, target);
  CHECK(memory.nearest->data == "memory");
}

TEST_CASE("a plan says what it could not answer, and what it needs") {
  Profile profile = all_computing();
  profile.job.dataset_samples = Measured<std::int64_t>::absent("a stream");
  const Catalog catalog = catalog_of(k_two_machines);
  CHECK(make_plan(profile, catalog, {}).error().what.find("number of samples") != std::string::npos);
  CHECK(make_plan(profile, catalog, {}).error().hint == "profile a job whose data set tells its length");
  profile = all_computing();
  profile.dataset.bytes_total = Measured<Bytes>::absent("mapped files");
  const auto plan = make_plan(profile, catalog, {});
  REQUIRE_FALSE(plan.ok());
  CHECK(plan.error().code == ErrorCode::not_enough_data);
  CHECK(plan.error().what == "a plan needs the size of the data set, which this profile lacks: mapped files");
  CHECK(plan.error().hint == "profile a data set that the loader's own processes read with read()");
  profile = all_computing();
  profile.resources.anonymous_memory = Measured<Bytes>::absent("not allowed");
  CHECK(make_plan(profile, catalog, {}).error().what.find("memory of the job") != std::string::npos);
}

TEST_CASE("a plan as JSON") {
  PlanTarget target;
  target.time = Seconds(1e6);
  const Catalog catalog = catalog_of(k_two_machines);
  const auto plan = make_plan(all_computing(), catalog, target);
  REQUIRE(plan.ok());
  const auto root = plan_to_json(plan.value(), catalog);
  CHECK(root["schema_version"] == 1);
  CHECK(root["currency"] == "EUR");
  CHECK(root["nearest"].is_null());
  CHECK(root["choice"]["meets_surely"] == true);
  CHECK(root["front"].size() == plan.value().front.size());
  CHECK(root["front"][0]["time_s"]["mean"].get<double>() == plan.value().front[0].time.mean.value());
}

}  // namespace
}  // namespace stallcast
