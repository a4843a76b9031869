// What ranks exchange, from the marks of DistributedDataParallel's own timers.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "analyzer/profile/json.hpp"
#include "tests/analyzer/node_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

/// Writes the mark of one iteration into rank `rank` of the job; times in ms.
void mark(std::vector<RunData>& nodes, std::size_t rank, int iteration, double span_ms, double overlap_ms) {
  RunData& run = nodes[rank / 2];
  const std::int64_t pid = run.consumers[rank % 2].pid;
  for (auto& process : run.processes) {
    if (process.info.pid != pid) continue;
    process.texts.push_back(
        {record::TextKind::mark,
         fmt::format(R"({{"what": "exchange", "model": 0, "iteration": {}, "backend": "gloo", "hook": "",
                         "bucket_bytes": [1000000, 3000000], "forward_ns": 20000000, "backward_ns": 40000000,
                         "span_ns": {}, "overlap_ns": {}}})",
                     iteration, span_ms * 1e6, overlap_ms * 1e6)});
  }
}

}  // namespace

TEST_CASE("the rank that came last tells what an exchange takes, and the others how long they waited for it") {
  std::vector<RunData> nodes = two_nodes(two_ranks());
  for (int iteration : {20, 30, 40}) {
    for (std::size_t rank = 0; rank < 4; ++rank) mark(nodes, rank, iteration, rank == 2 ? 50.0 : 70.0, 30.0);
  }
  mark(nodes, 0, 50, 1000.0, 0.0);  // one of four: it may have waited
  const Profile job = merged(nodes);
  const Exchange& seen = job.exchange;
  CHECK(seen.backend == "gloo");
  CHECK(seen.ranks == 4);
  CHECK(seen.bytes->value() == 4e6);
  CHECK(seen.buckets == 2);
  CHECK(seen.iterations == 3);
  CHECK(seen.time->mean.value() == doctest::Approx(0.050));
  CHECK(seen.exposed->mean.value() == doctest::Approx(0.020));
  CHECK(seen.waiting->mean.value() == doctest::Approx(0.015));
  CHECK(seen.forward->mean.value() == doctest::Approx(0.020));
  CHECK(seen.backward->mean.value() == doctest::Approx(0.040));
  const auto again = profile_from_json(to_json(job));
  REQUIRE(again.ok());
  CHECK(again.value().exchange.exposed->mean.value() == doctest::Approx(0.020));
}

TEST_CASE("what an exchange takes is not told where a rank's timers are missing, or too few iterations were timed") {
  std::vector<RunData> nodes = two_nodes(two_ranks());
  for (int iteration : {20, 30, 40}) {
    for (std::size_t rank = 0; rank < 3; ++rank) mark(nodes, rank, iteration, 70.0, 30.0);
  }
  const Profile three = merged(nodes);
  CHECK_FALSE(three.exchange.time.has_value());
  CHECK(three.exchange.time.reason().find("not all ranks") != std::string::npos);
  CHECK(three.exchange.backward.has_value());
  nodes = two_nodes(two_ranks());
  for (std::size_t rank = 0; rank < 4; ++rank) mark(nodes, rank, 20, 70.0, 30.0);
  CHECK(merged(nodes).exchange.backward.reason().find("fewer than three iterations were timed") == 0);
  CHECK(merged(two_nodes(two_ranks())).exchange.backend.empty());
}

TEST_CASE("timers without the sizes of buckets tell times, and no bytes") {
  std::vector<RunData> nodes = two_nodes(two_ranks());
  for (int iteration : {20, 30, 40}) {
    for (std::size_t rank = 0; rank < 4; ++rank) mark(nodes, rank, iteration, 70.0, 30.0);
  }
  for (RunData& run : nodes) {
    for (auto& process : run.processes) {
      for (auto& text : process.texts) {
        const std::size_t at = text.json.find("1000000, 3000000");
        if (at != std::string::npos) text.json.erase(at, std::string("1000000, 3000000").size());
      }
    }
  }
  const Exchange seen = merged(nodes).exchange;
  CHECK(seen.bytes.reason() == "the sizes of its buckets were not told");
  CHECK(seen.buckets == 0);
  CHECK(seen.time.has_value());
}

TEST_CASE("marks that make no sense are passed over") {
  std::vector<RunData> nodes = two_nodes(two_ranks());
  for (auto& process : nodes.front().processes) {
    for (const char* text : {R"({"what": "exchange"})", R"({"what": "exchange", "iteration": "x"})", "[]", "{",
                             R"({"what": "exchange", "iteration": 1, "forward_ns": -1, "backward_ns": 1, "span_ns": 1,
                                 "overlap_ns": 1})"}) {
      process.texts.push_back({record::TextKind::mark, text});
    }
  }
  CHECK(merged(nodes).exchange.backend.empty());
}
