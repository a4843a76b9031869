/// Rates and stalls of phased runs whose truth is known: pairing, pooling, splits, and what intervals are worth.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/phased_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

PhasedSpec quiet(PhasedSpec spec) {
  spec.job.read_cv = spec.job.cpu_cv = spec.job.step_cv = 0.0;
  return spec;
}

const Premise* premise_of(const Profile& profile, const std::string& phase) {
  const auto found = std::find_if(profile.premises.begin(), profile.premises.end(),
                                  [&](const Premise& premise) { return premise.phase == phase; });
  return found != profile.premises.end() ? &*found : nullptr;
}

/// How often intervals held the truth.
struct Coverage {
  const char* what;
  int held = 0;
  int runs = 0;

  template <class Q>
  void count(const MeasuredEstimate<Q>& estimate, double truth) {
    if (!estimate) return;
    const auto plain = [](const Q& value) {
      if constexpr (requires { value.value(); }) {
        return value.value();
      } else {
        return static_cast<double>(value);
      }
    };
    ++runs;
    constexpr double k_rounding = 1e-9;  // an interval may be a point: where nobody ever waits
    held += plain(estimate->ci95_low) <= truth + k_rounding && truth <= plain(estimate->ci95_high) + k_rounding;
  }
  [[nodiscard]] double share() const { return static_cast<double>(held) / runs; }
};

}  // namespace

TEST_CASE("rates and stalls are what the job's times say") {
  for (const int workers : {0, 1, 2, 4}) {
    PhasedSpec spec = quiet(phased_both_stalls());
    spec.job.loader.workers = workers;
    spec.block = 20 + 5 * workers;
    const PhasedTruth truth = truth_of(spec);
    const Profile profile = analyze_run(make_phased_run(spec));
    CAPTURE(workers);
    CHECK(profile.stalls.method == "differential");
    CHECK(near(profile.rates.cold->mean.value(), 32.0 / truth.cold_s, 0.01));
    CHECK(near(profile.rates.cached->mean.value(), 32.0 / truth.cached_s, 0.01));
    CHECK(near(profile.resources.worker_cpu_cached->mean.value() * 32.0, spec.job.cpu_s, 0.02));
    CHECK(near(profile.resources.worker_cpu_cold->mean.value() * 32.0, spec.job.cpu_s, 0.02));
    CHECK(near(profile.rates.synthetic->mean.value(), 32.0 / truth.synthetic_s, 0.01));
    CHECK(near(profile.rates.supply_cached->mean.value(), 32.0 / truth.supply_s, 0.01));
    CHECK(std::abs(profile.stalls.fetch->mean - truth.fetch()) < 0.01);
    CHECK(std::abs(profile.stalls.prep->mean - truth.prep()) < 0.01);
    CHECK(std::abs(profile.stalls.interference->mean) < 0.01);
    CHECK(profile.rates.cold->n == spec.rounds);
    CHECK(near(profile.rates.supply_cold->mean.value(), 32.0 * std::max(1, workers) / 0.6, 0.01));
  }
}

TEST_CASE("a step that waits for its device alone needs no CPU time, which is a measurement") {
  PhasedSpec spec = quiet(phased_both_stalls());
  RunData run = make_phased_run(spec);
  const double asked = analyze_run(run).rates.synthetic->mean.value();
  CHECK(analyze_run(run).resources.step_cpu.reason() ==
        "fewer than two synthetic blocks show the CPU clock of the consumer");
  std::uint64_t cpu_ns = 1'000'000'000;
  for (Delivery& delivery : run.consumers.front().passes.front().deliveries)
    delivery.wait.cpu_ns = cpu_ns += delivery.wait.end_ns - delivery.wait.begin_ns;
  const Profile profile = analyze_run(run);
  REQUIRE(profile.resources.step_cpu.has_value());
  CHECK(profile.resources.step_cpu->mean.value() == 0.0);
  CHECK(profile.rates.synthetic->mean.value() == asked);
}

