#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "analyzer/load/run_data.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

std::size_t known(const Pass& pass) {
  return static_cast<std::size_t>(std::count_if(pass.deliveries.begin(), pass.deliveries.end(),
                                                [](const Delivery& delivery) { return delivery.made_known; }));
}

/// Every delivery was joined to the making of the same batch, which ended before it was delivered and after the pass
/// began.
void check_joined(const Pass& pass, std::uint64_t after_ns) {
  for (const Delivery& delivery : pass.deliveries) {
    REQUIRE(delivery.made_known);
    CHECK(delivery.made.batch == delivery.wait.batch);
    CHECK(delivery.made.begin_ns >= after_ns);
    CHECK(delivery.made.end_ns <= delivery.wait.end_ns);
  }
}

}  // namespace

TEST_CASE("a worker's n-th pass joins to the n-th iterator that names it") {
  for (const bool persistent : {true, false}) {
    for (const int workers : {1, 2, 3}) {
      CAPTURE(persistent);
      CAPTURE(workers);
      JobSpec spec = fetch_bound();
      spec.loader.workers = workers;
      spec.persistent = persistent;
      spec.passes = 4;
      spec.batches = 23;
      const RunData run = make_run(spec);
      CHECK(run.processes.size() == static_cast<std::size_t>(1 + workers * (persistent ? 1 : 4)));
      REQUIRE(run.consumers.size() == 1);
      REQUIRE(run.consumers[0].passes.size() == 4);
      std::uint64_t begin = k_start_ns;
      for (const Pass& pass : run.consumers[0].passes) {
        REQUIRE(pass.deliveries.size() == 23);
        check_joined(pass, begin);
        begin = pass.deliveries.back().wait.end_ns;
      }
    }
  }
}

TEST_CASE("an evaluation pass between does not shift the passes of persistent workers") {
  JobSpec spec = fetch_bound();
  spec.persistent = true;
  spec.passes = 3;
  spec.batches = 20;
  spec.evaluate_every = 7;
  const RunData run = make_run(spec);
  REQUIRE(run.consumers.size() == 1);
  CHECK(run.consumers[0].passes.size() == 3 + 3 * 2);
  std::size_t training = 0;
  for (const Pass& pass : run.consumers[0].passes) {
    if (pass.loader_id != 1) {
      CHECK(known(pass) == 0);
      continue;
    }
    ++training;
    check_joined(pass, k_start_ns);
  }
  CHECK(training == 3);
}

TEST_CASE("batches that the consumer made itself join by the iterator's own id") {
  JobSpec spec = fetch_bound();
  spec.loader.workers = 0;
  spec.passes = 2;
  spec.batches = 15;
  const RunData run = make_run(spec);
  CHECK(run.processes.size() == 1);
  REQUIRE(run.consumers.size() == 1);
  for (const Pass& pass : run.consumers[0].passes) check_joined(pass, k_start_ns);
}

TEST_CASE("passes over a function that was lost are left out") {
  const std::uint64_t loader = make_run(fetch_bound()).consumers.at(0).passes.at(0).loader_id;
  for (const std::uint64_t lost : {loader, loader + 1}) {
    RunData run = make_recordings(fetch_bound());
    const std::string text = R"({"what":"batch function lost","loader_id":)" + std::to_string(lost) + "}";
    run.processes.at(0).texts.push_back({record::TextKind::mark, text});
    join_run(run);
    CHECK(run.consumers.at(0).passes.empty() == (lost == loader));
  }
}

TEST_CASE("a lost worker recording leaves its batches unknown and the others joined") {
  JobSpec spec = fetch_bound();
  spec.loader.workers = 4;
  spec.batches = 40;
  spec.lost_workers = {k_first_consumer_pid + 2};
  const RunData run = make_run(spec);
  const Pass& pass = run.consumers.at(0).passes.at(0);
  CHECK(known(pass) == 30);
  for (const Delivery& delivery : pass.deliveries) CHECK(delivery.made_known == (delivery.wait.batch % 4 != 1));
}

