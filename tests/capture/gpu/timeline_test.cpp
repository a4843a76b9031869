#include "probes/capture/gpu/timeline.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace stallcast::gpu {
namespace {

constexpr std::uint64_t k_ms = 1'000'000;
constexpr std::uint64_t k_begin = 1'000 * k_ms;

Interval work(Activity what, double from_ms, double to_ms, std::uint64_t bytes = 0, bool pageable = false) {
  Interval interval;
  interval.what = what;
  interval.kernel = what == Activity::compute;
  interval.begin_ns = k_begin + static_cast<std::uint64_t>(from_ms * 1e6);
  interval.end_ns = k_begin + static_cast<std::uint64_t>(to_ms * 1e6);
  interval.bytes = bytes;
  interval.pageable = pageable;
  return interval;
}

std::uint64_t total(const std::vector<Bins>& runs, std::uint64_t Bin::*of) {
  std::uint64_t sum = 0;
  for (const Bins& bins : runs) {
    for (const Bin& bin : bins.bins) sum += bin.*of;
  }
  return sum;
}

TEST_CASE("the worked example: what overlaps counts once, a copy behind a kernel is hidden") {
  Timeline timeline(k_begin);
  timeline.add(work(Activity::compute, 0.0, 0.8));
  timeline.add(work(Activity::compute, 0.5, 1.0));
  timeline.add(work(Activity::copy_in, 0.9, 1.4, 4096, true));
  const auto runs = timeline.settle(k_begin + 200 * k_ms);
  REQUIRE(runs.size() == 1);
  REQUIRE(runs[0].bins.size() == 1);
  const Bin& bin = runs[0].bins[0];
  CHECK(runs[0].begin_ns == k_begin);
  CHECK(runs[0].width_ns == 2 * k_ms);
  CHECK(bin.busy_ns == 1'000'000);
  CHECK(bin.copy_in_ns == 500'000);
  CHECK(bin.exposed_ns == 400'000);
  CHECK(bin.any_ns == 1'400'000);
  CHECK(bin.bytes_in == 4096);
  CHECK(bin.pageable_bytes == 4096);
  CHECK(bin.kernels == 2);
}

TEST_CASE("a kernel over many bins and over the horizon is counted once") {
  Timeline timeline(k_begin);
  timeline.add(work(Activity::compute, 150.0, 450.0));
  const auto first = timeline.settle(k_begin + 399 * k_ms);  // rounded down to 200
  CHECK(timeline.settled_ns() == k_begin + 200 * k_ms);
  CHECK(total(first, &Bin::busy_ns) == 50 * k_ms);
  CHECK(timeline.pending() == 1);
  const auto second = timeline.settle(k_begin + 600 * k_ms);
  CHECK(total(second, &Bin::busy_ns) == 250 * k_ms);
  CHECK(timeline.pending() == 0);
  std::uint32_t kernels = 0;
  for (const auto& runs : {first, second}) {
    for (const Bins& bins : runs) {
      for (const Bin& bin : bins.bins) kernels += bin.kernels;
    }
  }
  CHECK(kernels == 1);
}

TEST_CASE("what comes late is cut and counted, what is malformed is left out") {
  Timeline timeline(k_begin);
  static_cast<void>(timeline.settle(k_begin + 200 * k_ms));
  timeline.add(work(Activity::compute, 190.0, 210.0));
  timeline.add(work(Activity::compute, 100.0, 120.0));  // all of it before
  CHECK(timeline.late() == 2);
  CHECK(total(timeline.settle(k_begin + 400 * k_ms), &Bin::busy_ns) == 10 * k_ms);
}

TEST_CASE("devices are apart, idle stretches cost nothing, bins become wider") {
  Timeline timeline(k_begin, 3);
  Interval other = work(Activity::compute, 0.0, 1.0);
  other.device = 3;
  timeline.add(other);
  timeline.add(work(Activity::compute, 0.0, 1.0));
  timeline.add(work(Activity::compute, 180.0, 181.0));
  const auto runs = timeline.settle(k_begin + 200 * k_ms);
  REQUIRE(runs.size() == 3);
  CHECK(runs[0].bins.size() == 1);
  CHECK(runs[1].begin_ns == k_begin + 180 * k_ms);
  CHECK(runs[2].device == 3);
  timeline.add(work(Activity::compute, 205.0, 206.0));
  CHECK(timeline.settle(k_begin + 400 * k_ms)[0].width_ns == 20 * k_ms);
  // However long nothing happens, bins stay as they are; three more with something in them make them wider.
  for (unsigned i = 2; i < 25; ++i) CHECK(timeline.settle(k_begin + 200 * k_ms * i).empty());
  timeline.add(work(Activity::compute, 5'000.0, 5'041.0));
  CHECK(timeline.settle(k_begin + 5'200 * k_ms)[0].width_ns == 20 * k_ms);
  timeline.add(work(Activity::compute, 6'000.0, 6'001.0));
  CHECK(timeline.settle(k_begin + 6'200 * k_ms)[0].width_ns == 200 * k_ms);
}

TEST_CASE("a month between two windows is no memory") {
  Timeline timeline(k_begin);
  const std::uint64_t month = 30ULL * 24 * 3'600'000 * k_ms;
  CHECK(timeline.settle(k_begin + month).empty());
  Interval late = work(Activity::compute, 0.0, 1.0);
  late.begin_ns += 2 * month;
  late.end_ns += 2 * month;
  timeline.add(late);
  const auto runs = timeline.settle(k_begin + 2 * month + 200 * k_ms);
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].begin_ns == late.begin_ns / (2 * k_ms) * (2 * k_ms));
  CHECK(total(runs, &Bin::busy_ns) == k_ms);
}

/// Busy, exposed and any by brute force, a microsecond at a time.
TEST_CASE("unions against counting every microsecond") {
  std::mt19937 random(5);
  for (int trial = 0; trial < 20; ++trial) {
    Timeline timeline(k_begin);
    std::vector<int> what(400'000, 0);  // of 400 ms
    for (int i = 0; i < 300; ++i) {
      const auto kind = static_cast<Activity>(random() % 4);
      const std::size_t from = random() % 390'000;
      const std::size_t to = from + random() % 9'000;
      timeline.add(work(kind, static_cast<double>(from) / 1e3, static_cast<double>(to) / 1e3));
      for (std::size_t at = from; at < to; ++at) what[at] |= 1 << static_cast<int>(kind);
    }
    std::vector<Bins> runs = timeline.settle(k_begin + 200 * k_ms);
    const auto rest = timeline.settle(k_begin + 400 * k_ms);
    runs.insert(runs.end(), rest.begin(), rest.end());
    const auto counted = [&](auto holds) {
      return static_cast<std::uint64_t>(std::count_if(what.begin(), what.end(), holds)) * 1000;
    };
    // from_ms * 1e6 may round down by a nanosecond an edge.
    const auto near = [](std::uint64_t a, std::uint64_t b) { return (a > b ? a - b : b - a) < 1000; };
    CHECK(near(total(runs, &Bin::busy_ns), counted([](int w) { return (w & 1) != 0; })));
    CHECK(near(total(runs, &Bin::copy_in_ns), counted([](int w) { return (w & 2) != 0; })));
    CHECK(near(total(runs, &Bin::exposed_ns), counted([](int w) { return (w & 3) == 2; })));
    CHECK(near(total(runs, &Bin::any_ns), counted([](int w) { return (w & 7) != 0; })));
    CHECK(near(total(runs, &Bin::wait_ns), counted([](int w) { return (w & 8) != 0; })));
    for (const Bins& bins : runs) {
      for (const Bin& bin : bins.bins) CHECK(bin.any_ns <= bins.width_ns);
    }
  }
}

}  // namespace
}  // namespace stallcast::gpu
