#include "analyzer/blocks/blocks.hpp"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <string>

using namespace stallcast;
using record::Phase;

namespace {

constexpr std::uint64_t k_ms = 1'000'000;
constexpr std::int32_t k_consumer = 100;
constexpr std::int32_t k_worker = 101;

/// One block of a pass, written delivery by delivery; times in ms.
struct Recorded {
  Consumer consumer{};
  std::vector<record::ProcessRecording> processes{2};

  explicit Recorded(Phase phase, std::uint64_t batches, std::uint64_t workers) {
    consumer.pid = processes[0].info.pid = k_consumer;
    processes[1].info.pid = k_worker;
    consumer.loaders[1].batch_size = 8;
    consumer.passes.push_back({0, 1, 0, {k_worker}, {}});
    processes[0].texts.push_back(
        {record::TextKind::segment,
         fmt::format(R"({{"segment":3,"phase":{},"round":2,"iterator_id":0,"first":0,"batches":{},"workers":{}}})",
                     static_cast<int>(phase), batches, workers)});
  }

  void deliver(std::uint64_t number, double asked_ms, double got_ms, double begun_ms, std::uint32_t samples = 8) {
    Delivery delivery;
    delivery.wait.batch = number;
    delivery.wait.begin_ns = at(asked_ms);
    delivery.wait.end_ns = at(got_ms);
    delivery.wait.samples = samples;
    delivery.made_known = begun_ms >= 0.0;
    if (delivery.made_known) delivery.made.begin_ns = at(begun_ms);
    delivery.made.io.read_bytes = 1000;
    consumer.passes[0].deliveries.push_back(delivery);
  }

  record::PhaseRecord& find(std::uint64_t number) {
    record::PhaseRecord found{};
    found.header.aux = 3;
    found.batch = number;
    found.opens = 1;
    found.opened_bytes = found.storage_bytes = 1000;
    processes[1].phases.push_back(found);
    return processes[1].phases.back();
  }

  [[nodiscard]] PhaseBlock block() const {
    const std::vector<PhaseBlock> blocks = phase_blocks(consumer, processes);
    REQUIRE(blocks.size() == 1);
    return blocks[0];
  }

  /// Without workers there are more of it.
  [[nodiscard]] PhaseBlock first_block() const { return phase_blocks(consumer, processes).at(0); }

