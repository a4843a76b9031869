#include "analyzer/blocks/production.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analyzer/blocks/blocks.hpp"

using namespace stallcast;

namespace {

constexpr std::uint64_t k_ns_per_ms = 1'000'000;

/// The worked example of the header: batch by batch, in order of delivery.
struct Workshop {
  Pass pass{};

  Workshop() {
    add(0, 80, 120);
    add(1, 60, 150);
    add(0, 120, 160);
    add(1, 150, 200);
    add(0, 160, 220);
    add(1, 200, 260);
  }

  void add(std::uint32_t worker, std::uint64_t begin_ms, std::uint64_t put_ms) {
    Delivery delivery;
    delivery.wait.batch = pass.deliveries.size();
    delivery.wait.end_ns = put_ms * k_ns_per_ms + k_ns_per_ms / 10;
    delivery.wait.samples = 8;
    delivery.made_known = true;
    delivery.made.header.aux = worker;
    delivery.made.begin_ns = begin_ms * k_ns_per_ms;
    delivery.made.end_ns = put_ms * k_ns_per_ms - k_ns_per_ms / 10;
    delivery.made.put_ns = put_ms * k_ns_per_ms;
    delivery.made.io.read_bytes = 800 * (put_ms - begin_ms);
    pass.deliveries.push_back(delivery);
  }

  [[nodiscard]] std::optional<Production> made(std::size_t workers = 2, std::uint64_t to_ms = 200) const {
    return production_of(pass, pass.deliveries, workers, 0.0, 100 * k_ns_per_ms, to_ms * k_ns_per_ms);
  }
};

/// A job in its steady state, in ms: 4 workers, each of which takes `make` for a batch of 8, so that 4 come at a time;
/// 2 prefetched by each.
struct Bunches {
  double step = 10.0;
  double make = 60.0;
  double computing = 0.05;   ///< share of the making
  double receive = 0.0;      ///< that next() takes of a batch that lies ready
  double until_block = 0.0;  ///< that making took less before: a stock lies ready then
  double saved_up = 0.0;     ///< that the first batch which each worker begins in the block takes less
  int phase = 1;
  std::size_t batches = 13;

  /// Of `batches` from the 17th on.
  [[nodiscard]] PhaseBlock block() const {
    constexpr std::size_t k_crew = 4;
    Consumer consumer;
    consumer.loaders[1].prefetch_factor = 2;
    consumer.passes.push_back({0, 1, 0, {}, {}});
    std::vector<record::ProcessRecording> processes(1);
    consumer.pid = processes[0].info.pid = 100;
    processes[0].texts.push_back({record::TextKind::segment, R"({"segment":1,"phase":)" + std::to_string(phase) +
                                                                 R"(,"round":0,"iterator_id":0,"first":16,"batches":)" +
                                                                 std::to_string(batches) + R"(,"workers":4})"});
    std::vector<double> got;
    std::vector<double> free(k_crew, 0.0);
    for (std::size_t i = 0; i < 27 + batches; ++i) {
      const double given = i < 2 * k_crew ? 0.0 : got[i - 2 * k_crew];
      const double begun = std::max(free[i % k_crew], given);
      double took = i < 16 && until_block > 0.0 ? until_block : make;
      if (i >= 24 && i < 28) took -= saved_up;  // those before were under way when it began
      const double made = free[i % k_crew] = begun + took;
      const double asked = i == 0 ? 0.0 : got.back() + step;
      got.push_back(std::max(asked, made) + receive);
      Delivery delivery;
      delivery.wait.batch = i;
      delivery.wait.samples = 8;
      delivery.wait.begin_ns = at(asked);
      delivery.wait.end_ns = at(got.back());
      delivery.made_known = true;
      delivery.made.header.aux = static_cast<std::uint32_t>(i % k_crew);
      delivery.made.begin_ns = at(begun);
      delivery.made.end_ns = delivery.made.put_ns = at(made);
      delivery.made.cpu_ns = at(computing * make) - at(0.0);
      consumer.passes[0].deliveries.push_back(delivery);
    }
    return phase_blocks(consumer, processes).at(0);
  }