TEST_CASE("a stream: all waiting is measured beside bursts, and divided by attribution") {
  for (const int workers : {0, 1, 2, 4}) {
    PhasedSpec spec = quiet(phased_both_stalls());
    spec.stream = true;
    spec.job.loader.workers = workers;
    spec.block = 20 + 8 * workers;
    const PhasedTruth truth = truth_of(spec);
    const Profile profile = analyze_run(make_phased_run(spec));
    CAPTURE(workers);
    const Stalls& stalls = profile.stalls;
    CHECK(stalls.method == "differential+attributed");
    CHECK(near(profile.rates.as_is->mean.value(), 32.0 / truth.cold_s, 0.01));
    CHECK(profile.rates.as_is->n == spec.rounds);
    CHECK(near(profile.rates.synthetic->mean.value(), 32.0 / truth.synthetic_s, 0.01));
    const double waited = 1.0 - truth.synthetic_s / truth.cold_s;
    CHECK(std::abs(stalls.as_is_wait->mean - waited) < 0.01);
    CHECK(std::abs(stalls.as_is_fetch->mean + stalls.as_is_prep->mean + stalls.as_is_receive->mean -
                   stalls.as_is_wait->mean) < 1e-9);
    CHECK(std::abs(stalls.as_is_fetch->mean - truth.fetch()) < 0.05);
    CHECK(std::abs(stalls.as_is_interference->mean) < 0.01);
    for (const auto* rate : {&profile.rates.cold, &profile.rates.cached, &profile.rates.supply_cold}) {
      CHECK_FALSE(rate->has_value());
      CHECK(rate->reason() == "it is a stream");
    }
    CHECK(stalls.fetch.reason() == "it is a stream");
  }
}

TEST_CASE("a stream whose waiting cannot be divided still has it measured") {
  PhasedSpec spec = phased_both_stalls();
  spec.stream = true;
  RunData run = make_phased_run(spec);
  for (Consumer& consumer : run.consumers) {
    for (Pass& pass : consumer.passes) {
      for (Delivery& delivery : pass.deliveries) delivery.made_known = false;
    }
  }
  const Profile profile = analyze_run(run);
  CHECK(profile.stalls.method == "differential");
  CHECK(profile.stalls.as_is_wait->mean > 0.5);
  CHECK_FALSE(profile.stalls.as_is_fetch.has_value());
  CHECK(profile.stalls.as_is_fetch.reason().find("too few batches") != std::string::npos);
}

TEST_CASE("a stream without two rounds keeps what was attributed") {
  PhasedSpec spec = phased_both_stalls();
  spec.stream = true;
  spec.rounds = 1;
  const Profile profile = analyze_run(make_phased_run(spec));
  CHECK(profile.stalls.method == "attributed");
  CHECK(profile.stalls.as_is_fetch.has_value());
  CHECK(profile.rates.as_is.has_value());
}

TEST_CASE("one launch a phase: the blocks of all of them make one profile") {
  const RunData all = make_phased_run(phased_both_stalls());
  const auto only = [&](record::Phase phase) {
    RunData launch = all;
    const std::string wanted = fmt::format("\"phase\":{},", static_cast<int>(phase));
    for (record::ProcessRecording& process : launch.processes) {
      std::erase_if(process.texts, [&](const record::TextEntry& entry) {
        return entry.kind == record::TextKind::segment && entry.json.find(wanted) == std::string::npos;
      });
    }
    return launch;
  };
  const std::vector<RunData> launches{only(record::Phase::cold), only(record::Phase::cached),
                                      only(record::Phase::synthetic)};
  const Profile whole = analyze_run(all);
  const Profile profile = analyze_launches(launches);
  // Without the texts of their bursts blocks end a little sooner.
  CHECK(near(profile.rates.cold->mean.value(), whole.rates.cold->mean.value(), 0.02));
  CHECK(near(profile.rates.cached->mean.value(), whole.rates.cached->mean.value(), 0.02));
  CHECK(profile.rates.synthetic->mean == whole.rates.synthetic->mean);
  CHECK(std::abs(profile.stalls.fetch->mean - whole.stalls.fetch->mean) < 0.02);
  CHECK(profile.rates.supply_cached->mean == whole.rates.supply_cached->mean);
  CHECK(issue_of(profile, "separate-launches")->count == 3);
  CHECK(issue_of(whole, "separate-launches") == nullptr);
  const Profile one = analyze_launches({launches.data(), 1});
  CHECK(one.rates.cold->mean == profile.rates.cold->mean);
  CHECK_FALSE(one.rates.cached.has_value());
}

