#include "analyzer/blocks/bursts.hpp"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <string>
#include <vector>

using namespace stallcast;
using record::Phase;

namespace {

constexpr std::uint64_t k_burst_ms = 1'000'000;
constexpr std::int32_t k_burst_consumer = 100;
constexpr std::int32_t k_workers = 2;
constexpr std::uint64_t k_first = 100;  ///< number of the block's first batch

std::uint64_t at(double ms) {
  return 1'000'000'000ULL + static_cast<std::uint64_t>(ms * 1e6);
}

/// A cold block of 20 batches, a burst of 4, and 4 more; 2 workers x 2 prefetched, 20 ms a batch, steps of 5 ms. The
/// script asks for the burst at 205 ms, is let go at 240, asks for what follows at 261.
struct Held {
  Consumer consumer{};
  std::vector<record::ProcessRecording> processes{1 + k_workers};
  std::string burst = R"({"segment":4,"iterator_id":0,"first":120,"batches":4,"under_way":4,"asked_ns":1205000000,)"
                      R"("made_ns":1240000000,"released_ns":1240000000,"until_ns":1261000000,"workers_cpu_s":0.001})";
  std::string segment = R"({"segment":4,"phase":3,"round":1,"iterator_id":0,"first":120,"batches":4,"workers":2,)"
                        R"("made_as":1,"t_ns":1205000000})";

  Held() {
    consumer.pid = processes[0].info.pid = k_burst_consumer;
    processes[1].info.pid = k_burst_consumer + 1;
    processes[2].info.pid = k_burst_consumer + 2;
    consumer.loaders[1].batch_size = 8;
    consumer.loaders[1].prefetch_factor = 2;
    consumer.passes.push_back({0, 1, 0, {k_burst_consumer + 1, k_burst_consumer + 2}, {}});
    for (std::uint64_t i = 0; i < 20; ++i) {
      const double made = 20.0 * static_cast<double>(i / 2);
      deliver(i, i % 2 == 0 ? made + 5.0 : made + 20.0, made + 20.0, made, made + 20.0, 3, Phase::cold);
    }
    for (std::uint64_t i = 0; i < 4; ++i) {
      const double asked = i == 0 ? 240.0 : 240.0 + 5.25 * static_cast<double>(i);
      const double made = 200.0 + 20.0 * static_cast<double>(i / 2);
      deliver(20 + i, asked, asked + 0.25, made, made + 20.0, 4, Phase::supply_cold);
    }
    for (std::uint64_t i = 24; i < 28; ++i) deliver(i, 282.0, 282.0, 262.0, 282.0, 5, Phase::cached);
  }

  void deliver(std::uint64_t number, double asked, double got, double begun, double put, std::uint32_t segment_index,
               Phase phase) {
    Delivery delivery;
    delivery.wait.batch = k_first + number;
    delivery.wait.begin_ns = at(asked);
    delivery.wait.end_ns = at(got);
    delivery.wait.samples = 8;
    delivery.wait.cpu_ns = (number + 1) * 3 * k_burst_ms;
    delivery.made_known = true;
    delivery.made.header.aux = static_cast<std::uint32_t>(number % k_workers);
    delivery.made.begin_ns = at(begun);
    delivery.made.end_ns = delivery.made.put_ns = at(put);
    delivery.made.io.read_bytes = 1000;
    consumer.passes[0].deliveries.push_back(delivery);
    record::PhaseRecord seen{};
    seen.header.aux = segment_index;
    seen.batch = k_first + number;
    seen.phase = static_cast<std::uint32_t>(phase);
    seen.opens = 1;
    seen.opened_bytes = seen.page_bytes = seen.storage_bytes = 1000;
    processes[1 + number % k_workers].phases.push_back(seen);
  }

  Delivery& delivery(std::uint64_t number) { return consumer.passes[0].deliveries[number]; }

  [[nodiscard]] std::vector<PhaseBlock> blocks(std::size_t count = 3) const {
    std::vector<record::ProcessRecording> all = processes;
    all[0].texts.push_back(
        {record::TextKind::segment,
         R"({"segment":3,"phase":1,"round":1,"iterator_id":0,"first":100,"batches":20,"workers":2,"t_ns":1000000000})"});
    all[0].texts.push_back({record::TextKind::segment, segment});
    if (!burst.empty()) all[0].texts.push_back({record::TextKind::burst, burst});
    const std::vector<PhaseBlock> found = phase_blocks(consumer, all);
    REQUIRE(found.size() == count);
    CHECK(found.front().run.phase == Phase::cold);
    CHECK(found.back().run.phase == Phase::synthetic);
    return found;
  }

  [[nodiscard]] PhaseBlock synthetic() const { return blocks()[2]; }
  [[nodiscard]] PhaseBlock supply() const { return blocks()[1]; }

