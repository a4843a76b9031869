/// Why the rate of a state is absent although blocks of it were run.
#include "analyzer/blocks/rounds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/phased_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

TEST_CASE("a stream's cold blocks within shards do not count where two rounds of each rank hold whole ones") {
  const auto left = [](std::vector<std::vector<bool>> in_shards, double resident = 0.0) {
    std::vector<std::vector<PhaseBlock>> ranks;
    for (const std::vector<bool>& blocks : in_shards) {
      ranks.emplace_back();
      for (const bool whole : blocks) {
        PhaseBlock block;
        block.run.phase = record::Phase::cold;
        block.run.iterable = true;
        block.run.round = static_cast<std::uint32_t>(ranks.back().size() / 2);
        block.in_shards = whole;
        block.evidence.opens = 1;
        block.evidence.opened_bytes = block.evidence.read_bytes = block.evidence.storage_bytes = 1e6;
        block.evidence.storage_known = true;
        block.evidence.resident_bytes = resident;
        ranks.back().push_back(block);
        block.run.phase = record::Phase::supply_cold;  // the same deliveries say what the loader can deliver
        block.produced = block.beside = true;
        ranks.back().push_back(block);
      }
    }
    sections::leave_to_whole_shards(ranks);
    for (const PhaseBlock& block : ranks.front()) {
      CHECK((block.rejected.empty() || block.rejected == "it lies within shards; other blocks hold whole ones"));
    }
    std::vector<std::size_t> counts;
    for (const std::vector<PhaseBlock>& blocks : ranks) {
      counts.push_back(static_cast<std::size_t>(
          std::count_if(blocks.begin(), blocks.end(), [](const PhaseBlock& block) { return block.rejected.empty(); })));
    }
    return counts;
  };
  CHECK(left({{true, false, true, false}}) == std::vector<std::size_t>{4});
  CHECK(left({{true, false, false, false}}) == std::vector<std::size_t>{8});
  CHECK(left({{true, false, true}, {true, true, true}}) == std::vector<std::size_t>{4, 6});
  CHECK(left({{true, false, true}, {false, true, false}}) == std::vector<std::size_t>{6, 6});
  CHECK(left({{true, false, true, false}}, 0.5e6) == std::vector<std::size_t>{8});  // whose premise does not hold
}

namespace {

PhasedSpec waiting_job() {
  PhasedSpec spec;
  spec.job.read_s = 0.3;
  spec.job.cpu_s = 0.3;
  return spec;
}

/// Cold blocks of six rounds, of which half of the files were in memory in `warm` ones.
Profile with_warm_rounds(std::initializer_list<std::uint32_t> warm) {
  const PhasedSpec spec = waiting_job();
  const std::uint32_t segments = 2 * (1 + static_cast<std::uint32_t>(spec.bursts));  // of a round, the cold block first
  RunData run = make_phased_run(spec);
  for (record::ProcessRecording& process : run.processes) {
    for (record::PhaseRecord& phase : process.phases) {
      if (phase.phase != static_cast<std::uint32_t>(record::Phase::cold)) continue;
      for (const std::uint32_t round : warm) {
        if (phase.header.aux == round * segments) phase.resident_bytes = phase.opened_bytes / 2;
      }
    }
  }
  return analyze_run(run);
}

/// The run whose loader says of no batch how many samples it has.
Profile uncounted(const PhasedSpec& spec) {
  RunData run = make_phased_run(spec);
  run.consumers.clear();
  for (record::ProcessRecording& process : run.processes) {
    for (record::WaitRecord& wait : process.waits) wait.samples = 0;
    for (record::TextEntry& entry : process.texts) {
      if (entry.kind != record::TextKind::loader) continue;
      nlohmann::json text = nlohmann::json::parse(entry.json);
      text["batch_size"] = nullptr;
      entry.json = text.dump();
    }
  }
  join_run(run);
  return analyze_run(run);
}

}  // namespace

TEST_CASE("a state whose premise fails in most blocks has no rate, and what is told was seen in one that failed") {
  const Profile mostly = with_warm_rounds({0, 1, 2, 3});  // the last ones hold
  CHECK(mostly.rates.cold.reason().find("its premise does not hold in most blocks: 50.0 % resident") == 0);
  CHECK(mostly.rates.cached.has_value());
  CHECK(with_warm_rounds({4, 5}).rates.cold.has_value());
}

TEST_CASE("blocks of a stream whose batches nobody counted are no rate in samples") {
  PhasedSpec spec = waiting_job();
  spec.stream = true;
  CHECK(analyze_run(make_phased_run(spec)).rates.synthetic.has_value());
  const Profile profile = uncounted(spec);
  CHECK(profile.rates.synthetic.reason() == "the loader does not say how many samples a batch has");
  bool differential = false;
  for (const Point& point : profile.points) {
    differential = differential || point.method == "differential";
    CHECK_FALSE(point.estimate.has_value());
  }
  CHECK(differential);
}

TEST_CASE("where cold blocks of several rounds tell what the loader can deliver, holds do not; else holds alone do") {
  const auto holds_left_out = [](double cpu_s) {
    PhasedSpec spec = waiting_job();
    spec.job.cpu_s = cpu_s;
    spec.job.read_s = 0.8;
    const RunData run = make_phased_run(spec);
    const Consumer& consumer = run.consumers.front();
    const sections::Launch launch{&run, {{&consumer, steady_window(consumer), &run, 0}}};
    const sections::PhaseRounds rounds = sections::phase_rounds({launch});
    std::int64_t left_out = 0;
    for (const PhaseBlock& block : rounds.blocks) {
      if (block.run.phase != record::Phase::supply_cold) continue;
      CHECK(block.produced == block.rejected.empty());
      left_out += block.rejected == "cold blocks tell it by more batches" ? 1 : 0;
    }
    return left_out;
  };
  CHECK(holds_left_out(0.05) > 0);  // its workers mostly wait for storage
}

TEST_CASE("workers that mostly compute may have been slowed by the step: holds alone tell what they can deliver") {
  PhasedSpec spec = waiting_job();
  spec.job.cpu_s = 0.5;
  const Profile profile = analyze_run(make_phased_run(spec));
  REQUIRE(profile.rates.supply_cold);
  REQUIRE(profile.rates.cold);
  CHECK(profile.rates.supply_cold->mean.value() != doctest::Approx(profile.rates.cold->mean.value()).epsilon(1e-4));
}
