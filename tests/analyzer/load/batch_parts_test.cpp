#include "analyzer/load/batch_parts.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <optional>

using namespace stallcast;

namespace {

constexpr std::uint64_t k_ms = 1'000'000;
constexpr std::uint64_t k_unknown = std::numeric_limits<std::uint64_t>::max();

Delivery delivery(std::uint64_t begin_ms, std::uint64_t end_ms, std::uint32_t samples) {
  Delivery made;
  made.wait.begin_ns = made.made.begin_ns = begin_ms * k_ms;
  made.wait.end_ns = made.made.end_ns = end_ms * k_ms;
  made.wait.samples = made.made.samples = samples;
  made.made_known = true;
  made.made.cpu_ns = (end_ms - begin_ms) * k_ms / 2;
  made.made.io.read_bytes = 1000;
  made.made.io.major_faults = 1;
  return made;
}

Pass& pass_over(Consumer& consumer, std::uint64_t loader_id, std::optional<std::uint64_t> part_of = {}) {
  LoaderFacts& facts = consumer.loaders[loader_id];
  facts.loader_id = loader_id;
  facts.part_of = part_of;
  consumer.passes.push_back({.iterator_id = loader_id, .loader_id = loader_id});
  return consumer.passes.back();
}

/// load() and normalise(), which gives the batch, as in the header's example.
Consumer two_functions() {
  Consumer consumer;
  pass_over(consumer, 2, 0).deliveries = {delivery(100, 130, 1), delivery(200, 230, 1), delivery(300, 330, 1)};
  pass_over(consumer, 0).deliveries = {delivery(131, 141, 8), delivery(231, 241, 8)};
  return consumer;
}

}  // namespace

TEST_CASE("what a function took of a batch's making is added to the batch") {
  Consumer consumer = two_functions();
  join_parts(consumer);
  REQUIRE(consumer.passes.size() == 1);
  CHECK(consumer.loaders.size() == 1);
  REQUIRE(consumer.passes[0].deliveries.size() == 2);
  const Delivery& first = consumer.passes[0].deliveries[0];
  CHECK(first.wait.begin_ns == 101 * k_ms);
  CHECK(first.wait.end_ns == 141 * k_ms);
  CHECK(first.wait.samples == 8);
  CHECK(first.made.begin_ns == 101 * k_ms);
  CHECK(first.made.cpu_ns == 20 * k_ms);
  CHECK(first.made.samples == 8);
  CHECK(first.made.io.read_bytes == 2000);
  CHECK(first.made.io.major_faults == 2);
  CHECK(consumer.passes[0].deliveries[1].wait.begin_ns == 201 * k_ms);
}

TEST_CASE("a part that is made for each sample counts as often") {
  Consumer consumer = two_functions();
  consumer.passes[0].deliveries = {delivery(10, 20, 1), delivery(30, 40, 1), delivery(50, 60, 1)};
  join_parts(consumer);
  CHECK(consumer.passes[0].deliveries[0].wait.begin_ns == 101 * k_ms);
  CHECK(consumer.passes[0].deliveries[0].made.cpu_ns == 20 * k_ms);
  CHECK(consumer.passes[0].deliveries[1].wait.begin_ns == 231 * k_ms);
}

TEST_CASE("of what is not known of a part, nothing is known of the batch") {
  Consumer consumer = two_functions();
  SUBCASE("how it was made") {
    consumer.passes[0].deliveries[0].made_known = false;
    join_parts(consumer);
    CHECK_FALSE(consumer.passes[0].deliveries[0].made_known);
    CHECK(consumer.passes[0].deliveries[0].wait.begin_ns == 101 * k_ms);
  }
  SUBCASE("how long its thread waited for a core") {
    consumer.passes[0].deliveries[0].made.run_delay_ns = k_unknown;
    join_parts(consumer);
    CHECK(consumer.passes[0].deliveries[0].made.run_delay_ns == k_unknown);
    CHECK(consumer.passes[0].deliveries[1].made.run_delay_ns == 0);
  }
}

TEST_CASE("loaders that nothing is a part of stay as they are") {
  Consumer consumer;
  pass_over(consumer, 2).deliveries = {delivery(100, 130, 1)};
  pass_over(consumer, 0).deliveries = {delivery(131, 141, 8)};
  join_parts(consumer);
  CHECK(consumer.passes.size() == 2);
  CHECK(consumer.passes[1].deliveries[0].wait.begin_ns == 131 * k_ms);
}
