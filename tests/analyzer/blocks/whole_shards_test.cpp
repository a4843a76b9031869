#include "analyzer/blocks/whole_shards.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "analyzer/blocks/blocks.hpp"

using namespace stallcast;
using record::Phase;

namespace {

constexpr std::uint64_t k_stream_crew = 2;
constexpr std::uint64_t k_shard_batches = 10;
constexpr std::uint32_t k_stream_segment = 1;
constexpr std::uint64_t k_ms = 1'000'000;

/// Two workers that each read shards of 10 batches of 8: 100 ms for the batch that opens one, 10 ms for each other. So
/// 160 samples take 190 ms.
struct Shards {
  std::uint64_t first = 25;    ///< batch of the block
  std::uint64_t batches = 70;  ///< of it
  double from_storage = 1.1;   ///< times what is read
  double step_ms = 1.0;
  std::uint64_t shard_batches = k_shard_batches;  ///< of worker 1: it has no fourth shard
  Phase phase = Phase::cold;
  int iterable = 1;
  bool seen_outside = true;         ///< what other batches than the block's opened, as other blocks tell it
  std::uint64_t in_memory = 0;      ///< batches at the beginning of the block that came from there
  bool second_is_unknown = false;   ///< how worker 1 makes its batches
  std::uint64_t opens_until = 999;  ///< batches from here on are of shards that began before

  [[nodiscard]] PhaseBlock block() const {
    Consumer consumer;
    consumer.pid = 100;
    consumer.loaders[1].prefetch_factor = 2;
    consumer.passes.push_back({0, 1, 0, {101, 102}, {}});
    std::vector<record::ProcessRecording> processes(1 + k_stream_crew);
    for (std::size_t i = 0; i < processes.size(); ++i) processes[i].info.pid = 100 + static_cast<std::int32_t>(i);
    processes[0].texts.push_back(
        {record::TextKind::segment, R"({"segment":1,"phase":)" + std::to_string(static_cast<int>(phase)) +
                                        R"(,"round":0,"iterator_id":0,"first":)" + std::to_string(first) +
                                        R"(,"batches":)" + std::to_string(batches) + R"(,"workers":2,"iterable":)" +
                                        std::to_string(iterable) + "}"});
    std::uint64_t free[k_stream_crew] = {1000 * k_ms, 1000 * k_ms};
    std::uint64_t done[k_stream_crew] = {0, 0};
    std::uint64_t got = 1000 * k_ms;
    const std::uint64_t all = first + batches + 8;
    for (std::uint64_t i = 0; i < all; ++i) {
      std::uint64_t worker = i % k_stream_crew;
      if (shard_batches < k_shard_batches && done[1] >= 3 * shard_batches) worker = 0;
      const bool opens = done[worker]++ % (worker == 0 ? k_shard_batches : shard_batches) == 0 && i < opens_until;
      Delivery delivery;
      delivery.wait.batch = i;
      delivery.wait.samples = 8;
      delivery.wait.begin_ns = got + static_cast<std::uint64_t>(step_ms * 1e6);
      delivery.made_known = !second_is_unknown || worker == 0;
      delivery.made.header.aux = delivery.made_known ? static_cast<std::uint32_t>(worker) : 0;
      delivery.made.begin_ns = free[worker];
      free[worker] += (opens ? 100 : 10) * k_ms;
      delivery.made.end_ns = delivery.made.put_ns = free[worker];
      delivery.made.cpu_ns = k_ms;
      delivery.made.io.read_bytes = 1000;
      delivery.wait.end_ns = got = std::max(delivery.wait.begin_ns, free[worker]);
      consumer.passes[0].deliveries.push_back(delivery);
      if (!seen_outside && (i < first || i >= first + batches)) continue;
      record::PhaseRecord seen{};
      seen.header.aux = k_stream_segment;
      seen.batch = i;
      seen.phase = static_cast<std::uint32_t>(phase);
      seen.opens = opens ? 1 : 0;
      seen.opened_bytes = opens ? 10'000 : 0;
      seen.largest_file = opens ? 10'000 : 0;
      const bool is_cold = i < first || i >= first + in_memory;
      seen.storage_bytes = is_cold ? static_cast<std::uint64_t>(1000 * from_storage) : 0;
      processes[1 + worker].phases.push_back(seen);
    }
    return phase_blocks(consumer, processes).at(0);
  }
};

constexpr double k_shards_per_s = 160 / 0.190;

double rate_of(const PhaseBlock& block) {
  REQUIRE(block.rejected.empty());
  return 1.0 / block.seconds_per_sample();
}

}  // namespace

