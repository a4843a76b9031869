/// What a profile keeps of a storage probe.
#include "analyzer/storage/summary.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "tests/analyzer/storage/storage_simulation.hpp"

namespace stallcast::testing {
namespace {

SimulatedStorage limited() {
  SimulatedStorage storage;
  storage.latency_s = 0.2e-3;
  storage.ceiling_bytes_per_s = 20e6;
  return storage;
}

Storage probed(const SimulatedStorage& storage, double pause_s) {
  record::StorageRecording recording = simulate_probe(storage, 100e3, false);
  recording.files.path = "/data";
  if (pause_s > 0.0) add_pauses(storage, 100e3, 2, pause_s, recording);
  return storage_summary(recording);
}

struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("stallcast-storage-test-" + std::to_string(::getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

}  // namespace

TEST_CASE("no loader delivers more from storage than it gives for long") {
  Profile profile;
  profile.job.num_workers = 0;
  profile.dataset.bytes_per_sample = BytesPerSample(105e3);
  profile.storage.ceiling_bandwidth =
      Estimate<BytesPerSecond>{BytesPerSecond(20e6), BytesPerSecond(19.6e6), BytesPerSecond(20.4e6), 5};
  const auto with_supply = [&](double rate) {
    Profile p = profile;
    p.rates.supply_cold = Estimate<SamplesPerSecond>{SamplesPerSecond(rate), SamplesPerSecond(0.96 * rate),
                                                     SamplesPerSecond(1.04 * rate), 5};
    Point point;
    point.phase = "supply_cold";
    p.points.push_back(point);
    check_supply(p);
    return p;
  };
  const Profile saved = with_supply(258.0);
  REQUIRE_FALSE(saved.rates.supply_cold);
  CHECK(saved.rates.supply_cold.reason().find("it saves up while nobody reads") != std::string::npos);
  CHECK(saved.points.empty());
  const Profile lasts = with_supply(192.0);
  CHECK(lasts.rates.supply_cold);
  CHECK(lasts.points.size() == 1);
  profile.storage.ceiling_bandwidth = MeasuredEstimate<BytesPerSecond>::absent("not probed");
  CHECK(with_supply(258.0).rates.supply_cold);
}

TEST_CASE("the rates by reads in flight, and what they come to") {
  const Storage storage = probed(limited(), 0.0);
  CHECK(storage.path == "/data");
  CHECK(storage.read == "whole_file");
  CHECK(storage.read_size->value() == doctest::Approx(100e3).epsilon(0.05));
  REQUIRE(storage.rates.size() == 6);
  CHECK(storage.rates.front().in_flight == 1);
  REQUIRE(storage.ceiling_bandwidth);
  CHECK(storage.ceiling_bandwidth->mean.value() == doctest::Approx(20e6).epsilon(0.05));
  CHECK(storage.ceiling_rate->mean.value() == doctest::Approx(200.0).epsilon(0.05));
  CHECK_FALSE(storage.saved);  // nothing was read with pauses
}

TEST_CASE("a ceiling that a short probe does not reach is told by what the job itself read") {
  SimulatedStorage slow = limited();
  slow.latency_s = 8e-3;  // 11.8 MB/s alone, the ceiling's 20 with two
  record::StorageRecording recording = simulate_probe(slow, 100e3, false);
  std::erase_if(recording.windows, [](const record::StorageWindow& window) { return window.in_flight > 2; });
  REQUIRE(storage_summary(recording).rates.size() == 2);
  CHECK(storage_summary(recording).ceiling_bandwidth.reason().find("still rises") != std::string::npos);
  const auto with_job = [&](std::int64_t readers, double rate) {
    const Estimate<BytesPerSecond> of{BytesPerSecond(rate), BytesPerSecond(0.95 * rate), BytesPerSecond(1.05 * rate),
                                      9};
    return storage_summary(recording, JobReading{readers, of}).ceiling_bandwidth;
  };
  REQUIRE(with_job(4, 20e6));
  CHECK(with_job(4, 20e6)->mean.value() == doctest::Approx(20e6).epsilon(0.05));
  CHECK_FALSE(with_job(4, 40e6));  // it still rises
  CHECK_FALSE(with_job(2, 20e6));  // what the probe saw as well
  CHECK_FALSE(with_job(4, 5e6));   // something else keeps the job
}

Estimate<SamplesPerSecond> rate_within(double mean, double half) {
  return {SamplesPerSecond(mean), SamplesPerSecond((1.0 - half) * mean), SamplesPerSecond((1.0 + half) * mean), 5};
}

/// Samples of 100 KB.
Profile on_two_hosts(std::int64_t ranks, std::int64_t workers) {
  Profile profile;
  profile.job.num_workers = workers;
  profile.job.ranks_seen = static_cast<decltype(profile.job.ranks_seen)>(ranks);
  profile.host.hosts_seen = 2;
  profile.dataset.bytes_per_sample = BytesPerSample(100e3);
  return profile;
}

TEST_CASE("what a job read cold: of one host, by all of its workers") {
  CHECK_FALSE(job_reading(Profile{}));
  Profile profile = on_two_hosts(4, 3);
  profile.rates.cold = rate_within(200.0, 0.1);
  profile.rates.supply_cold = rate_within(400.0, 0.1);
  const auto seen = job_reading(profile);
  REQUIRE(seen);
  CHECK(seen->in_flight == 6);
  CHECK(seen->bandwidth.mean.value() == doctest::Approx(20e6));
  CHECK(seen->bandwidth.ci95_low.value() == doctest::Approx(18e6));
  profile.dataset.bytes_per_sample = Measured<BytesPerSample>::absent("not seen");
  CHECK_FALSE(job_reading(profile));
}

TEST_CASE("a job that waited for the storage alone tells more of it than a noisy probe") {
  Profile profile = on_two_hosts(2, 4);
  profile.resources.bytes_from_storage = Fraction(1.0);
  profile.rates.as_is = rate_within(360.0, 0.01);  // 180 a host: 18 MB/s, or 20 in the nine tenths of the time
  profile.resources.read =
      Estimate<SecondsPerSample>{SecondsPerSample(0.02), SecondsPerSample(0.019), SecondsPerSample(0.021), 50};
  const auto seen = job_reading(profile);
  REQUIRE(seen);
  CHECK(seen->waiting);
  CHECK(seen->in_flight == 4);
  CHECK(seen->bandwidth.mean.value() == doctest::Approx(18e6));  // what they got
  CHECK(seen->bandwidth.ci95_low.value() == doctest::Approx(0.99 * 18e6));
  CHECK(seen->bandwidth.ci95_high.value() == doctest::Approx(1.01 * 20e6));

  const auto as_found = [&](double stored, double samples_per_s) {
    Profile other = profile;
    other.resources.bytes_from_storage = Fraction(stored);
    other.rates.as_is = rate_within(samples_per_s, 0.01);
    return job_reading(other);
  };
  CHECK_FALSE(as_found(0.8, 360.0));  // some came from memory
  CHECK_FALSE(as_found(1.0, 300.0));  // a quarter of the time they did something else

  const record::StorageRecording recording = simulate_probe(limited(), 100e3, false);
  const Estimate<BytesPerSecond> of{BytesPerSecond(20e6), BytesPerSecond(19.8e6), BytesPerSecond(20.2e6), 50};
  const auto with = [&](bool waiting) {
    return *storage_summary(recording, JobReading{3, of, waiting}).ceiling_bandwidth;
  };
  CHECK(with(true).n == with(false).n + 50);  // one more point of the curve
  CHECK(with(true).mean.value() == doctest::Approx(20e6).epsilon(0.02));
}

TEST_CASE("what one reader alone waits for a first byte, and gets from there on") {
  const Storage storage = probed({}, 0.0);  // 1 ms, then 200 MB/s; opening a file takes 1 us
  REQUIRE(storage.first_byte);
  CHECK(storage.first_byte->mean.value() == doctest::Approx(1.001e-3).epsilon(0.02));
  CHECK(storage.first_byte->ci95_low <= storage.first_byte->mean);
  REQUIRE(storage.stream_bandwidth);
  CHECK(storage.stream_bandwidth->mean.value() == doctest::Approx(200e6).epsilon(0.03));
  CHECK_FALSE(storage_summary({}).first_byte);
}

TEST_CASE("a disk stands still while nobody reads; a token bucket saves it up") {
  SimulatedStorage disk = limited();
  SimulatedStorage bucket = limited();
  bucket.bucket_s = 0.1;
  REQUIRE(probed(disk, 0.05).saved);
  CHECK(*probed(disk, 0.05).saved < 0.15);
  CHECK(*probed(bucket, 0.05).saved > 0.9);
  bucket.bucket_s = 0.025;  // half a pause
  CHECK(*probed(bucket, 0.05).saved == doctest::Approx(0.5).epsilon(0.3));
}

TEST_CASE("who comes after a pause finds the storage idle") {
  SimulatedStorage bucket = limited();
  bucket.bucket_s = 0.1;
  const Storage storage = probed(bucket, 0.05);
  REQUIRE(storage.idle_read);
  CHECK(storage.idle_read->value() == doctest::Approx(0.2e-3 + 100e3 / 200e6).epsilon(0.3));
}

TEST_CASE("pauses in reads that did not come from storage tell nothing") {
  SimulatedStorage bucket = limited();
  bucket.bucket_s = 0.1;
  record::StorageRecording recording = simulate_probe(bucket, 100e3, false);
  recording.files.path = "/data";
  add_pauses(bucket, 100e3, 2, 0.05, recording);
  recording.windows.back().evidence.storage_bytes = 0.3 * recording.windows.back().bytes;
  const Storage storage = storage_summary(recording);
  REQUIRE(storage.ceiling_bandwidth);
  CHECK(storage.saved.reason() == "no cold reading with pauses was measured");
  CHECK(storage.idle_read.reason() == "too few reads came after a pause");
}

TEST_CASE("windows with pauses are no points of the curve") {
  const Storage plain = probed(limited(), 0.0);
  const Storage paused = probed(limited(), 0.05);
  REQUIRE(paused.rates.size() == plain.rates.size());
  for (std::size_t i = 0; i < plain.rates.size(); ++i) {
    CHECK(paused.rates[i].rate->mean.value() == plain.rates[i].rate->mean.value());
  }
}

TEST_CASE("nothing read cold: no rates, with the reason") {
  record::StorageRecording recording;
  recording.files.path = "/data";
  recording.gaps.push_back({record::StorageRead::whole_file, record::StorageState::cold, 0, "all of it is in memory"});
  const Storage storage = storage_summary(recording);
  CHECK(storage.rates.empty());
  CHECK(storage.ceiling_rate.reason() == "all of it is in memory");
  recording.gaps.clear();
  CHECK(storage_summary(recording).ceiling_rate.reason() == "no cold read was measured");
}

TEST_CASE("a file or two, read again and again from what the storage had saved up, tell no rate") {
  record::StorageRecording recording;
  recording.files.path = "/data";
  for (int round = 0; round < 12; ++round) {
    record::StorageWindow window;
    window.round = round;
    window.begin_s = 0.1 * round;
    window.stop_s = window.end_s = 0.2e-3;
    window.reads = 1.0;
    window.bytes = 97e3;
    window.evidence.storage_bytes = 97e3;
    window.progress = {{0.2e-3, 1.0, 97e3}};
    recording.windows.push_back(window);
  }
  const Storage storage = storage_summary(recording);
  CHECK(storage.rates.empty());
  CHECK(storage.ceiling_rate.reason().find("too short to tell a rate from a burst") != std::string::npos);
  for (record::StorageWindow& window : recording.windows) window.stop_s = window.end_s = window.progress[0].t_s = 0.01;
  CHECK(storage_summary(recording).rates.size() == 1);
}

TEST_CASE("an interval that holds 0 is no rate") {
  record::StorageRecording recording;
  recording.files.path = "/data";
  const double seconds[] = {0.001, 0.3, 0.001, 0.3, 0.001, 0.001};
  for (int round = 0; round < 6; ++round) {
    record::StorageWindow window;
    window.round = round;
    window.stop_s = window.end_s = seconds[round];
    window.reads = 4.0;
    window.bytes = round % 2 == 0 ? 400e3 : 40e3;
    window.evidence.storage_bytes = window.bytes;
    window.progress = {{window.end_s, window.reads, window.bytes}};
    recording.windows.push_back(window);
  }
  const Storage storage = storage_summary(recording);
  CHECK(storage.rates.empty());
  CHECK(storage.ceiling_rate.reason().find("differ too much") != std::string::npos);
}

TEST_CASE("what is kept beside the recordings comes back") {
  const Folder folder;
  std::vector<DataIssue> issues;
  CHECK(load_storage(folder.path, issues).path.empty());
  CHECK(issues.empty());

  Storage storage = probed(limited(), 0.05);
  storage.ceiling_rate = MeasuredEstimate<PerSecond>::absent("it still rises");
  REQUIRE(save_storage(storage, folder.path).ok());
  const Storage back = load_storage(folder.path, issues);
  CHECK(issues.empty());
  CHECK(back.path == storage.path);
  CHECK(back.rates.size() == storage.rates.size());
  CHECK(back.ceiling_bandwidth->mean.value() == doctest::Approx(storage.ceiling_bandwidth->mean.value()));
  CHECK(back.ceiling_rate.reason() == "it still rises");
  CHECK(back.idle_read->value() == doctest::Approx(storage.idle_read->value()));
  CHECK(*back.saved == doctest::Approx(*storage.saved));

  std::ofstream(folder.path / "storage.json") << "{\"path\": 3";
  CHECK(load_storage(folder.path, issues).path.empty());
  REQUIRE(issues.size() == 1);
  CHECK(issues.front().id == "torn-storage");
}

}  // namespace stallcast::testing