TEST_CASE("a job that its loader keeps up with has no stalls, and supply says what the loader could do") {
  PhasedSpec spec = phased_both_stalls();
  spec.job.read_s = 0.05;
  spec.job.cpu_s = 0.05;
  spec.rounds = 8;
  const Profile profile = analyze_run(make_phased_run(spec));
  for (const auto& stall : {profile.stalls.fetch, profile.stalls.prep}) {
    CHECK(stall->ci95_low <= 0.002);
    CHECK(std::abs(stall->mean) < 0.02);
  }
  CHECK(near(profile.rates.supply_cached->mean.value(), 32.0 / 0.025, 0.05));
}

TEST_CASE("what drifts between rounds cancels in the stalls and shows in the rates") {
  PhasedSpec spec = quiet(phased_both_stalls());
  spec.drift = {0.15, 60.0};
  spec.rounds = 8;
  const Profile profile = analyze_run(make_phased_run(spec));
  const auto half = [](const auto& estimate) {
    return static_cast<double>((estimate->ci95_high - estimate->ci95_low) / 2.0 / estimate->mean);
  };
  CHECK(half(profile.rates.cold) > 0.03);
  CHECK(half(profile.stalls.fetch) < half(profile.rates.cold) / 2.0);
  CHECK(std::abs(profile.stalls.fetch->mean - truth_of(quiet(phased_both_stalls())).fetch()) < 0.04);
}

TEST_CASE("rates pool samples and time over rounds; a round that stands out is named and stays") {
  PhasedSpec spec = quiet(phased_both_stalls());
  const double usual = analyze_run(make_phased_run(spec)).rates.cached->mean.value();
  spec.slow_round = 2;
  spec.slow = 2.0;
  const Profile profile = analyze_run(make_phased_run(spec));
  CHECK(near(profile.rates.cached->mean.value(), usual * 6.0 / 7.0, 0.01));  // six rounds in the time of seven
  CHECK(profile.rates.cached->n == 6);
  const DataIssue* outlier = issue_of(profile, "outlier-round");
  REQUIRE(outlier != nullptr);
  CHECK(outlier->detail.find("round 2 of the state") == 0);
  CHECK(std::count_if(profile.issues.begin(), profile.issues.end(),
                      [](const DataIssue& issue) { return issue.id == "outlier-round"; }) == 5);
  CHECK(outlier->count == 1);
  spec.slow = 1.1;
  CHECK(issue_of(analyze_run(make_phased_run(spec)), "outlier-round") == nullptr);
}

TEST_CASE("ranks add up, and a round that one of them lacks is no round") {
  PhasedSpec spec = quiet(phased_both_stalls());
  const double one = analyze_run(make_phased_run(spec)).rates.cold->mean.value();
  spec.job.ranks = 3;
  const Profile three = analyze_run(make_phased_run(spec));
  CHECK(near(three.rates.cold->mean.value(), 3.0 * one, 0.01));
  CHECK(three.rates.cold->n == spec.rounds);
  spec.lacking_rank = 1;
  const Profile lacking = analyze_run(make_phased_run(spec));
  CHECK(lacking.rates.cold->n == spec.rounds - 1);
  CHECK(lacking.rates.cached->n == spec.rounds);
  CHECK(lacking.stalls.fetch->n == spec.rounds - 1);
  CHECK(near(lacking.rates.cold->mean.value(), 3.0 * one, 0.01));
}

