/// Streams whose readers read beside the making of batches.
#include "analyzer/reads/read_beside.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

constexpr double k_batch = 32 * k_bytes_per_sample;
constexpr double k_worker = 100 * k_batch;  ///< of the 100 batches that each of two workers makes as found

/// A stream of which each worker reads its file partly beside its batches.
struct Reading {
  double made = 0.3;      ///< of what a sample takes, that is read while batches are made
  double at_first = 0.0;  ///< bytes that a worker reads for its first batch
  double earlier = 0.0;   ///< and before it, of another file
  int uncounted = 0;      ///< of each worker, batches whose samples are not known
  std::string kind = "iterable";
};

record::FileRecord file_of(std::uint64_t id, std::uint64_t begin_ns, double bytes) {
  record::FileRecord file{};
  file.file_id = id;
  file.begin_ns = begin_ns;
  file.read_bytes = static_cast<std::uint64_t>(bytes);
  return file;
}

Profile profile_of(const Reading& reading) {
  RunData run = make_recordings(fetch_bound());
  std::uint64_t id = 1;
  for (record::ProcessRecording& process : run.processes) {
    if (process.batches.empty()) continue;
    for (record::BatchRecord& batch : process.batches) {
      batch.io.read_bytes = static_cast<std::uint64_t>(reading.made * k_batch);
    }
    for (int i = 0; i < reading.uncounted; ++i) process.batches[static_cast<std::size_t>(i)].samples = 0;
    process.batches.front().io.read_bytes += static_cast<std::uint64_t>(reading.at_first);
    const double bytes = k_worker + reading.at_first;
    const std::uint64_t begin_ns = process.batches.front().begin_ns;
    process.files = {file_of(id, begin_ns + 1, bytes), file_of(id + 1, begin_ns - 1, reading.earlier)};
    for (int i = 0; i < 2; ++i, ++id) {
      process.paths.push_back({id, static_cast<std::uint64_t>(bytes), 5, "/data/" + std::to_string(id) + ".parquet"});
    }
  }
  join_run(run);
  for (auto& [number, loader] : run.consumers.front().loaders) loader.kind = reading.kind;
  return analyze_run(run);
}

}  // namespace

TEST_CASE("what a sample takes is not told where most of it is read beside the making of batches, and why is said") {
  const Profile profile = profile_of({});
  CHECK(profile.rates.as_is);
  REQUIRE_FALSE(profile.dataset.bytes_per_sample);
  CHECK(profile.dataset.bytes_per_sample.reason().find("beside the making of batches") != std::string::npos);
  CHECK_FALSE(profile.dataset.bytes_total);
  CHECK_FALSE(profile.resources.bytes_from_storage);
  CHECK_FALSE(profile.page_cache.hit);
  CHECK(profile.job.composition == "overlapped");
  const DataIssue* issue = issue_of(profile, "read-far-ahead");
  REQUIRE(issue != nullptr);
  CHECK(issue->detail.find("of 100 kB that a sample takes, 30 kB were read") != std::string::npos);
}

TEST_CASE("what a sample takes is told where batches read it, and where nothing else is known") {
  const auto is_told = [](const Reading& reading) {
    return issue_of(profile_of(reading), "read-far-ahead") == nullptr;
  };
  CHECK(is_told({.made = 1.0}));
  CHECK(is_told({.made = 1.0, .at_first = 300 * k_batch}));  // a buffer is filled, and goes on
  CHECK(is_told({.made = 1.0, .earlier = 5000 * k_batch}));  // a position to resume from
  CHECK(is_told({.made = 0.0}));                             // no reads are seen at all
  CHECK(is_told({.uncounted = 10}));                         // one in ten: others may be of another loader
  CHECK_FALSE(is_told({.uncounted = 2}));
  CHECK(is_told({.kind = "map"}));
  CHECK(near(profile_of({.made = 1.0}).dataset.bytes_per_sample->value(), k_bytes_per_sample, 0.02));
}
