#include "analyzer/blocks/production.hpp"

#include <doctest/doctest.h>

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

}  // namespace

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