  static std::uint64_t at(double ms) { return 1'000'000'000ULL + static_cast<std::uint64_t>(ms * 1e6); }
};

/// The worked example of the header: 2 workers x 2 prefetched, deliveries every 10 ms in bunches of 2. Each batch is
/// begun when the one four before it is delivered; the block begins at 0, so 0-3 were begun before it.
Recorded worked_example() {
  Recorded made(Phase::cold, 20, 2);
  for (int i = 0; i < 22; ++i) {
    const int bunch = i / 2;
    const double got = 20.0 * bunch + 10.0 + (i % 2);
    const double begun = i < 4 ? 0.0 : 20.0 * (bunch - 2) + 10.0 + (i % 2);
    if (i < 4) {
      made.deliver(static_cast<std::uint64_t>(i), got - 5.0, got, -1.0);
      Delivery& early = made.consumer.passes[0].deliveries.back();
      early.made_known = true;
      early.made.begin_ns = Recorded::at(0.0) - 50 * k_ms;
    } else {
      made.deliver(static_cast<std::uint64_t>(i), got - 5.0, got, begun);
    }
  }
  return made;
}

}  // namespace

TEST_CASE("a block's window is what was begun and delivered within it, averaged over bunches at both ends") {
  const PhaseBlock block = worked_example().block();
  CHECK(block.rejected.empty());
  CHECK(block.run.phase == Phase::cold);
  CHECK(block.run.round == 2);
  // Batch 4 is begun at 10 ms. Batch 20 is begun when 16 is delivered: 16 is the last that is delivered before that.
  CHECK(block.batches == 11);  // 6..16: both ends are averaged over 2 arrivals
  CHECK(block.left_out == 9);
  CHECK(block.samples == 88.0);
  CHECK(block.seconds == doctest::Approx(((151.0 + 170.0) / 2.0 - (50.0 + 51.0) / 2.0) * 1e-3));
  CHECK(block.wait_seconds == doctest::Approx(11 * 5e-3));
}

TEST_CASE("a wait is one for the batch until its worker handed it over, and for taking it over after that") {
  Delivery delivery;
  delivery.wait.begin_ns = 100 * k_ms;
  delivery.wait.end_ns = 134 * k_ms;
  CHECK(seconds_until_made(delivery) == doctest::Approx(0.034));  // nobody knows
  delivery.made_known = true;
  CHECK(seconds_until_made(delivery) == doctest::Approx(0.034));  // made by the consumer itself
  delivery.made.put_ns = 130 * k_ms;
  CHECK(seconds_until_made(delivery) == doctest::Approx(0.030));
  delivery.made.put_ns = 90 * k_ms;
  CHECK(seconds_until_made(delivery) == 0.0);
  delivery.made.put_ns = 140 * k_ms;  // clocks of two processes
  CHECK(seconds_until_made(delivery) == doctest::Approx(0.034));
}

TEST_CASE("a block counts the waiting for batches that were not made, and the consumer's CPU time") {
  Recorded made = worked_example();
  std::uint64_t cpu_ns = 0;
  for (Delivery& delivery : made.consumer.passes[0].deliveries) {
    delivery.made.put_ns = delivery.wait.begin_ns + 2 * k_ms;  // of the 5 ms that it waited
    delivery.wait.cpu_ns = cpu_ns += 3 * k_ms;
    delivery.made.cpu_ns = 7 * k_ms;
  }
  const PhaseBlock block = made.block();
  REQUIRE(block.batches == 11);
  CHECK(block.late_seconds == doctest::Approx(11 * 2e-3));
  CHECK(block.cpu_seconds == doctest::Approx(11 * 3e-3));
  CHECK(block.made_cpu_s == doctest::Approx(11 * 7e-3));
  made.consumer.passes[0].deliveries[10].wait.cpu_ns = 0;
  CHECK(made.block().cpu_seconds < 0.0);
  CHECK(made.block().made_cpu_s > 0.0);
  made.consumer.passes[0].deliveries[10].made_known = false;
  CHECK(made.block().made_cpu_s < 0.0);
}

TEST_CASE("what is begun after the block is not what ends the window where it is not known when") {
  Recorded made = worked_example();
  for (std::size_t i = 20; i < 22; ++i) made.consumer.passes[0].deliveries[i].made_known = false;
  CHECK(made.block().batches == 14);  // 6..19
}

TEST_CASE("a block behind a burst: what fills the queue and what is made beside a resting worker is left out") {
  // Workers 0 and 1 take 20 ms a batch, two prefetched each; nothing is begun before the script asks, nor after it all.
  // The script waits for a third of its time.
  Recorded made(Phase::cached, 16, 2);
  made.consumer.loaders[1].prefetch_factor = 2;
  for (std::uint64_t i = 0; i < 16; ++i) {
    const std::uint64_t pair = i / 2;
    const double begun = 20.0 * static_cast<double>(pair) + 3.0 * static_cast<double>(i % 2);
    const double put = begun + (i == 15 ? 12.0 : 20.0);  // alone, the last one is made sooner
    const double got = i == 15 ? 162.0 : put + 1.0;      // in order
    made.deliver(i, i == 0 ? 0.0 : got - 1.0, got, begun);
    Delivery& delivery = made.consumer.passes[0].deliveries.back();
    delivery.made.header.aux = static_cast<std::uint32_t>(i % 2);
    delivery.made.put_ns = Recorded::at(put);
  }
  const PhaseBlock block = made.block();
  CHECK(block.rejected.empty());
  CHECK(block.batches == 8);  // 4 fill the queue, 2 are a bunch, 14 and 15 come when worker 1 rests
  CHECK(block.seconds == doctest::Approx(0.080));
  // With batches under way from before, the queue is full from the first one on.
  for (Delivery& delivery : made.consumer.passes[0].deliveries) ++delivery.wait.batch;
  made.consumer.passes[0].deliveries[0].made.begin_ns -= 50 * k_ms;
  std::string& json = made.processes[0].texts.back().json;
  json.replace(json.find("\"first\":0"), 9, "\"first\":1");
  CHECK(made.block().batches == 11);
}

TEST_CASE(
    "workers that never rest and wait for storage tell what the loader can deliver; others leave it to the holds") {
  // Worker 0 and worker 1 take 20 ms a batch in turn; of these the script waits for 8 of 10.
  const auto blocks_of = [](Phase phase, std::uint64_t cpu_ms) {
    Recorded made(phase, 16, 2);
    for (std::uint64_t i = 0; i < 20; ++i) {
      const double begun = 10.0 * static_cast<double>(i) - 20.0;
      made.deliver(i, begun + 11.5, begun + 20.5, begun < 0.0 ? 0.0 : begun);
      Delivery& delivery = made.consumer.passes[0].deliveries.back();
      if (begun < 0.0) delivery.made.begin_ns = Recorded::at(0.0) - static_cast<std::uint64_t>(-begun * 1e6);
      delivery.made.header.aux = static_cast<std::uint32_t>(i % 2);
      delivery.made.put_ns = Recorded::at(begun + 20.0);
      delivery.made.cpu_ns = cpu_ms * k_ms;
      delivery.made.end_ns = delivery.made.put_ns;
    }
    return phase_blocks(made.consumer, made.processes);
  };
  const std::vector<PhaseBlock> stored = blocks_of(Phase::cold, 3);
  REQUIRE(stored.size() == 2);
  CHECK(stored[0].rejected.empty());
  CHECK(stored[1].run.phase == Phase::supply_cold);
  CHECK(stored[1].rejected.empty());
  CHECK(stored[1].seconds_per_sample() == doctest::Approx(0.010 / 8.0).epsilon(0.02));
  CHECK(stored[1].wait_seconds == stored[1].seconds);
  CHECK(blocks_of(Phase::cold, 15).size() == 1);   // the step may have slowed them
  CHECK(blocks_of(Phase::cached, 3).size() == 1);  // nothing waits for storage there
}

TEST_CASE("a stream's cold block that ends its pass ends where the first worker has read all") {
  Recorded made(Phase::cold, 16, 2);
  for (std::uint64_t i = 0; i < 16; ++i) {
    const double begun = 20.0 * static_cast<double>(i / 2) + 3.0 * static_cast<double>(i % 2);
    made.deliver(i, i == 0 ? 0.0 : begun + 20.0, begun + 21.0, begun);
    Delivery& delivery = made.consumer.passes[0].deliveries.back();
    delivery.made.header.aux = static_cast<std::uint32_t>(i % 2);
    delivery.made.put_ns = Recorded::at(begun + 20.0);
    if (i >= 12) delivery.made.io.read_bytes = 0;  // out of a buffer of the worker
  }
  made.consumer.passes[0].is_over = true;
  const std::int64_t all = made.block().batches;
  std::string& json = made.processes[0].texts.back().json;
  json.replace(json.find("\"workers\""), 9, "\"iterable\":1,\"workers\"");
  CHECK(made.block().batches == all - 4);
  made.consumer.passes[0].is_over = false;
  CHECK(made.block().batches == all);
  made.consumer.passes[0].is_over = true;
  for (Delivery& delivery : made.consumer.passes[0].deliveries) delivery.made.io.read_bytes = 0;
  CHECK(made.block().batches == all);
}

TEST_CASE("what the batches of a stream are made of is not known where some of them read nothing") {
  for (const bool iterable : {false, true}) {
    Recorded made = worked_example();
    std::string& json = made.processes[0].texts.back().json;
    if (iterable) json.replace(json.find("\"workers\""), 9, "\"iterable\":1,\"workers\"");
    CHECK(made.block().content.bytes == 11000.0);
    made.consumer.passes[0].deliveries[9].made.io.read_bytes = 0;  // the one before has read for both
    CHECK((made.block().content.bytes < 0.0) == iterable);
  }
}

TEST_CASE("the evidence is that of the window's batches alone") {
  Recorded made = worked_example();
  for (std::uint64_t i = 0; i < 20; ++i) made.find(i).resident_bytes = i < 6 ? 1000 : 10;
  const PhaseBlock block = made.block();
  CHECK(block.evidence.batches == 11);
  CHECK(block.evidence.resident_bytes == 110.0);
  CHECK(block.evidence.read_bytes == 11000.0);
  CHECK(block.evidence.storage_known);
  made.processes[1].phases[7].storage_bytes = UINT64_MAX;
  CHECK_FALSE(made.block().evidence.storage_known);
}

TEST_CASE("without workers, a block of which too few steps were left alone does not tell them") {
  Recorded made(Phase::cold, 6, 0);
  for (std::uint64_t i = 0; i < 6; ++i) {
    const double at = 10.0 * static_cast<double>(i);
    made.deliver(i, at, at + 4.0, at);
  }
  const auto steps = [&made] { return phase_blocks(made.consumer, made.processes).at(1); };
  CHECK(steps().rejected.empty());
  for (const double ms : {16.0, 36.0}) {
    made.processes[0].texts.push_back(
        {record::TextKind::mark, fmt::format(R"({{"what":"checkpoint","begin_ns":{}}})", Recorded::at(ms))});
  }
  CHECK(steps().rejected == "too few of its steps were not interrupted");
}

TEST_CASE("without workers there are no transients but the first step, and the block tells steps and supply as well") {
  Recorded made(Phase::cold, 10, 0);
  for (std::uint64_t i = 0; i < 10; ++i) {
    const double at = 10.0 * static_cast<double>(i);
    made.deliver(i, at, at + 4.0, at);
    Delivery& delivery = made.consumer.passes[0].deliveries.back();
    delivery.made.end_ns = Recorded::at(at + 3.0);
    delivery.made.cpu_ns = 2 * k_ms;
    delivery.wait.cpu_ns = (i + 1) * 7 * k_ms;
  }
  const std::vector<PhaseBlock> blocks = phase_blocks(made.consumer, made.processes);
  REQUIRE(blocks.size() == 3);
  CHECK(blocks[0].rejected.empty());
  CHECK(blocks[0].batches == 8);
  CHECK(blocks[0].seconds == doctest::Approx(0.080));
  CHECK(blocks[1].run.phase == Phase::synthetic);
  CHECK(blocks[1].rejected.empty());
  CHECK(blocks[1].beside);
  CHECK(blocks[1].seconds == doctest::Approx(9 * 6e-3));
  CHECK(blocks[1].samples == 72.0);
  CHECK(blocks[1].cpu_seconds == doctest::Approx(9 * 5e-3));  // 7 ms a step, of which 2 make the batch
  CHECK(blocks[2].run.phase == Phase::supply_cold);
  CHECK(blocks[2].seconds == doctest::Approx(10 * 3e-3));
  CHECK(blocks[2].samples == 80.0);
}

TEST_CASE("where nobody saw the making, a stream's block begins once the script waits as it does in the end") {
  Recorded made(Phase::as_is, 24, 2);
  made.processes[0].texts.back().json.insert(1, R"("stream":"a stream",)");
  double now = 0.0;
  for (std::uint64_t i = 0; i < 24; ++i) {
    const double waited = i < 8 ? 0.0 : 10.0;  // eight batches had been made ahead
    now += 5.0 + waited;
    made.deliver(i, now - waited, now, -1.0);
  }
  const PhaseBlock block = made.block();
  CHECK(block.rejected.empty());
  CHECK(block.batches == 14);  // 8 is the first; a bunch of 2
  CHECK(block.seconds == doctest::Approx(14 * 0.015));
  CHECK(found_between_blocks(made.consumer, made.processes).size() == 1);
  made.processes[0].texts.back().json.erase(1, std::string(R"("stream":"a stream",)").size());
  CHECK(made.block().rejected.find("too few batches") == 0);
  CHECK(found_between_blocks(made.consumer, made.processes).empty());
}

TEST_CASE("where nobody saw the making, a block of a stream may have lived on what the loader had ready") {
  const auto block_after = [](double before_ms, double waited_ms, double once_ms, const char* workers = "1") {
    Recorded made(Phase::as_is, 24, 1);
    std::string& json = made.processes[0].texts.back().json;
    json = std::string(R"({"stream":"a stream","segment":3,"phase":0,"round":2,"iterator_id":0,"first":40,)") +
           R"("batches":24,"workers":)" + workers + "}";
    double now = 0.0;
    for (std::uint64_t i = 0; i < 64; ++i) {
      const double waited = i < 40 ? before_ms : i == 42 ? once_ms : waited_ms;
      now += 10.0;
      made.deliver(i, now - waited, now, -1.0);
    }
    made.consumer.phases_begin_ns = made.consumer.passes[0].deliveries[39].wait.end_ns + 1;
    return made.first_block();
  };
  const auto says = [](const PhaseBlock& block, const char* words) {
    return block.rejected.find(words) != std::string::npos;
  };
  CHECK(says(block_after(1.0, 0.1, 1.0), "waited for 1 % of its time, for 10 % before"));
  CHECK(says(block_after(1.0, 0.3, 0.3), "waited for 0 % of its time, for 10 % before"));  // its window never opens
  CHECK(block_after(1.0, 0.6, 0.6).rejected.empty());
  CHECK(block_after(0.4, 0.0, 0.0).rejected.empty());       // it hardly waited
  CHECK(block_after(1.0, 0.1, 0.1, "0").rejected.empty());  // makes each batch when it is asked for
}

TEST_CASE("a block goes as far as its pass, and counts for nothing where records are missing") {
  Recorded shorter(Phase::cold, 40, 0);
  Recorded gap(Phase::cold, 12, 0);
  for (std::uint64_t i = 0; i < 10; ++i) {
    const double at = 10.0 * static_cast<double>(i);
    shorter.deliver(i, at, at + 1.0, -1.0);
    gap.deliver(i + (i > 4), at, at + 1.0, -1.0);
  }
  CHECK(shorter.first_block().rejected.empty());
  CHECK(shorter.first_block().batches == 8);
  CHECK(gap.first_block().rejected == "records of its batches are missing");
  CHECK(Recorded(Phase::cold, 4, 2).first_block().rejected == "no batch of it was delivered");
}

TEST_CASE("an evaluation divides a block; a second loader of every step is part of the step") {
  const auto with_other = [](double first_ms, double every_ms, int waits) {
    Recorded made = worked_example();
    made.consumer.loaders[2].batch_size = 4;
    made.consumer.passes.push_back({1, 2, 0, {}, {}});
    for (int i = 0; i < waits; ++i) {
      Delivery other;
      other.wait.batch = static_cast<std::uint64_t>(i);
      other.wait.begin_ns = Recorded::at(first_ms + every_ms * i);
      other.wait.end_ns = other.wait.begin_ns + 1000;
      made.consumer.passes[1].deliveries.push_back(other);
    }
    return made.block();
  };
  Recorded saved = worked_example();
  saved.processes[0].texts.push_back(
      {record::TextKind::mark, fmt::format(R"({{"what":"checkpoint","begin_ns":{}}})", Recorded::at(92.0))});
  CHECK(saved.block().batches == 5);
  saved.processes[0].texts.back().json = R"({"what":7,"begin_ns":"x"})";
  CHECK(saved.block().batches == 11);
  // Between deliveries 9 and 10 of the window 4..16. 14 is the first batch that was begun after it.
  const PhaseBlock divided = with_other(95.0, 1.0, 3);
  CHECK(divided.rejected.empty());
  CHECK(divided.batches == 5);  // 6..9 and 16
  CHECK(divided.samples == 40.0);
  CHECK(divided.seconds == doctest::Approx(0.050));
  CHECK(divided.left_out == 15);
  CHECK(divided.evidence.read_bytes == 5000.0);
  CHECK(with_other(0.0, 1.0, 3).batches == 11);    // before the window
  CHECK(with_other(215.0, 1.0, 3).batches == 11);  // behind it
  CHECK(with_other(0.5, 10.0, 21).batches == 11);  // in every step
}

TEST_CASE("a block whose transients leave too little counts for nothing, nor does one of unknown size") {
  Recorded made = worked_example();
  made.processes[0].texts.back().json.replace(made.processes[0].texts.back().json.find("20"), 2, "10");
  CHECK(made.block().rejected.find("too few batches") == 0);
  Recorded nameless(Phase::cold, 10, 0);
  nameless.consumer.loaders[1].batch_size = -1;
  for (std::uint64_t i = 0; i < 10; ++i)
    nameless.deliver(i, 1.0 + static_cast<double>(i), 2.0 + static_cast<double>(i), -1.0, 0);
  CHECK(nameless.first_block().rejected.find("not known") != std::string::npos);
}

TEST_CASE("without workers an evaluation is left out of the block") {
  Recorded made(Phase::cold, 12, 0);
  double now = 0.0;
  for (std::uint64_t i = 0; i < 12; ++i) {
    now += i == 5 ? 510.0 : 10.0;  // 500 ms of evaluation before batch 5
    made.deliver(i, now - 2.0, now, -1.0);
  }
  made.consumer.loaders[2].batch_size = 4;
  made.consumer.passes.push_back({1, 2, 0, {}, {}});
  Delivery other;
  other.wait.begin_ns = Recorded::at(100.0);
  other.wait.end_ns = Recorded::at(101.0);
  made.consumer.passes[1].deliveries.push_back(other);
  const PhaseBlock block = made.first_block();
  CHECK(block.rejected.empty());
  CHECK(block.batches == 9);  // of 10
  CHECK(block.seconds == doctest::Approx(0.090));
  CHECK(block.samples == 72.0);
  CHECK(block.wait_seconds == doctest::Approx(9 * 2e-3));
}