  void change(const std::string& from, const std::string& to) {
    const std::size_t found = burst.find(from);
    REQUIRE(found != std::string::npos);
    burst.replace(found, from.size(), to);
  }
};

bool says(const PhaseBlock& block, const char* words) {
  return block.rejected.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("a burst tells what the script does with a batch, and not what it takes to take one over") {
  const PhaseBlock block = Held().synthetic();
  CHECK(block.rejected.empty());
  CHECK(block.run.round == 1);
  CHECK(block.batches == 4);
  CHECK(block.samples == 32.0);
  CHECK(block.seconds == doctest::Approx(3 * 5e-3 + 5e-3));  // from 256 to 261 ms the last of them
  CHECK(block.wait_seconds == doctest::Approx(3 * 0.25e-3));
  CHECK(block.cpu_seconds == doctest::Approx(4 * 2.75e-3));
}

TEST_CASE("a burst counts for nothing where its workers did not rest, or nobody knows how it went") {
  Held busy;
  busy.delivery(24).made.begin_ns = at(259.0);  // before it was asked for
  CHECK(says(busy.synthetic(), "batches were made in 10 % of its time"));
  Held late;
  late.delivery(23).made.put_ns = at(240.3);  // its last feeder: within what is forgiven
  CHECK(late.synthetic().rejected.empty());
  Held computing;
  computing.change("0.001", "0.040");
  CHECK(says(computing.synthetic(), "computed in 95 % of its time"));
  computing.change("0.040", "0.021");  // two ticks of the clock
  CHECK(computing.synthetic().rejected.empty());
  computing.change("0.021", "null");
  CHECK(computing.synthetic().rejected.empty());
  Held refused;
  refused.change("\"workers_cpu_s\"", "\"refused\":\"no room in /dev/shm\",\"workers_cpu_s\"");
  CHECK(refused.synthetic().rejected == "the job could not be held: no room in /dev/shm");
  CHECK(refused.supply().rejected == "the job could not be held: no room in /dev/shm");
  Held cut;
  cut.burst.clear();
  CHECK(says(cut.synthetic(), "was not recorded"));
  Held missing;
  missing.consumer.passes[0].deliveries.erase(missing.consumer.passes[0].deliveries.begin() + 22);
  CHECK(says(missing.synthetic(), "missing"));
}

TEST_CASE("a burst that fills a buffer of the script's own is no training, and one after that is") {
  Held held;
  held.consumer.passes[0].filling = 121;  // the burst begins with batch 120
  CHECK(held.synthetic().rejected ==
        "the script filled a buffer of its own with its batches and did not train on them yet");
  held.consumer.passes[0].filling = 120;
  CHECK(held.synthetic().rejected.empty());
}

TEST_CASE("beside a device a burst takes the device's own time, and counts for nothing where that is not known") {
  Held held;
  held.change("\"workers_cpu_s\"", "\"device_s\":0.032,\"workers_cpu_s\"");
  CHECK(held.synthetic().seconds == doctest::Approx(0.032));
  CHECK(held.synthetic().samples == 32.0);
  Held unknown;
  unknown.change("\"workers_cpu_s\"", "\"device_s\":null,\"workers_cpu_s\"");
  CHECK(says(unknown.synthetic(), "device"));
}

TEST_CASE("a step of a burst in which the script did something else is left out") {
  Held held;
  held.consumer.loaders[2].batch_size = 4;
  held.consumer.passes.push_back({1, 2, 0, {}, {}});
  Delivery other;
  other.wait.begin_ns = other.wait.end_ns = at(247.0);
  held.consumer.passes[1].deliveries.push_back(other);
  const PhaseBlock block = held.synthetic();
  CHECK(block.rejected.empty());
  CHECK(block.batches == 3);
  CHECK(block.seconds == doctest::Approx(3 * 5e-3));
  for (const double ms : {242.0, 252.0, 257.0}) {
    other.wait.begin_ns = other.wait.end_ns = at(ms);
    held.consumer.passes[1].deliveries.push_back(other);
  }
  CHECK(held.synthetic().rejected == "an evaluation or a checkpoint lay within it");
}

TEST_CASE("a hold tells what the loader can, where batches were begun and ended in it") {
  const PhaseBlock two = Held().supply();  // the last two
  CHECK(two.rejected.empty());
  CHECK(two.samples == 16.0);
  CHECK(two.seconds == doctest::Approx(2 * 20e-3 / 2));
  CHECK(two.evidence.batches == 2);
  CHECK(two.evidence.storage_bytes == 2000.0);
  CHECK(two.from_ns == at(205.0));
  Held full;
  full.change("1205000000", "1230000000");
  CHECK(full.supply().rejected == "no batch was begun and ended in the hold: the queue was full");
  Held other;  // made in another state than it should have been
  for (auto& process : other.processes) {
    for (auto& seen : process.phases) seen.phase = static_cast<std::uint32_t>(Phase::supply_cached);
  }
  CHECK_FALSE(other.supply().rejected.empty());
}

TEST_CASE("a hold that begins with an empty queue goes by what all workers made until the first of them rested") {
  Held held;
  held.change("1205000000", "1200000000");
  held.delivery(23).made.end_ns = held.delivery(23).made.put_ns = at(244.0);  // the last one, alone, took 24 ms
  held.change("\"made_ns\":1240000000", "\"made_ns\":1244000000");
  const PhaseBlock block = held.supply();
  CHECK(block.rejected.empty());
  CHECK(block.seconds == doctest::Approx(0.040));
  CHECK(block.samples == doctest::Approx(8 * (3.0 + 20.0 / 24.0)));
  CHECK(block.evidence.batches == 4);
}

TEST_CASE("a block before a burst ends with its last delivery: the workers go on in the same state") {
  Held held;
  const PhaseBlock block = held.blocks()[0];
  CHECK(block.rejected.empty());
  // From 0 to 205 ms both workers made batches of 20 ms: by what they made, without what storage may have saved up.
  CHECK(block.seconds == doctest::Approx(0.105));
  CHECK(block.seconds_per_sample() == doctest::Approx(0.010 / 8));
  // Were those of the burst made otherwise, the block would end where they begin.
  held.segment.replace(held.segment.find("\"made_as\":1"), 11, "\"made_as\":0");
  CHECK(held.blocks(2)[0].seconds == doctest::Approx(0.100));
}
