/// Storage whose latency, bandwidth and ceilings are known must be read back from what a probe sees of it.
#include "analyzer/storage/fit.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "analyzer/storage/probe_result.hpp"
#include "tests/analyzer/storage/storage_simulation.hpp"
#include "tests/schema_check.hpp"

namespace stallcast::testing {
namespace {

using nlohmann::json;
using record::StorageRead;

template <class Q>
double error_of(const MeasuredEstimate<Q>& estimate, double truth) {
  return estimate ? std::fabs(estimate->mean.value() / truth - 1.0) : std::numeric_limits<double>::infinity();
}

bool is_valid(const json& document) {
  static const SchemaCheck check(STALLCAST_STORAGE_SCHEMA);
  return check.is_valid(document);
}

const StoragePoint* find(const StorageProfile& profile, const std::string& read, int in_flight) {
  for (const StoragePoint& point : profile.points) {
    if (point.read == read && point.in_flight == in_flight) return &point;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("latency, stream bandwidth and the ceiling of bytes are recovered within 5 %") {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    for (const double noise : {0.0, 0.4}) {
      SimulatedStorage storage;
      storage.ceiling_bytes_per_s = 500e6;
      storage.noise = noise;
      storage.seed = seed;
      const StorageFit fit = analyze_storage(simulate_probe(storage, 100e3, true)).fit;
      CHECK(error_of(fit.latency, 1e-3) < 0.05);
      CHECK(error_of(fit.stream_bandwidth, 200e6) < 0.05);
      CHECK(error_of(fit.ceiling_bytes, 500e6) < 0.05);
      REQUIRE(fit.residual_frac);
      CHECK(*fit.residual_frac < 0.1);
    }
  }
}

TEST_CASE("small files behind a limit of reads: their number is the ceiling, and bytes are not told") {
  SimulatedStorage storage;
  storage.ceiling_reads_per_s = 5000.0;
  const StorageFit fit = analyze_storage(simulate_probe(storage, 20e3, false)).fit;
  CHECK(error_of(fit.ceiling_files, 5000.0) < 0.05);
  CHECK(error_of(fit.ceiling_reads, 5000.0) < 0.05);
  CHECK_FALSE(fit.ceiling_bytes);
  CHECK(fit.ceiling_bytes.reason().find("number of these files") != std::string::npos);
}

TEST_CASE("files behind a limit of bytes: their number is not told") {
  SimulatedStorage storage;
  storage.ceiling_bytes_per_s = 100e6;
  const StorageFit fit = analyze_storage(simulate_probe(storage, 100e3, false)).fit;
  CHECK(error_of(fit.ceiling_bytes, 100e6) < 0.05);
  CHECK_FALSE(fit.ceiling_files);
  CHECK(fit.ceiling_files.reason().find("the bytes of these files are the limit before their number is") == 0);
}

TEST_CASE("a throttle that lets a burst through after each pause does not raise the ceiling") {
  for (const double bucket_s : {0.02, 0.1}) {
    SimulatedStorage storage;
    storage.latency_s = 1e-4;
    storage.ceiling_bytes_per_s = 50e6;
    storage.bucket_s = bucket_s;
    const StorageFit fit = analyze_storage(simulate_probe(storage, 100e3, true)).fit;
    CHECK(error_of(fit.ceiling_bytes, 50e6) < 0.05);
  }
}

TEST_CASE("a throttle that lets bursts through every 100 ms is read at its rate") {
  SimulatedStorage storage;
  storage.latency_s = 1e-4;
  storage.ceiling_reads_per_s = 1000.0;
  storage.bucket_s = 0.1;
  storage.tick_s = 0.1;
  const StorageFit fit = analyze_storage(simulate_probe(storage, 20e3, false, 6, 0.45)).fit;
  CHECK(error_of(fit.ceiling_files, 1000.0) < 0.05);
  CHECK(error_of(fit.ceiling_reads, 1000.0) < 0.05);
}

TEST_CASE("one low point does not hide a plateau, and a rise is none") {
  const auto series = [](std::initializer_list<double> means) {
    std::vector<FlightRate> rates;
    double in_flight = 1.0;
    for (const double mean : means) {
      rates.push_back({in_flight, {mean, 0.99 * mean, 1.01 * mean, 4}});
      in_flight *= 2.0;
    }
    return rates;
  };
  const auto plateau = ceiling_of(series({1000.0, 1005.0, 880.0, 1010.0}));
  REQUIRE(plateau);
  CHECK(plateau->mean == doctest::Approx(1005.0).epsilon(0.01));
  std::vector<FlightRate> noisy = series({1000.0, 1005.0, 1002.0});
  noisy.push_back({8.0, {1400.0, 300.0, 2500.0, 2}});
  REQUIRE(ceiling_of(noisy));
  CHECK(ceiling_of(noisy)->mean == doctest::Approx(1003.0).epsilon(0.01));
  // What is hardly known of more in flight does not say that they bring no more.
  CHECK_FALSE(ceiling_of(std::vector<FlightRate>{{1.0, {700.0, 690.0, 710.0, 9}}, {4.0, {760.0, 100.0, 1400.0, 2}}}));
  CHECK(ceiling_of(std::vector<FlightRate>{{1.0, {700.0, 690.0, 710.0, 9}}, {4.0, {760.0, 500.0, 1000.0, 2}}}));
  // The best of rates that are hardly known is the luckiest one.
  const std::vector<FlightRate> lucky = {
      {2.0, {5.98, 3.94, 8.03, 3}}, {4.0, {5.0, 3.23, 6.78, 4}}, {8.0, {5.0, 1.41, 8.58, 3}}};
  REQUIRE(ceiling_of(lucky));
  CHECK(ceiling_of(lucky)->mean == doctest::Approx(5.37).epsilon(0.01));
  CHECK(ceiling_of(lucky)->ci95_low < 4.0);
  CHECK_FALSE(ceiling_of(series({100.0, 200.0, 400.0, 800.0})));
  CHECK_FALSE(ceiling_of(series({100.0})));
  const auto bends = ceiling_of(series({100.0, 190.0, 345.0, 300.0}));  // retrograde: the best is the ceiling
  REQUIRE(bends);
  CHECK(bends->mean == doctest::Approx(345.0));
}

TEST_CASE("a ceiling that was not reached is absent, and says how far it went") {
  const StorageFit fit = analyze_storage(simulate_probe({}, 100e3, false)).fit;
  CHECK_FALSE(fit.ceiling_bytes);
  CHECK(fit.ceiling_bytes.reason().find("not reached: with") == 0);
  CHECK(error_of(fit.latency, 1e-3) < 0.05);
}

/// Three windows of 0.2 s for each number in flight: files opened at n / 1 ms, and `most` a second at most, each for
/// `cpu_s` of this machine.
void add_metadata(double most, double cpu_s, record::StorageRecording& recording) {
  for (int round = 1; round <= 3; ++round) {
    for (int in_flight = 1; in_flight <= 32; in_flight *= 2) {
      const double rate = std::min(1000.0 * in_flight, most) * (1.0 + 0.01 * (round - 2));
      record::StorageWindow window;
      window.read = record::StorageRead::metadata;
      window.state = record::StorageState::resident;
      window.in_flight = in_flight;
      window.round = round;
      for (double t_s = 0.002; t_s <= 0.2; t_s += 0.002) {
        window.progress.push_back({t_s, std::floor(rate * t_s), 0.0});
        window.sampled.push_back({t_s, 0.0, in_flight / rate});
      }
      window.reads = window.progress.back().reads;
      window.stop_s = window.end_s = 0.2;
      window.cpu_s = window.reads * cpu_s;
      recording.windows.push_back(window);
    }
  }
}

TEST_CASE("how many files can be opened is a ceiling of its own, unless the machine's cores are what limits it") {
  record::StorageRecording recording = simulate_probe({}, 20e3, false);
  add_metadata(6000.0, 10e-6, recording);
  StorageProfile profile = analyze_storage(recording);
  CHECK(error_of(profile.fit.ceiling_metadata, 6000.0) < 0.03);
  const auto alone = std::find_if(profile.points.begin(), profile.points.end(), [](const StoragePoint& point) {
    return point.read == "metadata" && point.in_flight == 1;
  });
  REQUIRE(alone != profile.points.end());
  CHECK(error_of(alone->rate, 1000.0) < 0.03);
  CHECK(alone->bandwidth.reason() == "no bytes are read");
  CHECK(alone->premises.empty());

  recording = simulate_probe({}, 20e3, false);
  add_metadata(6000.0, 3.0 / 6000.0, recording);  // three of four cores
  profile = analyze_storage(recording);
  REQUIRE_FALSE(profile.fit.ceiling_metadata);
  CHECK(profile.fit.ceiling_metadata.reason().find("cores busy") != std::string::npos);
  CHECK(analyze_storage(simulate_probe({}, 20e3, false)).fit.ceiling_metadata.reason() ==
        "no such reads were measured");
}

TEST_CASE("reads of one size cannot tell latency from bandwidth") {
  record::StorageRecording recording = simulate_probe({}, 100e3, false);
  std::erase_if(recording.windows, [](const auto& window) { return window.read == StorageRead::whole_file; });
  const StorageFit fit = analyze_storage(recording).fit;
  CHECK_FALSE(fit.latency);
  CHECK(fit.latency.reason().find("one size") != std::string::npos);
  CHECK(fit.residual_frac.reason() == "no stream was fitted");
}

TEST_CASE("where nothing was read the fit says so") {
  CHECK(analyze_storage({}).fit.latency.reason() == "no single stream was measured");
}

TEST_CASE("a window whose premise fails is left out; a point with no other is absent with the reason") {
  record::StorageRecording recording = simulate_probe({}, 100e3, false);
  for (record::StorageWindow& window : recording.windows) {
    if (window.read != StorageRead::whole_file) continue;
    if (window.in_flight == 2) window.evidence.storage_bytes = 0.1 * window.bytes;
    if (window.in_flight == 4) window.evidence.pages_resident = 100;
    if (window.in_flight == 8 && window.round == 1) {
      window.evidence.pages_resident = 900;
      for (auto& row : window.progress) row.bytes *= 10.0;  // memory is fast
    }
  }
  const StorageProfile profile = analyze_storage(recording);
  CHECK_FALSE(find(profile, "whole_file", 2)->rate);
  CHECK(find(profile, "whole_file", 2)->rate.reason().find("from storage") != std::string::npos);
  CHECK_FALSE(find(profile, "whole_file", 4)->rate);
  CHECK(find(profile, "whole_file", 4)->rate.reason().find("in memory") != std::string::npos);
  REQUIRE(find(profile, "whole_file", 8)->bandwidth);
  CHECK(error_of(find(profile, "whole_file", 8)->bandwidth, 8 * 100e3 / 1.5e-3) < 0.05);
}

TEST_CASE("a rate that falls while it is measured is a burst that ran out") {
  SimulatedStorage fast;
  fast.ceiling_bytes_per_s = 100e6;
  SimulatedStorage slow = fast;
  slow.ceiling_bytes_per_s = 30e6;
  record::StorageRecording recording = simulate_probe(fast, 100e3, false, 2);
  const record::StorageRecording later = simulate_probe(slow, 100e3, false, 2);
  CHECK(analyze_storage(simulate_probe(fast, 100e3, false, 4)).issues.empty());
  recording.windows.insert(recording.windows.end(), later.windows.begin(), later.windows.end());
  const StorageProfile profile = analyze_storage(recording);
  REQUIRE(profile.issues.size() == 1);
  CHECK(profile.issues[0].id == "storage-burst");
}

TEST_CASE("the scalability law is read back from rates that follow it, and never below zero") {
  const UslFit truth{1000.0, 0.05, 0.002, 0.0};
  std::vector<FlightRate> rates;
  for (const double n : {1.0, 2.0, 4.0, 8.0, 16.0, 32.0})
    rates.push_back({n, {truth.rate(n), truth.rate(n), truth.rate(n), 4}});
  const auto fit = fit_usl(rates);
  REQUIRE(fit);
  CHECK(fit->per_stream == doctest::Approx(1000.0));
  CHECK(fit->contention == doctest::Approx(0.05));
  CHECK(fit->coherence == doctest::Approx(0.002));
  for (FlightRate& rate : rates) rate.rate.mean = 1000.0 * std::pow(rate.in_flight, 1.1);  // better than linear
  const auto linear = fit_usl(rates);
  REQUIRE(linear);
  CHECK(linear->contention >= 0.0);
  CHECK(linear->coherence >= 0.0);
}

TEST_CASE("scaling all times by k scales rates by 1/k") {
  SimulatedStorage storage;
  storage.ceiling_bytes_per_s = 300e6;
  SimulatedStorage slower;
  slower.latency_s = 2e-3;
  slower.stream_bandwidth_bytes_per_s = 100e6;
  slower.ceiling_bytes_per_s = 150e6;
  const StorageFit one = analyze_storage(simulate_probe(storage, 100e3, true, 3, 0.5)).fit;
  const StorageFit two = analyze_storage(simulate_probe(slower, 100e3, true, 3, 1.0)).fit;
  REQUIRE((one.latency && two.latency && one.ceiling_bytes && two.ceiling_bytes));
  CHECK(two.latency->mean.value() == doctest::Approx(2.0 * one.latency->mean.value()).epsilon(0.03));
  CHECK(two.ceiling_bytes->mean.value() == doctest::Approx(one.ceiling_bytes->mean.value() / 2.0).epsilon(0.03));
}

TEST_CASE("the JSON keeps to its schema, with what is absent and with names that are no UTF-8") {
  SimulatedStorage storage;
  storage.ceiling_bytes_per_s = 300e6;
  StorageProfile profile = analyze_storage(simulate_probe(storage, 100e3, true));
  profile.path = "/data/\xff\n";
  json document = to_json(profile);
  CHECK(is_valid(document));
  CHECK_FALSE(document.dump().empty());
  CHECK(document["fit"]["ceiling_bytes_per_s"]["mean"].is_number());
  const json empty = to_json(analyze_storage({}));
  CHECK(is_valid(empty));
  CHECK(empty["fit"]["latency_s"].is_null());
  CHECK_FALSE(empty["absent"]["fit.latency_s"].get<std::string>().empty());
  document["fit"]["latency_s"] = 3.0;
  CHECK_FALSE(is_valid(document));
  document = empty;
  document.erase("points");
  CHECK_FALSE(is_valid(document));
}

}  // namespace stallcast::testing
