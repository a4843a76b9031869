/// Data that come over the network: they count as read, and what is waited for them is a fetch stall.
#include "analyzer/load/received.hpp"

#include <doctest/doctest.h>

#include "analyzer/analyze.hpp"
#include "analyzer/blocks/blocks.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

constexpr std::uint64_t k_one_ms = 1'000'000;

Delivery batch_of_eight() {
  Delivery delivery;
  delivery.made_known = true;
  delivery.made.begin_ns = 1000 * k_one_ms;
  delivery.made.end_ns = 1100 * k_one_ms;
  delivery.made.cpu_ns = 14 * k_one_ms;
  delivery.made.run_delay_ns = 2 * k_one_ms;
  delivery.made.io.read_ns = 50 * k_one_ms;
  delivery.made.io.meta_ns = 10 * k_one_ms;
  delivery.made.samples = 8;
  return delivery;
}

/// The run, with all its data from the network: whoever asks for them waits in a lock, and no file is read.
RunData over_network(const JobSpec& spec, bool seen = true) {
  RunData run = make_recordings(spec);
  for (record::ProcessRecording& process : run.processes) {
    for (record::BatchRecord& batch : process.batches) {
      const std::uint64_t bytes = batch.io.read_bytes;
      if (seen) process.received.push_back({{0, 0, 8}, batch.iterator_id, batch.batch, bytes});
      batch.io = record::IoTotals{};
      if (seen) batch.io.read_bytes = bytes;
    }
    process.files.clear();
    process.paths.clear();
  }
  for (Tick& tick : run.log.ticks) tick.tree_read_bytes = 0;
  join_run(run);
  return run;
}

}  // namespace

TEST_CASE("what a maker waits for while its data come over the network is reading") {
  Delivery much = batch_of_eight();
  count_received(much, 1'600'000);
  CHECK(much.received_bytes == 1'600'000);
  CHECK(much.made.io.read_ns + much.made.io.meta_ns == 84 * k_one_ms);
  Delivery hardly = batch_of_eight();
  count_received(hardly, 100);
  CHECK(hardly.made.io.read_ns + hardly.made.io.meta_ns == 60 * k_one_ms);
  Delivery busy = batch_of_eight();
  busy.made.cpu_ns = 90 * k_one_ms;  // reads that it computed in are not made longer
  count_received(busy, 1'600'000);
  CHECK(busy.made.io.read_ns + busy.made.io.meta_ns == 60 * k_one_ms);
}

TEST_CASE("the split of a job whose data come over the network is that of the same job with files") {
  for (const JobSpec& spec : {fetch_bound(), prep_bound()}) {
    const Truth truth = truth_of(spec);
    const Profile profile = analyze_run(over_network(spec));
    REQUIRE(profile.stalls.as_is_fetch);
    CHECK(profile.stalls.as_is_fetch->mean == doctest::Approx(truth.fetch()).epsilon(0.05));
    CHECK(beyond_synthetic(profile) == doctest::Approx(truth.prep()).epsilon(0.05));
    CHECK(*profile.resources.bytes_from_storage == 1.0);
    CHECK(profile.dataset.layout == "network");
    CHECK(profile.dataset.received_per_sample->value() == doctest::Approx(k_bytes_per_sample));
    CHECK(profile.dataset.bytes_per_sample->value() == doctest::Approx(k_bytes_per_sample));
    CHECK_FALSE(profile.dataset.files_seen);
    CHECK_FALSE(profile.page_cache.hit);
    CHECK(profile.page_cache.hit.reason().find("network") != std::string::npos);
    REQUIRE(issue_of(profile, "network-data") != nullptr);
    CHECK(issue_of(profile, "network-data")->detail.find("100 %") != std::string::npos);
  }
}

TEST_CASE("storage that was emulated beside such data is told to have been none of it") {
  RunData run = over_network(fetch_bound());
  CHECK(issue_of(analyze_run(run), "emulation-beside-network") == nullptr);
  run.log.emulation.settings["storage_bandwidth"] = "20MB/s";
  const Profile profile = analyze_run(run);
  REQUIRE(issue_of(profile, "emulation-beside-network") != nullptr);
  CHECK(issue_of(profile, "emulation-beside-network")->severity == Severity::warning);
  CHECK(*profile.resources.bytes_from_storage == 1.0);
}

TEST_CASE("where nothing is seen coming over the network, nothing is said of it") {
  const Profile profile = analyze_run(over_network(fetch_bound(), false));
  CHECK(profile.dataset.layout == "unknown");
  CHECK(issue_of(profile, "network-data") == nullptr);
  JobSpec of_files = fetch_bound();
  of_files.samples = true;
  const Profile files = analyze_run(make_run(of_files));
  REQUIRE(files.dataset.received_per_sample);
  CHECK(files.dataset.received_per_sample->value() == 0.0);
  CHECK(files.dataset.layout != "network");
}

TEST_CASE("what comes over the network is in no cached block") {
  PhaseBlock block;
  block.run.phase = record::Phase::cached;
  block.evidence.batches = 10;
  block.evidence.samples = 80.0;
  block.evidence.storage_known = true;
  block.evidence.read_bytes = 8e6;
  CHECK(check_premise(block).holds);  // shards that are kept open, all from memory
  block.evidence.received_bytes = 8e6;
  const Premise premise = check_premise(block);
  CHECK_FALSE(premise.holds);
  CHECK(premise.seen.find("100.0 % over the network") != std::string::npos);
}

TEST_CASE("what comes through pipes is not divided, with the reason") {
  for (const double piped : {0.0, 100.0, k_bytes_per_sample}) {
    RunData run = make_recordings(prep_bound());
    for (record::ProcessRecording& process : run.processes) {
      double samples = 0.0;
      for (record::BatchRecord& batch : process.batches) {
        batch.io = record::IoTotals{};
        samples += batch.samples;
      }
      process.info.stream_read_bytes = static_cast<std::uint64_t>(piped * samples);
    }
    join_run(run);
    const Profile profile = analyze_run(run);
    CAPTURE(piped);
    CHECK(profile.stalls.as_is_prep.has_value() == (piped < 1000.0));
    if (profile.stalls.as_is_prep) continue;
    CHECK(profile.stalls.as_is_prep.reason().find("through pipes") != std::string::npos);
    CHECK(profile.stalls.as_is_wait->mean > 0.2);
  }
}
