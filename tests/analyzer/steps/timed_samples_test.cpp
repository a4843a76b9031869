#include "analyzer/steps/timed_samples.hpp"

#include <doctest/doctest.h>

using namespace stallcast;

namespace {

record::SampleRecord timed_sample(std::int64_t index, std::uint16_t period) {
  record::SampleRecord made{};
  made.index = index;
  made.period = period;
  return made;
}

TimedSamples even(const std::vector<record::SampleRecord>& records) {
  std::vector<const record::SampleRecord*> samples;
  for (const record::SampleRecord& record : records) samples.push_back(&record);
  return evenly_timed(samples);
}

}  // namespace

TEST_CASE("where every sample is timed, all are kept") {
  CHECK(even({}).samples.empty());
  CHECK(even({}).period == 1);
  const std::vector<record::SampleRecord> records = {timed_sample(3, 0), timed_sample(4, 1),
                                                     timed_sample(-1, 1)};  // 0: older recordings
  CHECK(even(records).samples.size() == 3);
  CHECK(even(records).period == 1);
}

TEST_CASE("of samples timed densely, those are kept that the longest period would have chosen") {
  std::vector<record::SampleRecord> records;
  for (std::int64_t i = 0; i < 4000; ++i) records.push_back(timed_sample(i, 1));  // the first pass: all
  for (std::int64_t i = 0; i < 4000; ++i) {                                       // the second: one in 8
    if (record::sample_hash(i) % 8 == 0) records.push_back(timed_sample(i, 8));
  }
  const TimedSamples kept = even(records);
  CHECK(kept.period == 8);
  // The same ones of either pass, about an eighth of it.
  REQUIRE(kept.samples.size() % 2 == 0);
  const std::size_t half = kept.samples.size() / 2;
  CHECK(half > 400);
  CHECK(half < 600);
  for (std::size_t i = 0; i < half; ++i) CHECK(kept.samples[i]->index == kept.samples[half + i]->index);
}

TEST_CASE("samples without an index are thinned by count") {
  std::vector<record::SampleRecord> records(64, timed_sample(-1, 2));
  records.resize(72, timed_sample(-1, 16));
  CHECK(even(records).period == 16);
  CHECK(even(records).samples.size() == 64 / 8 + 8);
}
