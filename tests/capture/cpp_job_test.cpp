/// The C++ sample job: what is recorded of it equals what it measured itself.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "tests/capture/run_folder.hpp"

namespace stallcast::test {
namespace {

nlohmann::json run_job(const TemporaryFolder& data, const GuestOptions& options) {
  const auto result = run_guest({STALLCAST_CPP_JOB, data.path().string(), "--make-files", "128", "--file-bytes",
                                 "20000", "--workers", "3", "--batch", "8", "--epochs", "2", "--step-ms", "2"},
                                options);
  REQUIRE_MESSAGE(result.exit_status == 0, result.output);
  return nlohmann::json::parse(result.output);
}

}  // namespace

TEST_CASE("waits, steps, samples and bytes are those of the job") {
  const TemporaryFolder data;
  RunFolder run;
  const auto said = run_job(data, {.run_dir = run.path().string()});
  const auto recording = run.recording();
  CHECK(said["steps"] == 32);
  CHECK(recording.steps.size() == 32);
  CHECK(recording.waits.size() == 32 + 2);
  CHECK(recording.batches.size() == 32);
  CHECK(recording.samples.size() == 256);
  CHECK(recording.paths.size() == 128);
  std::uint64_t wait_ns = 0;
  for (const auto& wait : recording.waits) wait_ns += wait.end_ns - wait.begin_ns;
  // The job's clock readings enclose ours.
  const double wait_s = static_cast<double>(wait_ns) * 1e-9;
  CHECK(wait_s <= said["wait_s"].get<double>() + 1e-3);
  CHECK(wait_s >= 0.99 * said["wait_s"].get<double>() - 1e-3);
  std::uint64_t bytes = 0;
  for (const auto& batch : recording.batches) bytes += batch.io.read_bytes;
  CHECK(bytes == said["bytes"].get<std::uint64_t>());
  for (const auto& batch : recording.batches) {
    CHECK(batch.io.opens == 8);
    CHECK(batch.io.reads == 16);
    CHECK(batch.put_ns >= batch.end_ns);
    CHECK(batch.asked_ns <= batch.begin_ns);
    CHECK(batch.cpu_ns > 0);
    CHECK(batch.cpu_ns <= batch.end_ns - batch.begin_ns + 1'000'000);
  }
}

TEST_CASE("the job runs without stallcast, and without a run") {
  const TemporaryFolder data;
  CHECK(run_job(data, {.preload = false})["samples"] == 256);
  CHECK(run_job(data, {})["samples"] == 256);
}

}  // namespace stallcast::test