TEST_CASE("where recording was off, no delivery follows its predecessor") {
  JobSpec spec = prep_bound();
  spec.off = {{5.0, 7.0}, {12.0, 13.0}};
  const RunData run = make_run(spec);
  const Pass& pass = run.consumers.at(0).passes.at(0);
  CHECK(pass.deliveries.size() < 200);
  int gaps = 0;
  for (std::size_t i = 1; i < pass.deliveries.size(); ++i) {
    const bool adjacent = pass.deliveries[i].wait.batch == pass.deliveries[i - 1].wait.batch + 1;
    CHECK(pass.deliveries[i].steps_with_predecessor == adjacent);
    gaps += adjacent ? 0 : 1;
  }
  CHECK(gaps == 2);
}

TEST_CASE("processes of another host with the same pid are not mixed up") {
  JobSpec spec = fetch_bound();
  spec.batches = 30;
  RunData run = make_recordings(spec);
  JobSpec other = prep_bound();
  other.batches = 30;
  for (record::ProcessRecording& process : make_recordings(other).processes) {
    process.info.host = "node1";
    run.processes.push_back(process);
  }
  join_run(run);
  REQUIRE(run.consumers.size() == 2);
  for (const Consumer& consumer : run.consumers) {
    const double expected = consumer.host == "node0" ? spec.cpu_s : other.cpu_s;
    for (const Delivery& delivery : consumer.passes.at(0).deliveries) {
      REQUIRE(delivery.made_known);
      CHECK(near(static_cast<double>(delivery.made.cpu_ns) * 1e-9, expected, 0.6));
    }
  }
}

TEST_CASE("what loaders say is kept, and nonsense is not known") {
  RunData run = make_recordings(fetch_bound());
  auto& texts = run.processes.at(0).texts;
  texts.push_back({record::TextKind::loader,
                   R"({"loader_id":9,"kind":5,"batch_size":"big","num_workers":99999999999,"prefetch_factor":-3,)"
                   R"("in_order":1,"shuffled":null})"});
  texts.push_back({record::TextKind::loader, "{\"loader_id\":"});
  texts.push_back({record::TextKind::iterator, R"({"iterator_id":77,"worker_pids":["x",3]})"});
  join_run(run);
  const auto& loaders = run.consumers.at(0).loaders;
  const LoaderFacts& good = loaders.at(1);
  CHECK(good.dataset_type == "TrainSet");
  CHECK(good.batch_size == 32);
  CHECK(good.num_workers == 2);
  CHECK(good.prefetch_factor == 2);
  CHECK(good.in_order == 1);
  CHECK(good.shuffled == 1);
  const LoaderFacts& bad = loaders.at(9);
  CHECK(bad.kind.empty());
  CHECK(bad.batch_size == -1);
  CHECK(bad.num_workers == -1);
  CHECK(bad.prefetch_factor == -1);
  CHECK(bad.in_order == -1);
  CHECK(bad.shuffled == -1);
  const auto unreadable = std::find_if(run.issues.begin(), run.issues.end(),
                                       [](const DataIssue& issue) { return issue.id == "unreadable-text"; });
  CHECK(unreadable != run.issues.end());
}

TEST_CASE("damage of recordings travels as issues") {
  RunData run = make_recordings(fetch_bound());
  run.processes.at(0).torn_tails = 1;
  run.processes.at(1).broken_blocks = 2;
  run.processes.at(2).info.dropped_records = 30;
  run.processes.at(2).info.disabled = 1;
  join_run(run);
  std::set<std::string> ids;
  for (const DataIssue& issue : run.issues) ids.insert(issue.id);
  CHECK(ids == std::set<std::string>{"torn-tail", "broken-recording", "records-dropped", "recording-disabled"});
}