TEST_CASE("a phase whose premise fails is absent with what was seen, and with it the stalls that need it") {
  PhasedSpec warm = quiet(phased_both_stalls());
  warm.cold_resident_share = 0.5;
  const Profile no_cold = analyze_run(make_phased_run(warm));
  CHECK_FALSE(no_cold.rates.cold.has_value());
  CHECK(no_cold.rates.cold.reason().find("its premise does not hold: 50.0 % resident") != std::string::npos);
  CHECK(no_cold.rates.cached.has_value());
  CHECK_FALSE(no_cold.stalls.fetch.has_value());
  CHECK(no_cold.stalls.fetch.reason().find("premise") != std::string::npos);
  CHECK_FALSE(premise_of(no_cold, "cold")->holds);
  CHECK(premise_of(no_cold, "cold")->seen.find("holds in 0 of 6 blocks") != std::string::npos);
  CHECK(premise_of(no_cold, "cached")->holds);

  PhasedSpec lost = quiet(phased_both_stalls());
  lost.cached_resident_share = 0.5;
  lost.cached_storage_share = 0.5;
  const Profile no_cached = analyze_run(make_phased_run(lost));
  CHECK(no_cached.rates.cold.has_value());
  CHECK_FALSE(no_cached.rates.cached.has_value());
  CHECK_FALSE(no_cached.rates.supply_cached.has_value());
  CHECK_FALSE(no_cached.stalls.prep.has_value());
}

TEST_CASE("n at a time is a point of its own, at the rate of n workers that prefetch one batch") {
  PhasedSpec spec = quiet(phased_both_stalls());
  spec.at_once = 1;
  const Profile profile = analyze_run(make_phased_run(spec));
  const auto point = std::find_if(profile.points.begin(), profile.points.end(),
                                  [](const Point& one) { return one.setting.contains("prefetch"); });
  REQUIRE(point != profile.points.end());
  CHECK(point->phase == "cached");
  CHECK(point->setting.at("workers") == "1");
  CHECK(point->setting.at("prefetch") == "1");
  CHECK(near(point->estimate->mean.value(), 32.0 / 0.3, 0.01));
  CHECK(near(profile.rates.cached->mean.value(), 32.0 / truth_of(spec).cached_s, 0.01));
}

TEST_CASE("rounds that lack a phase still divide the step, by the rates of the phases") {
  PhasedSpec spec = quiet(phased_both_stalls());
  RunData run = make_phased_run(spec);
  for (record::ProcessRecording& process : run.processes) {
    std::erase_if(process.texts, [](const record::TextEntry& entry) {
      if (entry.kind != record::TextKind::segment) return false;
      const auto has = [&](const char* words) { return entry.json.find(words) != std::string::npos; };
      const bool early = has("\"round\":0,") || has("\"round\":1,") || has("\"round\":2,");
      return has(early ? "\"phase\":2," : "\"phase\":1,");
    });
  }
  const PhasedTruth truth = truth_of(spec);
  const Profile profile = analyze_run(run);
  CHECK(profile.rates.cold->n == 3);
  CHECK(profile.rates.cached->n == 3);
  REQUIRE(profile.stalls.fetch.has_value());
  CHECK(profile.stalls.fetch->n == 3);
  CHECK(std::abs(profile.stalls.fetch->mean - truth.fetch()) < 0.01);
  CHECK(std::abs(profile.stalls.prep->mean - truth.prep()) < 0.01);
}