TEST_CASE("a stream's cold block is as fast as the whole shards in it, wherever it begins and however much was ahead") {
  for (const std::uint64_t first : {21U, 25U, 30U, 34U, 38U}) {
    for (const double from_storage : {0.9, 1.0, 1.2}) {
      CAPTURE(first);
      CAPTURE(from_storage);
      const PhaseBlock block = Shards{.first = first, .from_storage = from_storage}.block();
      CHECK(rate_of(block) == doctest::Approx(k_shards_per_s).epsilon(0.01));
      CHECK(block.wait_seconds < block.seconds);
      CHECK(block.evidence.batches >= 40);
    }
  }
}

TEST_CASE("a block whose shards came from storage far more than once says nothing") {
  const PhaseBlock block = Shards{.from_storage = 1.6}.block();
  CHECK(block.rejected == "far more came from storage than its shards hold (160 %): they were read twice");
}

TEST_CASE("a block without whole shards, from memory, or of samples that are files goes by all of its batches") {
  // Worker 0 opens shards in 20 and 40, worker 1 in 21 and 41: no two of one worker lie in the block.
  const PhaseBlock brief = Shards{.first = 24, .batches = 34, .seen_outside = false}.block();
  CHECK(rate_of(brief) != doctest::Approx(k_shards_per_s).epsilon(0.02));
  const PhaseBlock within = Shards{.first = 24, .batches = 16}.block();
  CHECK(rate_of(within) != doctest::Approx(k_shards_per_s).epsilon(0.02));
  const PhaseBlock files = Shards{.iterable = 0}.block();
  CHECK(rate_of(files) != doctest::Approx(k_shards_per_s).epsilon(0.005));
  const PhaseBlock cached = Shards{.phase = Phase::cached}.block();
  CHECK(rate_of(cached) != doctest::Approx(k_shards_per_s).epsilon(0.005));
}

TEST_CASE("where shards are known to hold as many batches each, a block needs one of each worker, wherever it begins") {
  for (const std::uint64_t first : {24U, 31U, 36U}) {
    CAPTURE(first);
    const PhaseBlock block = Shards{.first = first, .batches = 34}.block();
    CHECK(rate_of(block) == doctest::Approx(k_shards_per_s).epsilon(0.01));
    CHECK(block.in_shards);
    CHECK(block.evidence.batches >= 2 * k_shard_batches - 1);
  }
  CHECK(batches_of_shard({25.0, 25.0, 26.0}) == doctest::Approx(25.33).epsilon(0.001));
  CHECK(batches_of_shard({2.0, 3.0, 2.0}).has_value());  // 2.3 batches
  CHECK_FALSE(batches_of_shard({25.0, 20.0, 25.0}).has_value());
  CHECK_FALSE(batches_of_shard({25.0, 25.0}).has_value());
}

TEST_CASE("the evidence of overlapping shards is that of all batches in their rate") {
  const PhaseBlock cold = Shards{.first = 24, .batches = 40, .from_storage = 1.0}.block();
  CHECK(cold.evidence.storage_bytes == doctest::Approx(cold.evidence.read_bytes));
  const PhaseBlock half = Shards{.first = 24, .batches = 40, .from_storage = 1.0, .in_memory = 24}.block();
  CHECK(half.in_shards);
  CHECK(half.evidence.storage_bytes < 0.9 * half.evidence.read_bytes);
}

