/// Streams whose readers read far ahead of the batches that they make.
#include "analyzer/reads/stock.hpp"

#include <doctest/doctest.h>

#include <string>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

/// What of a stream was read, in bytes.
struct Reading {
  std::uint64_t of_batch = 0;    ///< while a batch was made
  std::uint64_t of_first = 0;    ///< while the first one was
  std::uint64_t of_process = 0;  ///< of its files, in all
  int beyond = 0;                ///< batches made in states, to each one as found
  std::string kind = "iterable";
};

Profile profile_of(const Reading& reading) {
  RunData run = make_recordings(fetch_bound());
  std::uint64_t id = 1;
  for (record::ProcessRecording& process : run.processes) {
    if (process.batches.empty()) continue;
    for (record::BatchRecord& batch : process.batches) {
      batch.io = {};
      batch.io.read_bytes = reading.of_batch;
    }
    process.batches.front().io.read_bytes = reading.of_first;
    record::FileRecord file{};
    file.file_id = ++id;
    file.begin_ns = process.batches.front().begin_ns + 1;
    file.read_bytes = reading.of_process;
    process.files = {file};
    process.paths = {{id, reading.of_process, 5, "/data/" + std::to_string(id) + ".parquet"}};
  }
  join_run(run);
  for (auto& [id_of_loader, loader] : run.consumers.front().loaders) loader.kind = reading.kind;
  for (record::ProcessRecording& process : run.processes) {
    const std::vector<record::BatchRecord> made = process.batches;
    for (int i = 0; i < reading.beyond; ++i) process.batches.insert(process.batches.end(), made.begin(), made.end());
  }
  return analyze_run(run);
}

constexpr std::uint64_t k_batch = 32 * 100'000;     // of 32 samples
constexpr std::uint64_t k_process = 100 * k_batch;  // of the 100 batches that each of two workers makes

}  // namespace

TEST_CASE("steps that lived on what readers had read are no rate, and why is said") {
  const Profile profile = profile_of({k_batch / 10, k_batch / 10, 4 * k_process, 3});
  CHECK_FALSE(profile.rates.as_is);
  CHECK(profile.rates.as_is.reason().find("the steps as found lived on what they had") != std::string::npos);
  CHECK_FALSE(profile.stalls.as_is_wait);
  CHECK_FALSE(profile.dataset.bytes_per_sample);
  const DataIssue* issue = issue_of(profile, "read-far-ahead");
  REQUIRE(issue != nullptr);
  CHECK(issue->detail.find("read 10 kB for a sample") != std::string::npos);
  CHECK(issue->detail.find("took 100 kB") != std::string::npos);
}

TEST_CASE("a run that is as found to its end has its rate, and a sample takes what the files gave") {
  const Profile profile = profile_of({k_batch / 10, k_batch / 10, k_process, 0});
  CHECK(profile.rates.as_is);
  CHECK(issue_of(profile, "read-far-ahead") == nullptr);
  REQUIRE(profile.dataset.bytes_per_sample);
  CHECK(near(profile.dataset.bytes_per_sample->value(), 100e3, 0.02));
}

TEST_CASE("a buffer that is filled at first is no stock that is used up, and of a map-style data set there is none") {
  const Profile filled = profile_of({k_batch, 200 * k_batch, 4 * k_process + 200 * k_batch, 3});
  CHECK(filled.rates.as_is);
  CHECK(near(filled.dataset.bytes_per_sample->value(), 100e3, 0.02));
  const Profile indexed = profile_of({k_batch / 10, k_batch / 10, 4 * k_process, 3, "map"});
  CHECK(indexed.rates.as_is);
}