TEST_CASE("what measuring cost the script is told, and a passive run held nothing back") {
  PhasedSpec spec = quiet(phased_both_stalls());
  const Profile profile = analyze_run(make_phased_run(spec));
  // Behind each block a hold that finds all but the last batches made, and one that begins with an empty queue.
  REQUIRE(profile.overhead.held.has_value());
  CHECK(profile.overhead.held->value() > spec.rounds * (1.2 + 0.6));
  CHECK(profile.overhead.held->value() < spec.rounds * 2.0 * (1.2 + 0.6));
  CHECK(profile.overhead.measuring->value() > profile.overhead.held->value());
  CHECK(*profile.overhead.burst_batches == spec.rounds * 2 * spec.bursts * 4);
  RunData answered = make_phased_run(spec);
  const auto consumer = std::find_if(answered.processes.begin(), answered.processes.end(),
                                     [](const record::ProcessRecording& process) { return !process.waits.empty(); });
  REQUIRE(consumer != answered.processes.end());
  consumer->texts.push_back(
      {record::TextKind::mark, R"({"what": "answered", "begin_ns": 5000000000, "end_ns": 5250000000})"});
  const Profile told = analyze_run(answered);  // telling the tool what comes next holds the script back as well
  CHECK(told.overhead.held->value() == doctest::Approx(profile.overhead.held->value() + 0.25));
  spec.rounds = 0;
  spec.tail = 200;
  const Profile passive = analyze_run(make_phased_run(spec));
  CHECK_FALSE(passive.overhead.held.has_value());
  CHECK(passive.overhead.measuring.reason().find("nothing held back") != std::string::npos);
}

TEST_CASE("one round is no interval") {
  PhasedSpec spec = quiet(phased_both_stalls());
  spec.rounds = 1;
  const Profile profile = analyze_run(make_phased_run(spec));
  CHECK_FALSE(profile.rates.cold.has_value());
  CHECK(profile.rates.cold.reason() == "fewer than two rounds gave a valid block");
  CHECK_FALSE(profile.stalls.fetch.has_value());
}

TEST_CASE("without blocks the rates stay the attributed ones") {
  PhasedSpec spec = phased_both_stalls();
  spec.rounds = 0;
  spec.tail = 200;
  const Profile profile = analyze_run(make_phased_run(spec));
  CHECK(profile.stalls.method == "attributed");
  CHECK(profile.rates.as_is.has_value());
}

TEST_CASE("where nothing was resident, the cold blocks are what was found, and both splits are held together") {
  PhasedSpec spec = quiet(phased_both_stalls());
  spec.as_is = 200;
  const Profile same = analyze_run(make_phased_run(spec));
  CHECK(same.rates.as_is->mean == same.rates.cold->mean);
  CHECK(same.stalls.as_is_fetch->mean == same.stalls.fetch->mean);
  CHECK(issue_of(same, "splits-disagree") == nullptr);
  spec.as_is_reads = 3.0;
  const Profile other = analyze_run(make_phased_run(spec));
  REQUIRE(issue_of(other, "splits-disagree") != nullptr);
  CHECK(issue_of(other, "splits-disagree")->detail.find("fetch") != std::string::npos);
}

namespace {

/// From the middle of the run on its samples are read again, and cold blocks evict what the run itself brought in.
void read_again(RunData& run, bool index_known) {
  std::uint64_t first_ns = UINT64_MAX;
  std::uint64_t last_ns = 0;
  for (const record::ProcessRecording& process : run.processes) {
    for (const record::BatchRecord& batch : process.batches) {
      first_ns = std::min(first_ns, batch.begin_ns);
      last_ns = std::max(last_ns, batch.begin_ns);
    }
  }
  for (record::ProcessRecording& process : run.processes) {
    for (std::size_t i = 0; i < process.batches.size(); ++i) {
      record::SampleRecord sample{};
      const bool again = process.batches[i].begin_ns > first_ns + (last_ns - first_ns) / 2;
      const auto number = static_cast<std::int64_t>(process.batches[i].batch);
      sample.index = !index_known ? -1 : again ? 0 : number + 1;
      sample.begin_ns = process.batches[i].begin_ns;
      sample.period = 1;
      process.samples.push_back(sample);
      const auto phase = std::find_if(process.phases.begin(), process.phases.end(), [&](const auto& record) {
        return record.batch == process.batches[i].batch && record.iterator_id == process.batches[i].iterator_id;
      });
      if (again && phase != process.phases.end()) phase->evicted_bytes = phase->opened_bytes;
    }
  }
}

}  // namespace

