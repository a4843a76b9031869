/// Next steps of runs that tell little, and of those whose time goes between epochs.
#include <doctest/doctest.h>

#include "reports/findings/findings.hpp"
#include "tests/reports/findings/advice.hpp"
#include "tests/reports/sample_profiles.hpp"

using namespace stallcast;
using namespace stallcast::reports;

TEST_CASE("where another thread or loader makes the batches, that one is to be profiled") {
  Profile threads = testing::absent_heavy();
  threads.stalls.as_is_wait = Estimate<Fraction>{0.3, 0.28, 0.32, 50};
  CHECK_FALSE(advises(threads, "look-within"));
  threads.issues.push_back(
      {"loader-in-thread", Severity::info, 1, "another thread takes the batches", "take them here"});
  CHECK(advises(threads, "look-within"));
  Profile busy = threads;
  busy.issues.push_back({"busy-loader-in-thread", Severity::info, 2, "its workers are busy", "more of them"});
  CHECK(advises(busy, "busy-behind"));
  CHECK_FALSE(advises(busy, "look-within"));
  busy.stalls.as_is_wait = Estimate<Fraction>{0.01, 0.005, 0.015, 50};
  CHECK_FALSE(advises(busy, "busy-behind"));
  Profile nested = threads;
  nested.issues.back().id = "nested-loader";
  nested.job.num_workers = 0;
  CHECK(advises(nested, "look-within"));
  CHECK_FALSE(advises(nested, "start-workers"));
  nested.issues.pop_back();
  CHECK(advises(nested, "start-workers"));
  CHECK_FALSE(advises(threads, "measure-again"));
}

TEST_CASE("workers are to be kept where pauses between epochs take time") {
  Profile pauses = testing::absent_heavy();
  pauses.job.num_workers = 4;
  pauses.job.dataset_samples = 1000;
  pauses.rates.as_is =
      Estimate<SamplesPerSecond>{SamplesPerSecond(500), SamplesPerSecond(490), SamplesPerSecond(510), 50};
  pauses.stalls.epoch_pause = Estimate<Seconds>{Seconds(0.5), Seconds(0.4), Seconds(0.6), 5};
  CHECK_FALSE(advises(pauses, "keep-workers"));  // what the loader does is not known
  pauses.job.persistent_workers = false;
  CHECK(advises(pauses, "keep-workers"));
  pauses.stalls.as_is_wait = Estimate<Fraction>{0.01, 0.005, 0.015, 50};
  CHECK_FALSE(advises(pauses, "leave-it"));
  pauses.stalls.epoch_pause = Estimate<Seconds>{Seconds(0.01), Seconds(0.0), Seconds(0.02), 5};
  CHECK_FALSE(advises(pauses, "keep-workers"));
}

TEST_CASE("a command that failed is to be made to run, and marked only where it trained") {
  Profile failed = testing::absent_heavy();
  failed.outcome = {"child_failed", 1, "the command ended with status 1 before stallcast saw a batch"};
  CHECK(advises(failed, "make-it-run"));
  CHECK_FALSE(advises(failed, "no-loader"));
  failed.seen_instead = {{"steps", "4000 optimizer steps, 20 a second"}};  // it was ended in its training
  CHECK(advises(failed, "make-it-run"));
  CHECK(advises(failed, "no-loader"));
  failed.seen_instead = {{"steps", k_no_steps_seen}};
  CHECK_FALSE(advises(failed, "no-loader"));
  CHECK(missing_of(failed).size() == 1);
  failed.seen_instead.clear();
  failed.job.loaders_seen = 1;
  CHECK(advises(failed, "run-longer"));
}

TEST_CASE("a run with too few steps is to be longer") {
  Profile few = testing::absent_heavy();
  few.outcome.status = "not_enough_data";
  few.job.loaders_seen = 1;
  CHECK(advises(few, "run-longer"));
  CHECK_FALSE(advises(few, "no-loader"));
  few.job.loaders_seen = 0;
  few.outcome.status = "interrupted";
  CHECK(advises(few, "run-longer"));
  few.seen_instead = {{"steps", "40 optimizer steps, 20 a second"}};
  CHECK_FALSE(advises(few, "run-longer"));
  CHECK(advises(few, "no-loader"));
}

TEST_CASE("what cannot be told from 0 calls for nothing") {
  Profile p = testing::fetch_bound();
  p.stalls.as_is_fetch = Estimate<Fraction>{0.15, -0.02, 0.32, 4};
  CHECK_FALSE(advises(p, "faster-storage"));
  CHECK_FALSE(advises(p, "larger-reads"));
  p = testing::with_wait(0.12, 0.20);
  const Findings unclear = find(p);
  REQUIRE(unclear.next.size() == 1);
  CHECK(unclear.next.front().key == "measure-again");
}
