/// What the evidence of a block proves.
#include <doctest/doctest.h>

#include <string>

#include "analyzer/blocks/blocks.hpp"

using namespace stallcast;
using record::Phase;

namespace {

PhaseBlock cold_block() {
  PhaseBlock block;
  block.run.phase = Phase::cold;
  PhaseEvidence& seen = block.evidence;
  seen.batches = seen.opens = 10;
  seen.opened_bytes = seen.page_bytes = seen.storage_bytes = seen.read_bytes = 1e6;
  seen.storage_known = true;
  return block;
}

PhaseBlock cached_block() {
  PhaseBlock block;
  block.run.phase = Phase::cached;
  PhaseEvidence& seen = block.evidence;
  seen.batches = seen.opens = 10;
  seen.opened_bytes = seen.resident_bytes = seen.page_bytes = seen.read_bytes = 1e6;
  seen.storage_known = true;
  return block;
}

}  // namespace

TEST_CASE("a first touch: nothing read before, and nothing known to have been in memory") {
  PhaseBlock block = cold_block();
  block.evidence.storage_bytes = 0.0;  // FUSE: the kernel counts nothing
  CHECK_FALSE(check_premise(block).holds);
  CHECK_FALSE(check_first_touch(block).holds);
  CHECK(check_first_touch(block).seen.find("no index") != std::string::npos);
  block.first_reads = 1.0;
  CHECK(check_first_touch(block).holds);
  block.first_reads = 0.97;
  CHECK_FALSE(check_first_touch(block).holds);
  block.first_reads = 1.0;
  block.evidence.evicted_bytes = 0.03e6;  // it had been in memory
  CHECK_FALSE(check_first_touch(block).holds);
}

TEST_CASE("cold: evicted and read from storage, as far as either can be told") {
  CHECK(check_premise(cold_block()).holds);
  CHECK(check_premise(cold_block()).check == "residency, storage_bytes");
  PhaseBlock block = cold_block();
  block.evidence.resident_bytes = 0.03e6;
  CHECK_FALSE(check_premise(block).holds);
  block = cold_block();
  block.evidence.storage_bytes = 0.85e6;
  CHECK_FALSE(check_premise(block).holds);
  block = cold_block();
  block.evidence.storage_known = false;
  CHECK(check_premise(block).holds);
  CHECK(check_premise(block).check == "residency");
  block.evidence.unknown_opens = 1;
  CHECK_FALSE(check_premise(block).holds);  // neither can be told
  block.evidence.storage_known = true;
  CHECK(check_premise(block).holds);
  CHECK(check_premise(block).check == "storage_bytes");
  block = cold_block();
  block.evidence.read_bytes = block.evidence.storage_bytes = 0.0;
  CHECK_FALSE(check_premise(block).holds);  // nothing was read at all
}

TEST_CASE("pages that were not ours to evict are named") {
  PhaseBlock block = cold_block();
  block.evidence.resident_bytes = block.evidence.foreign_bytes = 0.5e6;
  const Premise premise = check_premise(block);
  CHECK_FALSE(premise.holds);
  CHECK(premise.seen.find("50.0 % not ours to evict") != std::string::npos);
}

TEST_CASE("cold: what a batch reads again, an index or labels, is fetched once") {
  PhaseBlock block = cold_block();
  block.evidence.opened_bytes = 2e6;  // granules of a large file: more than was read
  block.evidence.read_bytes = 1.3e6;
  CHECK(check_premise(block).holds);
  block.evidence.page_bytes = 1.2e6;
  CHECK_FALSE(check_premise(block).holds);
  block.evidence.page_bytes = 0.0;  // recorded before pages were counted
  CHECK_FALSE(check_premise(block).holds);
}

