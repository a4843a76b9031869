#include "analyzer/load/queue.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace stallcast;

namespace {

constexpr std::uint64_t k_ms = 1'000'000;

/// A loader, and a pass of so many batches over it, of which each worker makes one in 40 of 50 ms.
void add_loader(Consumer& consumer, std::uint64_t id, const std::string& kind, int shuffled, std::int64_t workers,
                std::uint64_t batches) {
  LoaderFacts& facts = consumer.loaders[id];
  facts.loader_id = id;
  facts.kind = kind;
  facts.num_workers = workers;
  facts.shuffled = shuffled;
  Pass pass;
  pass.loader_id = id;
  const auto crew = static_cast<std::uint64_t>(workers > 0 ? workers : 1);
  for (std::uint64_t i = 0; i < batches; ++i) {
    Delivery delivery;
    delivery.made_known = true;
    delivery.made.header.aux = workers > 0 ? static_cast<std::uint32_t>(i % crew) : UINT32_MAX;
    delivery.made.begin_ns = (1 + i / crew) * 50 * k_ms;
    delivery.made.end_ns = delivery.made.put_ns = delivery.made.begin_ns + 40 * k_ms;
    pass.deliveries.push_back(delivery);
  }
  consumer.passes.push_back(pass);
}

Consumer in_thread() {
  Consumer consumer;
  consumer.takes_in_thread = true;
  add_loader(consumer, 9, "queue", -1, -1, 300);
  return consumer;
}

}  // namespace

TEST_CASE("of the loader behind a queue it is told what it says of itself, and how busy its workers are") {
  Consumer consumer = in_thread();
  add_loader(consumer, 1, "map", 1, 2, 150);
  add_loader(consumer, 2, "map", 1, 2, 150);  // made anew for the second epoch
  leave_to_queue(consumer);
  CHECK(consumer.sees_queue);
  REQUIRE(consumer.passes.size() == 1);
  CHECK(consumer.passes[0].loader_id == 9);
  REQUIRE(consumer.behind.has_value());
  CHECK(consumer.behind->facts.num_workers == 2);
  CHECK(consumer.behind->busy == doctest::Approx(0.8).epsilon(0.01));
}

TEST_CASE("a loader that evaluates beside it is not taken for it") {
  Consumer consumer = in_thread();
  SUBCASE("a longer one") {
    add_loader(consumer, 1, "map", 1, 2, 300);
    add_loader(consumer, 2, "map", 0, 4, 600);
    leave_to_queue(consumer);
    REQUIRE(consumer.behind.has_value());
    CHECK(consumer.behind->facts.num_workers == 2);
  }
  SUBCASE("with workers, where that one has none") {
    add_loader(consumer, 1, "map", 1, 0, 300);
    add_loader(consumer, 2, "map", 0, 4, 300);
    leave_to_queue(consumer);
    REQUIRE(consumer.behind.has_value());
    CHECK(consumer.behind->facts.num_workers == 0);
    CHECK(consumer.behind->busy < 0.0);
  }
  SUBCASE("neither shuffles") {
    add_loader(consumer, 1, "map", 0, 2, 300);
    add_loader(consumer, 2, "map", 0, 4, 300);
    leave_to_queue(consumer);
    CHECK_FALSE(consumer.behind.has_value());
  }
  SUBCASE("another process fills the queue") {
    consumer.takes_in_thread = false;
    add_loader(consumer, 1, "map", 1, 2, 300);
    leave_to_queue(consumer);
    CHECK_FALSE(consumer.behind.has_value());
  }
}
