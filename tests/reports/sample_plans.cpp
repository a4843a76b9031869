#include "tests/reports/sample_plans.hpp"

#include "tests/reports/sample_profiles.hpp"

namespace stallcast::testing {
namespace {

constexpr double k_samples = 90.0 * 12'000.0;

PlanOption option(const Machine& machine, int nodes, double rate, const char* bound) {
  PlanOption out;
  out.machine = machine.name;
  out.nodes = nodes;
  out.workers = 4;
  out.data = "memory";
  out.prediction.scenario = {{"nodes", std::to_string(nodes)}, {"cache", "100%"}};
  out.prediction.throughput = {SamplesPerSecond(rate), SamplesPerSecond(0.9 * rate), SamplesPerSecond(1.125 * rate)};
  out.prediction.step = Seconds(32.0 * nodes / rate);
  out.prediction.epoch = Seconds(12'000.0 / rate);
  out.prediction.bound = bound;
  out.prediction.next_bound = out.prediction.bound == "prep" ? "gpu" : "prep";
  out.prediction.extrapolated = nodes > 2;
  const double per_second = machine.price_per_hour * nodes / 3600.0;
  out.time = {Seconds(k_samples / rate), Seconds(k_samples / (1.125 * rate)), Seconds(k_samples / (0.9 * rate))};
  out.cost = {per_second * out.time.mean.value(), per_second * out.time.ci90_low.value(),
              per_second * out.time.ci90_high.value()};
  return out;
}

Catalog two_machines() {
  Machine small;
  small.name = "small";
  small.cores = 7.5;
  small.memory = Bytes(64e9);
  small.network_bandwidth = BytesPerSecond(1.25e9);
  small.price_per_hour = 1.125;
  small.most_nodes = 4;
  Machine big;
  big.name = "big";
  big.cores = 96.0;
  big.memory = Bytes(1e12);
  big.gpus = 8;
  big.gpu_speed = 3.0;
  big.disk = Bytes(4e12);
  big.disk_bandwidth = BytesPerSecond(6e9);
  big.price_per_hour = 56.25;
  return {"EUR, example prices and not offers", SharedStorage{BytesPerSecond(2e9), PerSecond(20'000.0)}, {small, big}};
}

ScalingLine weak_line(const Machine& machine) {
  ScalingLine line;
  line.points = {option(machine, 1, 20.0, "gpu"), option(machine, 2, 38.0, "gpu"), option(machine, 4, 50.0, "network")};
  line.worth_nodes = 2;
  line.stops =
      "beyond 2 nodes, each added node brings less than half of what one node alone brings: limited by network";
  return line;
}

}  // namespace

SamplePlan met_plan() {
  SamplePlan sample;
  sample.catalog = two_machines();
  const Machine& small = sample.catalog.machines[0];
  const Machine& big = sample.catalog.machines[1];
  sample.target.time = Seconds(8.0 * 3600.0);
  sample.target.epochs = 90.0;
  Plan& plan = sample.plan;
  plan.front = {option(big, 1, 420.0, "prep"), option(small, 4, 50.0, "network"), option(small, 2, 38.0, "gpu"),
                option(small, 1, 20.0, "gpu")};
  for (PlanOption& at : plan.front) at.meets = at.time.mean <= *sample.target.time;
  plan.front[0].meets_surely = plan.front[0].meets;
  plan.front[1].meets_surely = plan.front[1].meets;
  plan.choice = plan.front[1];
  plan.verdict = "met, even at the pessimistic end of the interval";
  plan.buy_next = "network limits the rate; with 1.3 times as much of it, gpu would";
  plan.hangs_on = "how fast the job can ingest (measured by the state synthetic)";
  plan.curves = {{small.name, weak_line(small), {}}};
  plan.curves[0].strong.points = {option(small, 1, 20.0, "gpu")};
  plan.candidates = 11;
  plan.left_out = {"2 candidates: a reason"};
  plan.notes = {"the first epoch, start-up and checkpoints are not part of times and costs"};
  sample.source = {"out", "machines.json", "2026-11-22 08:00 UTC", {"stallcast", "plan", "out", "--format", "html"}};
  return sample;
}

SamplePlan missed_plan() {
  SamplePlan sample = met_plan();
  Plan& plan = sample.plan;
  plan.choice.reset();
  for (PlanOption& at : plan.front) at.meets = at.meets_surely = false;
  plan.nearest = option(sample.catalog.machines[1], 1, 410.0, "fetch");
  plan.nearest->data = "local disk";
  plan.nearest->upper_bound = true;
  plan.verdict = "nothing in the catalogue meets the target: the nearest misses it by 12 %, held back by fetch";
  plan.hangs_on.clear();
  plan.curves.clear();
  sample.catalog.shared.reset();
  sample.catalog.currency.clear();
  sample.source.profile_written.clear();
  return sample;
}

SamplePlan hostile_plan() {
  const auto& s = hostile_strings();
  SamplePlan sample = met_plan();
  sample.catalog.currency = s[1];
  sample.catalog.machines[0].name = s[0] + s[13];
  sample.catalog.machines[1].name = s[2] + s[14];
  Plan& plan = sample.plan;
  std::size_t next = 0;
  const auto attack = [&](PlanOption& at) {
    at.machine = at.machine == "small" ? sample.catalog.machines[0].name : sample.catalog.machines[1].name;
    at.data = s[next++ % s.size()];
    at.prediction.bound = s[next++ % s.size()];
    at.prediction.next_bound = s[next++ % s.size()];
  };
  for (PlanOption& at : plan.front) attack(at);
  plan.choice = plan.front[1];
  for (PlanCurve& curve : plan.curves) {
    curve.machine = sample.catalog.machines[0].name;
    for (PlanOption& at : curve.weak.points) attack(at);
    curve.weak.stops = s[9] + s[0];
  }
  plan.verdict = s[4];
  plan.buy_next = s[5];
  plan.hangs_on = s[12];
  plan.left_out = plan.notes = s;
  sample.source = {s[0], s[3], s[1], s};
  return sample;
}

}  // namespace stallcast::testing