TEST_CASE("a hold of a stream: as many bytes from storage as were read, and the rest of each file's last page") {
  PhaseBlock block = cold_block();
  block.run.phase = Phase::supply_cold;
  block.run.iterable = true;
  PhaseEvidence& seen = block.evidence;
  CHECK(check_premise(block).holds);
  seen.opens = 2;
  seen.storage_bytes = 1.14e6;
  CHECK_FALSE(check_premise(block).holds);
  seen.opens = 100;  // small files: 10 KB are three pages
  CHECK(check_premise(block).holds);
  seen.storage_bytes = 1.6e6;
  CHECK_FALSE(check_premise(block).holds);
  seen.opens = 1000;  // of which more would be too much
  seen.storage_bytes = 1.59e6;
  CHECK(check_premise(block).holds);
  seen.storage_bytes = 1.9e6;
  CHECK_FALSE(check_premise(block).holds);
}

TEST_CASE("cached: resident at the open, or where that cannot be asked, nothing from storage") {
  for (const Phase phase : {Phase::cached, Phase::supply_cached, Phase::perturb_read, Phase::perturb_cpu}) {
    PhaseBlock block = cached_block();
    block.run.phase = phase;
    CHECK(check_premise(block).holds);
    block.evidence.storage_bytes = 0.03e6;
    CHECK_FALSE(check_premise(block).holds);
  }
  PhaseBlock block = cached_block();
  block.evidence.resident_bytes = 0.97e6;
  CHECK_FALSE(check_premise(block).holds);
  block.evidence.unknown_opens = 1;
  CHECK(check_premise(block).holds);
  CHECK(check_premise(block).check == "storage_bytes");
  block.evidence.storage_known = false;
  CHECK_FALSE(check_premise(block).holds);  // neither can be told
  block = cached_block();
  block.evidence.storage_known = false;
  CHECK(check_premise(block).holds);
  block = cached_block();
  block.evidence.opened_bytes = 100e6;  // a large file, of which a range is read
  CHECK(check_premise(block).holds);
  block = cached_block();
  block.evidence.opens = 0;  // a shard that stays open
  block.evidence.opened_bytes = block.evidence.resident_bytes = 0.0;
  CHECK(check_premise(block).holds);
  block.evidence.storage_known = false;
  CHECK_FALSE(check_premise(block).holds);
}

TEST_CASE("cached, ranges of a large file: what was read is resident, whatever else the granules hold") {
  PhaseBlock block = cached_block();
  block.evidence.page_bytes = 0.8e6;
  block.evidence.resident_bytes = 0.85e6;
  CHECK(check_premise(block).holds);
  block.evidence.resident_bytes = 0.7e6;  // fewer than were read
  CHECK_FALSE(check_premise(block).holds);
  block.evidence.resident_bytes = 0.85e6;
  block.evidence.storage_known = false;
  CHECK_FALSE(check_premise(block).holds);
  block.evidence.storage_known = true;
  block.evidence.storage_bytes = 0.03e6;
  CHECK_FALSE(check_premise(block).holds);
}

TEST_CASE("cold says whether the metadata had been met before") {
  PhaseBlock block = cold_block();
  CHECK(check_premise(block).seen.find("metadata") == std::string::npos);
  block.first_reads = 0.99;
  CHECK(check_premise(block).seen.find("metadata as found") != std::string::npos);
  block.first_reads = 0.5;
  CHECK(check_premise(block).seen.find("metadata warm") != std::string::npos);
}

