#include "model/analytic/read_ahead.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace stallcast::read_ahead {
namespace {

constexpr double k_mib = 1048576.0;

/// Shards of 10 MB, samples of 100 KB, read ahead by up to 8 MiB in one piece.
Reader reader(double storage_s, double own_s) {
  return {.shard_bytes = 10e6,
          .sample_bytes = 100e3,
          .read_ahead_bytes = 8.0 * k_mib,
          .at_once_bytes = 8.0 * k_mib,
          .storage_s = storage_s,
          .own_s = own_s};
}

TEST_CASE("the worked example") {
  Reader whole = reader(5e-3, 5e-3);
  CHECK(sample_s(whole) == doctest::Approx(7.1e-3).epsilon(0.01));
  whole.at_once_bytes = 65536.0;
  CHECK(sample_s(whole) == doctest::Approx(5.1e-3).epsilon(0.01));
}

TEST_CASE("a reader is never faster than storage or itself, and never slower than one after the other") {
  for (const double shard : {1e5, 1e6, 10e6, 300e6}) {
    for (const double ahead : {128.0 * 1024.0, 8.0 * k_mib}) {
      for (const double at_once : {65536.0, k_mib, 8.0 * k_mib}) {
        for (const double own_s : {0.0, 1e-3, 5e-3, 20e-3}) {
          Reader read = reader(5e-3, own_s);
          read.shard_bytes = shard;
          read.read_ahead_bytes = ahead;
          read.at_once_bytes = at_once;
          const double seconds = sample_s(read);
          CHECK(seconds >= std::max(5e-3, own_s) * (1.0 - 1e-9));
          CHECK(seconds <= (5e-3 + own_s) * (1.0 + 1e-9));
        }
      }
    }
  }
}

TEST_CASE("of shards of many windows nearly all overlaps") {
  Reader read = reader(5e-3, 5e-3);
  read.shard_bytes = 1e9;
  CHECK(sample_s(read) < 5.3e-3);
}

TEST_CASE("a pause between batches is as good as computing, where windows are longer than batches") {
  Reader read = reader(5e-3, 2.5e-3);
  read.batch = 8.0;
  read.pause_s = 20e-3;
  CHECK(sample_s(read) == doctest::Approx(sample_s(reader(5e-3, 5e-3))).epsilon(0.03));
}

TEST_CASE("what a storage saves up in short pauses is there at once") {
  Reader read = reader(5e-3, 2.5e-3);  // idles for 60 ms of each shard
  CHECK(sample_s(read) > 5.5e-3);
  read.saving_pause_s = 0.1;
  CHECK(sample_s(read) == doctest::Approx(5e-3).epsilon(0.001));
  read.own_s = 5e-3;  // for 0.2 s
  CHECK(sample_s(read) == doctest::Approx(7.1e-3).epsilon(0.01));
}

/// Measured: Linux 6.18, ext4, blkio.throttle.read_bps_device, read_ahead_kb 8192, 8 files of 10 MB each.
TEST_CASE("what a throttled disk gave") {
  struct Seen {
    double megabytes_per_s;
    double own_s;
    double sample_bytes;
    double batch;
    double pause_s;
    double took_s;
  };
  for (const Seen& seen : {Seen{20, 0.001, 100e3, 1000, 0, 4.997e-3}, Seen{20, 0.0025, 100e3, 1000, 0, 4.998e-3},
                           Seen{20, 0.005, 100e3, 1000, 0, 7.161e-3}, Seen{20, 0.008, 100e3, 1000, 0, 9.080e-3},
                           Seen{20, 0.0025, 100e3, 8, 0.02, 7.200e-3}, Seen{10, 0.002, 20e3, 32, 0.04, 3.670e-3},
                           Seen{10, 0.003, 20e3, 1000, 0, 3.467e-3}, Seen{40, 0.0025, 100e3, 1000, 0, 2.525e-3}}) {
    CAPTURE(seen.took_s);
    Reader read = reader(seen.sample_bytes / (1e6 * seen.megabytes_per_s), seen.own_s);
    read.sample_bytes = seen.sample_bytes;
    read.batch = seen.batch;
    read.pause_s = seen.pause_s;
    read.saving_pause_s = 0.1;
    CHECK(sample_s(read) == doctest::Approx(seen.took_s).epsilon(0.02));
  }
}

TEST_CASE("what storage takes is found again from what was measured") {
  for (const double own_s : {1e-3, 4e-3}) {
    for (const double storage_s : {2e-3, 5e-3, 9e-3}) {
      const Reader read = reader(storage_s, own_s);
      CHECK(storage_s_of(read, sample_s(read)) == doctest::Approx(storage_s).epsilon(0.01));
    }
  }
  CHECK(storage_s_of(reader(5e-3, 5e-3), 4e-3) == 0.0);  // the reader alone takes longer
}

}  // namespace
}  // namespace stallcast::read_ahead
