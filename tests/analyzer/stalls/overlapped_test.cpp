/// Loaders of threads (tf.data, DALI): waits are measured, and what they were for is told only where it is seen.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "analyzer/analyze.hpp"
#include "analyzer/profile/json.hpp"
#include "analyzer/steps/steady.hpp"
#include "tests/analyzer/run_builder.hpp"

namespace stallcast {
namespace {

using namespace synthetic;

constexpr double k_read_per_tick = 1e9;

/// The run as it would be recorded of a loader that says `composition` of itself and marks no batch's making. `stored`:
/// of what the process reads, from storage.
RunData run_of(const char* composition, double stored, const JobSpec& spec = fetch_bound(),
               std::uint64_t file_bytes = std::uint64_t{1} << 32, const char* kind = "tf.data") {
  RunData run = make_recordings(spec);
  run.processes.resize(1);
  record::ProcessRecording& consumer = run.processes.front();
  consumer.batches.clear();
  record::FileRecord shard{};
  shard.file_id = 7;
  shard.begin_ns = consumer.waits[1].begin_ns;
  shard.read_bytes = file_bytes;
  consumer.files = {shard};
  for (record::TextEntry& entry : consumer.texts) {
    if (entry.kind != record::TextKind::loader) continue;
    nlohmann::json text = nlohmann::json::parse(entry.json);
    text["kind"] = kind;
    text["composition"] = composition;
    text["num_workers"] = nullptr;
    text["prefetch_factor"] = nullptr;
    entry.json = text.dump();
  }
  std::int64_t ticks = 0;
  for (Tick& tick : run.log.ticks) {
    ++ticks;
    for (ProcessTick& process : tick.processes) {
      process.rchar = ticks * static_cast<std::int64_t>(k_read_per_tick);
      process.read_bytes = static_cast<std::int64_t>(stored * static_cast<double>(process.rchar));
    }
  }
  join_run(run);
  return run;
}

}  // namespace

TEST_CASE("the law is the loader's to say, and torch's workers are serial") {
  CHECK(analyze_run(make_run(fetch_bound())).job.composition == "serial");
  CHECK(analyze_run(run_of("overlapped", 1.0)).job.composition == "overlapped");
  CHECK(analyze_run(run_of("unknown", 1.0)).job.composition == "unknown");
  CHECK(analyze_run(run_of("something else", 1.0)).job.composition == "serial");
}

TEST_CASE("the law is kept in profile.json, and files without it are of serial loaders") {
  auto json = to_json(analyze_run(run_of("overlapped", 1.0)));
  CHECK(json["job"]["composition"] == "overlapped");
  const auto read = profile_from_json(json);
  REQUIRE(read.ok());
  CHECK(read.value().job.composition == "overlapped");
  json["job"].erase("composition");
  const auto older = profile_from_json(json);
  REQUIRE(older.ok());
  CHECK(older.value().job.composition == "serial");
}

TEST_CASE("waiting is measured, its division absent with the reason") {
  const Profile serial = analyze_run(make_run(fetch_bound()));
  const Profile p = analyze_run(run_of("overlapped", 1.0));
  CHECK(near(p.stalls.as_is_wait->mean, serial.stalls.as_is_wait->mean, 0.02));
  CHECK(near(p.rates.as_is->mean.value(), serial.rates.as_is->mean.value(), 0.02));
  for (const auto* stall : {&p.stalls.as_is_prep, &p.stalls.as_is_fetch, &p.stalls.prep, &p.stalls.fetch,
                            &p.stalls.as_is_receive, &p.stalls.as_is_interference}) {
    REQUIRE_FALSE(stall->has_value());
    CHECK(stall->reason().find("side by side") != std::string::npos);
  }
  CHECK_FALSE(p.rates.cached.has_value());
  CHECK_FALSE(p.rates.cold.has_value());
  CHECK(*p.resources.bytes_from_storage == doctest::Approx(1.0));
}

TEST_CASE("where nothing came from storage, all waiting is prep") {
  const Profile p = analyze_run(run_of("overlapped", 0.001));
  CHECK(*p.resources.bytes_from_storage == doctest::Approx(0.001));
  CHECK(p.stalls.as_is_fetch->mean == 0.0);
  CHECK(p.stalls.as_is_fetch->ci95_high > 0.0);
  CHECK(p.stalls.as_is_prep->mean == p.stalls.as_is_wait->mean);
  CHECK(p.rates.cached->mean == p.rates.as_is->mean);
  CHECK_FALSE(p.stalls.prep.has_value());  // of a cold step, which nobody saw
}

TEST_CASE("files that are mapped leave open what was read") {
  RunData run = run_of("overlapped", 0.5);
  run.processes.front().info.mapped_bytes = std::uint64_t{1} << 50;
  const Profile p = analyze_run(run);
  CHECK_FALSE(p.resources.bytes_from_storage.has_value());
  CHECK(p.resources.bytes_from_storage.reason().find("maps") != std::string::npos);
  // Weights that are mapped, and files that are read by threads: what these read is told by the process.
  run.processes.front().info.mapped_bytes = 20'000'000;
  CHECK(analyze_run(run).resources.bytes_from_storage.has_value());
}

TEST_CASE("where hardly a file is read, the data may come over the network, and nothing is said of storage") {
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{10'000}}) {
    const Profile p = analyze_run(run_of("overlapped", 0.0, fetch_bound(), bytes));
    CHECK(p.resources.bytes_from_storage.reason() ==
          "hardly a file was seen being read: maps and the network are read unseen");
    CHECK_FALSE(p.stalls.as_is_fetch.has_value());
  }
  // Read before the first batch: vocabularies, checkpoints.
  RunData run = run_of("overlapped", 0.0);
  run.processes.front().files.front().begin_ns = run.processes.front().waits.front().begin_ns - 1;
  CHECK_FALSE(analyze_run(run).resources.bytes_from_storage.has_value());
}

TEST_CASE("where nobody could read what the training process reads, its share from storage is not known") {
  RunData run = run_of("overlapped", 0.5);
  REQUIRE(analyze_run(run).resources.bytes_from_storage.has_value());
  for (Tick& tick : run.log.ticks) {
    for (ProcessTick& process : tick.processes) process.rchar = process.read_bytes = -1;
  }
  CHECK(analyze_run(run).resources.bytes_from_storage.reason() ==
        "/proc/PID/io of a process that trains could not be read");
}

TEST_CASE("the steps' own rate is what they take between waits, where the loader leaves them their cores") {
  JobSpec spec = fetch_bound();
  const Profile p = analyze_run(run_of("overlapped", 1.0, spec));
  REQUIRE(p.rates.synthetic.has_value());
  CHECK(near(p.rates.synthetic->mean.value(), spec.batch_size / spec.device_s, 0.05));
  spec.host_s = 0.02;
  RunData busy = run_of("overlapped", 1.0, spec);
  busy.log.host->usable_cpus = 1e-4;
  CHECK(analyze_run(busy).rates.synthetic.reason().find("cores") != std::string::npos);
}

TEST_CASE("both ends of a pass are left out") {
  const RunData run = run_of("overlapped", 1.0);
  const SteadyWindow window = steady_window(run.consumers.front());
  const auto& first = *window.steps.front().delivery;
  CHECK(first.wait.batch >= 8);
  CHECK(window.steps.back().delivery->wait.batch + 10 < static_cast<std::uint64_t>(window.deliveries));
}

TEST_CASE("a loop whose loader nobody knows says what to say") {
  const Profile p = analyze_run(run_of("unknown", 1.0, fetch_bound(), std::uint64_t{1} << 32, "python"));
  CHECK(p.stalls.as_is_wait.has_value());
  CHECK(p.stalls.as_is_prep.reason().find("workers=0") != std::string::npos);
  const Profile grain = analyze_run(run_of("unknown", 1.0, fetch_bound(), std::uint64_t{1} << 32, "grain"));
  CHECK(grain.stalls.as_is_prep.reason().find("processes of the loader's own (grain)") != std::string::npos);
  CHECK(grain.resources.worker_wall.reason() ==
        "batches are made by processes of the loader's own, and their making is not recorded");
  CHECK(p.resources.worker_wall.reason() == "too few batches with a record of their making");
}

}  // namespace stallcast