TEST_CASE("cold, of maps: the files are out of memory when a batch begins, and their pages come from storage") {
  PhaseBlock block = cold_block();
  block.evidence = {};
  block.evidence.batches = 10;
  block.evidence.storage_bytes = 1e6;
  block.evidence.storage_known = true;
  block.evidence.mapped = {10, 80.0, 1e10, 0.01e10, 0.0, 0, 90};
  CHECK(check_premise(block).holds);
  CHECK(check_premise(block).seen.find("1.0 % of the mapped files resident") != std::string::npos);
  const auto fails = [&block](auto change) {
    PhaseBlock changed = block;
    change(changed.evidence);
    return !check_premise(changed).holds;
  };
  CHECK(fails([](PhaseEvidence& e) { e.mapped.resident_bytes = 0.03e10; }));
  CHECK(fails([](PhaseEvidence& e) { e.mapped.unknown_files = 1; }));
  CHECK(fails([](PhaseEvidence& e) { e.mapped.major_faults = 0; }));
  CHECK(fails([](PhaseEvidence& e) { e.storage_bytes = 0.0; }));
  CHECK(fails([](PhaseEvidence& e) { e.storage_known = false; }));
  block.evidence.mapped.foreign_bytes = block.evidence.mapped.resident_bytes = 0.5e10;
  CHECK(check_premise(block).seen.find("50.0 % not ours to evict") != std::string::npos);
  // Files that are read beside maps prove themselves as ever.
  block.evidence = cold_block().evidence;
  block.evidence.mapped = {10, 80.0, 1e7, 1e7, 0.0, 0, 0};
  CHECK(check_premise(block).holds);
  CHECK(check_premise(block).check == "residency, storage_bytes");
}

TEST_CASE("cached, of maps: hardly a sample met a page fault that waited for storage") {
  PhaseBlock block = cached_block();
  block.evidence = {};
  block.evidence.batches = 10;
  block.evidence.storage_known = true;
  block.evidence.mapped = {10, 100.0, 1e10, 0.0, 0.0, 0, 2};
  CHECK(check_premise(block).holds);
  block.evidence.storage_bytes = 10e6;
  CHECK_FALSE(check_premise(block).holds);  // more than two faults read around
  block.evidence.storage_bytes = 0.2e6;
  CHECK(check_premise(block).holds);
  block.run.phase = Phase::half_cached;
  CHECK_FALSE(check_premise(block).holds);  // no half of a map is evicted
  block.run.phase = Phase::cached;
  block.evidence.mapped.major_faults = 3;
  CHECK_FALSE(check_premise(block).holds);
}

TEST_CASE("batches that lie ready have nothing to prove") {
  PhaseBlock block;
  block.run.phase = Phase::synthetic;
  CHECK(check_premise(block).holds);
  CHECK(check_premise(block).check == "none");
}

TEST_CASE("segment and burst texts that are no objects are passed over, missing fields are nothing") {
  record::ProcessRecording process;
  for (const char* text : {"[]", "{", "7", R"({"segment":-1,"phase":"x"})", R"({"segment":5,"first":9,"round":1})"}) {
    process.texts.push_back({record::TextKind::segment, text});
  }
  const auto runs = segments_of(process);
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].segment == 0);
  CHECK(runs[1].segment == 5);
  CHECK(runs[1].first == 9);
  CHECK(runs[1].batches == 0);
  process.texts.clear();
  for (const char* text : {"[]", R"({"segment":"x","workers_cpu_s":null,"refused":7})",
                           R"({"segment":4,"workers_cpu_s":0.5,"refused":"no room"})"}) {
    process.texts.push_back({record::TextKind::burst, text});
  }
  const auto bursts = bursts_of(process);
  REQUIRE(bursts.size() == 2);
  CHECK(bursts[0].workers_cpu_s < 0.0);
  CHECK(bursts[0].refused.empty());
  CHECK(bursts[1].segment == 4);
  CHECK(bursts[1].workers_cpu_s == 0.5);
  CHECK(bursts[1].refused == "no room");
  process.texts = {{record::TextKind::segment, R"({"segment":9,"phase":15})"}};
  CHECK(segments_of(process).empty());  // the end of the schedule
}

TEST_CASE("a stream's block as found is a first touch where its bytes came from storage") {
  PhaseBlock block = cold_block();
  block.run.phase = Phase::as_is;
  block.run.stream = "a stream";
  CHECK(check_first_touch(block).holds);
  CHECK(check_first_touch(block).check == "storage_bytes");
  block.evidence.storage_bytes = 0.85e6;
  CHECK_FALSE(check_first_touch(block).holds);
  block = cold_block();
  block.run.stream = "a stream";
  block.evidence.storage_known = false;
  CHECK_FALSE(check_first_touch(block).holds);
}
