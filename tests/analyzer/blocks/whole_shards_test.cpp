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
  Phase phase = Phase::cold;
  int iterable = 1;

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
    std::uint64_t got = 1000 * k_ms;
    for (std::uint64_t i = 0; i < first + batches + 8; ++i) {
      const std::uint64_t worker = i % k_stream_crew;
      const bool opens = (i / k_stream_crew) % k_shard_batches == 0;
      Delivery delivery;
      delivery.wait.batch = i;
      delivery.wait.samples = 8;
      delivery.wait.begin_ns = got + k_ms;
      delivery.made_known = true;
      delivery.made.header.aux = static_cast<std::uint32_t>(worker);
      delivery.made.begin_ns = free[worker];
      free[worker] += (opens ? 100 : 10) * k_ms;
      delivery.made.end_ns = delivery.made.put_ns = free[worker];
      delivery.made.cpu_ns = k_ms;
      delivery.made.io.read_bytes = 1000;
      delivery.wait.end_ns = got = std::max(delivery.wait.begin_ns, free[worker]);
      consumer.passes[0].deliveries.push_back(delivery);
      record::PhaseRecord seen{};
      seen.header.aux = k_stream_segment;
      seen.batch = i;
      seen.phase = static_cast<std::uint32_t>(phase);
      seen.opens = opens ? 1 : 0;
      seen.opened_bytes = opens ? 1'000'000 : 0;
      seen.storage_bytes = static_cast<std::uint64_t>(1000 * from_storage);
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
    for (const double from_storage : {0.9, 1.0, 1.2, 1.6}) {
      CAPTURE(first);
      CAPTURE(from_storage);
      const PhaseBlock block = Shards{.first = first, .from_storage = from_storage}.block();
      CHECK(rate_of(block) == doctest::Approx(k_shards_per_s).epsilon(0.01));
      CHECK(block.wait_seconds < block.seconds);
    }
  }
}

TEST_CASE("a block without whole shards, from memory, or of samples that are files goes by all of its batches") {
  // In 40 deliveries no worker opens two that lie apart by enough of it, as those of the first 0.1 s are left out.
  const PhaseBlock brief = Shards{.first = 24, .batches = 34}.block();
  CHECK(rate_of(brief) != doctest::Approx(k_shards_per_s).epsilon(0.02));
  const PhaseBlock files = Shards{.iterable = 0}.block();
  CHECK(rate_of(files) != doctest::Approx(k_shards_per_s).epsilon(0.005));
  CHECK(files.evidence.storage_bytes > files.evidence.read_bytes);
  const PhaseBlock cached = Shards{.phase = Phase::cached}.block();
  CHECK(rate_of(cached) != doctest::Approx(k_shards_per_s).epsilon(0.005));
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
    record::PhaseRecord seen{};
    seen.batch = i;
    seen.header.aux = 3;
    seen.opened_bytes = i == 7 ? 400 : 1000;          // an index beside the shards
    seen.opens = i == 1 || i == 2 || i >= 5 ? 1 : 0;  // worker 1: 1 and 5; worker 0: 2 and 6
    processes[0].phases.push_back(seen);
  }
  Consumer consumer;
  consumer.pid = 7;
  const BlockEvidence evidence(consumer, Pass{}, processes);
  const std::vector<ShardSpan> spans = whole_shards(block, evidence, 3, 0);
  REQUIRE(spans.size() == 2);
  CHECK(spans[0].first == 2);
  CHECK(spans[0].last == 6);
  CHECK(spans[1].first == 1);
  CHECK(spans[1].last == 5);
  CHECK(seconds_per_sample(block, spans, LoaderFacts{}) == doctest::Approx(1.0 / 4));
  CHECK(whole_shards(block, evidence, 4, 0).empty());                // another segment's
  CHECK(whole_shards(block, evidence, 3, 1500 * k_ms).size() == 1);  // worker 1 opened its first before
  CHECK(whole_shards(block, evidence, 3, 2500 * k_ms).empty());
}