TEST_CASE("as many batches as a shard holds are none where none was opened, or nobody knows who made them") {
  CHECK(Shards{.first = 44, .batches = 34}.block().in_shards);
  CHECK_FALSE(Shards{.first = 44, .batches = 34, .opens_until = 44}.block().in_shards);
  CHECK_FALSE(Shards{.first = 44, .batches = 34, .second_is_unknown = true}.block().in_shards);
}

TEST_CASE("shards that a worker opens once another has read all of its own are not counted") {
  // Worker 1 has 18 batches, the last of which it has made in 450 ms; worker 0 goes on alone. Worker 1 opened shards in
  // 13 and 25, 150 ms apart; worker 0 in 20, 38, 48 and 58.
  const PhaseBlock block = Shards{.first = 8, .batches = 54, .shard_batches = 6}.block();
  CHECK(rate_of(block) == doctest::Approx(96 / 0.150).epsilon(0.01));
}

TEST_CASE("whole shards do not tell the rate of a job that lives on a stock of batches") {
  CHECK(rate_of(Shards{.step_ms = 8.0}.block()) == doctest::Approx(k_shards_per_s).epsilon(0.01));
  const PhaseBlock slow = Shards{.step_ms = 12.0}.block();  // batches come every 9.5 ms
  CHECK(rate_of(slow) == doctest::Approx(8 / 0.012).epsilon(0.01));
}

TEST_CASE("spans lie between deliveries in which one worker opened a file") {
  std::vector<Delivery> block(8);
  std::vector<record::ProcessRecording> processes(1);
  processes[0].info.pid = 7;
  for (std::uint64_t i = 0; i < block.size(); ++i) {
    block[i].wait.batch = i;
    block[i].wait.samples = 4;
    block[i].wait.end_ns = (i + 1) * 1000 * k_ms;
    block[i].made_known = true;
    block[i].made.header.aux = static_cast<std::uint32_t>(i % 2);
    block[i].made.begin_ns = i * 1000 * k_ms;
    block[i].made.put_ns = block[i].wait.end_ns;
    block[i].made.io.read_bytes = 10;
    record::PhaseRecord seen{};
    seen.batch = i;
    seen.header.aux = 3;
    seen.largest_file = i == 7 ? 400 : i == 1 || i == 2 || i >= 5 ? 1000 : 0;  // an index beside the shards
    processes[0].phases.push_back(seen);
  }
  Consumer consumer;
  consumer.pid = 7;
  const BlockEvidence evidence(consumer, Pass{}, processes);
  const std::vector<ShardSpan> spans = whole_shards(block, evidence, 3, 0, std::nullopt);
  REQUIRE(spans.size() == 2);
  CHECK(spans[0].first == 2);
  CHECK(spans[0].last == 6);
  CHECK(spans[1].first == 1);
  CHECK(spans[1].last == 5);
  const ShardSums sums = sums_of(block, spans, LoaderFacts{});
  CHECK(sums.samples == 32.0);
  CHECK(sums.seconds == doctest::Approx(8.0));
  CHECK(sums.bytes == 80.0);
  const std::vector<ShardSpan> of_two = whole_shards(block, evidence, 3, 0, 2.0);
  REQUIRE(of_two.size() == 4);
  CHECK(of_two[0].first == 0);
  CHECK(of_two[0].last == 4);
  CHECK(of_two[1].first == 2);
  CHECK(of_two[3].last == 7);
  CHECK(whole_shards(block, evidence, 3, 1500 * k_ms, 2.0).size() == 2);
  CHECK(whole_shards(block, evidence, 3, 0, 4.0).empty());
  CHECK(whole_shards(block, evidence, 4, 0, std::nullopt).empty());                // another segment's
  CHECK(whole_shards(block, evidence, 3, 1500 * k_ms, std::nullopt).size() == 1);  // worker 1 opened its first before
  CHECK(whole_shards(block, evidence, 3, 2500 * k_ms, std::nullopt).empty());
}