TEST_CASE("what cold blocks evict of what the run itself read says nothing of what was found") {
  PhasedSpec spec = quiet(phased_both_stalls());
  spec.as_is = 200;
  RunData again = make_phased_run(spec);
  read_again(again, true);
  const Profile same = analyze_run(again);
  CHECK(same.rates.as_is->mean == same.rates.cold->mean);
  RunData unknown = make_phased_run(spec);  // they may have lain in memory before the run
  read_again(unknown, false);
  const Profile found = analyze_run(unknown);
  CHECK(found.rates.as_is->mean != found.rates.cold->mean);
  spec.as_is_reads = 3.0;
  RunData other = make_phased_run(spec);  // the steps as found say that it was another state
  read_again(other, true);
  const Profile differs = analyze_run(other);
  CHECK(differs.rates.as_is->mean != differs.rates.cold->mean);
}

TEST_CASE("intervals hold the truth as often as they say, also where the machine's speed wanders between rounds") {
  struct Setting {
    int workers;
    int rounds;
    Drift drift;
  };
  const Drift none{}, fast{0.03, 3.0}, usual{0.03, 8.0}, slow{0.03, 20.0};
  const Setting settings[] = {{0, 4, none},  {2, 4, none},  {2, 8, none},  {2, 3, fast},  {0, 4, usual},
                              {2, 4, usual}, {4, 6, usual}, {0, 8, usual}, {2, 8, usual}, {0, 6, slow},
                              {2, 4, slow},  {2, 6, slow},  {2, 12, slow}};
  for (const Setting& setting : settings) {
    PhasedSpec spec = phased_both_stalls();
    spec.job.loader.workers = setting.workers;
    spec.block = 26 + 4 * setting.workers;  // rounds take 10 to 20 s
    spec.rounds = setting.rounds;
    spec.drift = setting.drift;
    const PhasedTruth truth = truth_of(spec, 20000);
    Coverage all[] = {{"cold"}, {"cached"}, {"synthetic"}, {"supply"}, {"fetch"}, {"prep"}};
    for (std::uint64_t seed = 1; seed <= 240; ++seed) {
      spec.job.seed = seed;
      const Profile profile = analyze_run(make_phased_run(spec));
      all[0].count(profile.rates.cold, 32.0 / truth.cold_s);
      all[1].count(profile.rates.cached, 32.0 / truth.cached_s);
      all[2].count(profile.rates.synthetic, 32.0 / truth.synthetic_s);
      all[3].count(profile.rates.supply_cached, 32.0 / truth.supply_s);
      all[4].count(profile.stalls.fetch, truth.fetch());
      all[5].count(profile.stalls.prep, truth.prep());
    }
    std::string line = fmt::format("{} workers, {} rounds, drift of {} over {} s:", setting.workers, setting.rounds,
                                   setting.drift.sd, setting.drift.correlation_s);
    for (const Coverage& one : all) {
      line += fmt::format(" {} {:.1f} %", one.what, 100.0 * one.share());
      CAPTURE(std::string(one.what));
      CHECK(one.runs >= 230);
      CHECK(one.share() >= 0.90);
    }
    MESSAGE(line);
  }
}

TEST_CASE("where nothing can be cached, what was attributed of the run as found stands") {
  PhasedSpec spec;
  spec.job.read_s = 0.3;
  spec.cached_resident_share = 0.0;
  spec.cached_storage_share = 1.0;  // O_DIRECT: whatever the page cache holds
  const Profile profile = analyze_run(make_phased_run(spec));
  REQUIRE(profile.rates.cold.has_value());
  CHECK_FALSE(profile.rates.cached.has_value());
  CHECK_FALSE(profile.stalls.fetch.has_value());
  REQUIRE(profile.stalls.as_is_fetch.has_value());
  CHECK(profile.stalls.as_is_fetch->mean > 0.1);
}