  static std::uint64_t at(double ms) { return 1'000'000'000 + static_cast<std::uint64_t>(ms * k_ns_per_ms); }
};

}  // namespace

TEST_CASE("a job that waits for each bunch is as fast as its workers, who wait for storage, make batches") {
  const PhaseBlock block = Bunches().block();
  REQUIRE(block.produced);
  CHECK(block.samples / block.seconds == doctest::Approx(8 / 0.015));
  CHECK(block.wait_seconds / block.seconds == doctest::Approx(1.0 / 3.0).epsilon(0.1));

  const PhaseBlock behind_stock = Bunches{.until_block = 3.0}.block();
  REQUIRE(behind_stock.produced);
  CHECK(behind_stock.samples / behind_stock.seconds == doctest::Approx(8 / 0.015));

  CHECK_FALSE(Bunches{.step = 14.9}.block().produced);  // it hardly waits: a stock may grow
  CHECK_FALSE(Bunches{.step = 10.0, .receive = 5.0}.block().produced);
  CHECK_FALSE(Bunches{.step = 20.0}.block().produced);
  CHECK_FALSE(Bunches{.computing = 0.6}.block().produced);
}

TEST_CASE("what storage saved up before a cold block is left out") {
  for (const double saved_up : {0.0, 20.0, 50.0}) {
    const PhaseBlock block = Bunches{.saved_up = saved_up, .batches = 33}.block();
    REQUIRE(block.produced);
    CHECK(block.samples / block.seconds == doctest::Approx(8 / 0.015));
  }
  const PhaseBlock cached = Bunches{.saved_up = 20.0, .phase = 2, .batches = 33}.block();
  REQUIRE(cached.produced);
  CHECK(cached.samples / cached.seconds > 1.03 * 8 / 0.015);
}

TEST_CASE("of a job that takes batches more slowly than they are made, what it takes while all lie ready is its rate") {
  Bunches job{.step = 20.0, .make = 3.0};
  job.phase = 2;
  const PhaseBlock block = job.block();
  CHECK_FALSE(block.produced);
  CHECK(block.batches == 5);  // from the first to the sixth of 13: later, others are under way
  CHECK(block.samples / block.seconds == doctest::Approx(8 / 0.020));
}

TEST_CASE("what workers made is their whole batches and the passed shares of those in the making") {
  const auto made = Workshop().made();
  REQUIRE(made.has_value());
  const double batches = 20.0 / 40 + 1 + 40.0 / 60 + 50.0 / 90 + 1;
  CHECK(made->samples == doctest::Approx(8 * batches));
  CHECK(made->seconds == doctest::Approx(0.1));
  CHECK(made->bytes == doctest::Approx(800 * (20 + 40 + 40 + 50 + 50)));
  REQUIRE(made->groups.size() == 2);
  CHECK(made->groups[0].seconds == doctest::Approx(0.040 / 8 / 2));
  CHECK(made->groups[0].bytes == doctest::Approx(800 * 40 / 8.0));
}

TEST_CASE("what workers made is not told where one of them rested or made something else, or where nobody knows") {
  CHECK_FALSE(Workshop().made(3).has_value());       // a third one, of which nothing is known
  CHECK_FALSE(Workshop().made(2, 240).has_value());  // worker 0 has nothing to do after 220
  CHECK_FALSE(Workshop().made(2, 100).has_value());

  Workshop rested;
  rested.pass.deliveries[2].made.begin_ns += 10 * k_ns_per_ms;
  CHECK_FALSE(rested.made().has_value());

  Workshop hardly;  // one of four for a tenth of the time
  for (std::uint32_t worker = 2; worker < 4; ++worker) {
    hardly.add(worker, 90, 150);
    hardly.add(worker, 150, 220);
  }
  hardly.pass.deliveries[2].made.begin_ns += 10 * k_ns_per_ms;
  CHECK(hardly.made(4).has_value());
  hardly.pass.deliveries[2].made.begin_ns += 10 * k_ns_per_ms;
  CHECK_FALSE(hardly.made(4).has_value());

  Workshop twice;
  twice.pass.deliveries[4].made.begin_ns -= 10 * k_ns_per_ms;
  CHECK_FALSE(twice.made().has_value());

  Workshop unknown;
  unknown.pass.deliveries[3].made_known = false;
  CHECK_FALSE(unknown.made().has_value());

  Workshop uncounted;
  uncounted.pass.deliveries[3].wait.samples = 0;
  CHECK_FALSE(uncounted.made().has_value());
  CHECK(production_of(uncounted.pass, uncounted.pass.deliveries, 2, 8.0, 100 * k_ns_per_ms, 200 * k_ns_per_ms)
            .has_value());

  const Workshop other;  // its first batch is another block's, and under way until 120 ms
  const std::span<const Delivery> block = std::span(other.pass.deliveries).subspan(1);
  CHECK_FALSE(production_of(other.pass, block, 2, 0.0, 100 * k_ns_per_ms, 200 * k_ns_per_ms).has_value());
  CHECK(production_of(other.pass, block, 2, 0.0, 120 * k_ns_per_ms, 200 * k_ns_per_ms).has_value());
}
