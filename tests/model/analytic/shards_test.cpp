#include "model/analytic/shards.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "model/job/read_requests.hpp"

using namespace stallcast;
using namespace stallcast::shards;

namespace {

constexpr Stream k_published{1e-3, 1e9};

TEST_CASE("the published check: 1004 us become 5 us, a factor of 200") {
  CHECK(file_s(4e3, k_published) == doctest::Approx(1004e-6));
  CHECK(shard_s(4e3, 4e6, k_published) == doctest::Approx(5e-6));
  CHECK(file_s(4e3, k_published) / shard_s(4e3, 4e6, k_published) == doctest::Approx(200.0).epsilon(0.005));
  CHECK(shard_s(4e3, 4e3, k_published) == doctest::Approx(file_s(4e3, k_published)));  // one sample a shard
}

/// An epoch of chunk-wise shuffle, played: the order of samples, and what it cost to read.
struct Played {
  std::vector<int> order{};
  double seconds = 0.0;
  double most_bytes = 0.0;  ///< that were held at once
};

Played play(int samples, double sample_bytes, int in_a_shard, int group, const Stream& stream, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int> order((samples + in_a_shard - 1) / in_a_shard);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  Played out;
  for (std::size_t first = 0; first < order.size(); first += static_cast<std::size_t>(group)) {
    const std::size_t last = std::min(order.size(), first + static_cast<std::size_t>(group));
    std::vector<int> held;
    for (std::size_t at = first; at < last; ++at) {
      const int begin = order[at] * in_a_shard;
      const int end = std::min(samples, begin + in_a_shard);
      for (int sample = begin; sample < end; ++sample) held.push_back(sample);
      out.seconds += stream.latency_s + (end - begin) * sample_bytes / stream.bandwidth;
    }
    out.most_bytes = std::max(out.most_bytes, static_cast<double>(held.size()) * sample_bytes);
    std::shuffle(held.begin(), held.end(), random);
    out.order.insert(out.order.end(), held.begin(), held.end());
  }
  return out;
}

TEST_CASE("chunk-wise shuffle, played: every sample once, as long as the closed form says, in the memory of a group") {
  constexpr int k_samples = 12'000;
  for (const int in_a_shard : {1, 10, 40, 1000}) {
    CAPTURE(in_a_shard);
    const Stream stream{2e-3, 3e8};
    const Played epoch = play(k_samples, 25e3, in_a_shard, 4, stream, 7);
    CHECK(epoch.seconds == doctest::Approx(k_samples * shard_s(25e3, in_a_shard * 25e3, stream)).epsilon(1e-9));
    CHECK(epoch.most_bytes <= 4.0 * in_a_shard * 25e3);
    CHECK(std::set<int>(epoch.order.begin(), epoch.order.end()).size() == k_samples);
    CHECK(epoch.order.size() == k_samples);
  }
}

TEST_CASE("larger shards never take longer, and come down to the stream") {
  double before = 1e9;
  for (double shard = 20e3; shard < 1e9; shard *= 2.0) {
    const double now = shard_s(20e3, shard, k_published);
    CHECK(now <= before);
    CHECK(now >= 20e3 / k_published.bandwidth);
    before = now;
  }
  CHECK(before == doctest::Approx(20e3 / k_published.bandwidth).epsilon(0.01));
}

TEST_CASE("the sure ceiling: a count of files, then one stream, never below that of files") {
  // 100 files/s of 20 KB, although a stream gets 100 MB/s: the count binds.
  const Stream disk{9e-3, 1e8};
  CHECK(sure_ceiling(2e6, 20e3, 200e3, disk) == doctest::Approx(200e3 / (9e-3 + 2e-3)));
  CHECK(sure_ceiling(2e6, 20e3, 20e3, disk) == doctest::Approx(2e6));
  // Ten times as many bytes a file and no stream in the way: ten times the rate.
  CHECK(sure_ceiling(2e6, 20e3, 200e3, {1e-6, 1e10}) == doctest::Approx(2e7));
  // Many streams together were faster than one: nothing is known beyond that.
  CHECK(sure_ceiling(5e8, 20e3, 4e6, disk) == doctest::Approx(5e8));
}

TEST_CASE("requests of a file: the worked example, small ones, large ones") {
  CHECK(read_requests(110e3, 65536.0) == 1.0);
  CHECK(read_requests(110e3, 8192.0) == 3.0);
  CHECK(read_requests(1.0, 4096.0) == 1.0);
  CHECK(read_requests(4096.0, 1e9) == 1.0);
  CHECK(read_requests(1e6, 1e6) == 1.0);                          // one call asks for all of it
  CHECK(read_requests(8.0 * 1048576.0, 8.0 * 1048576.0) == 8.0);  // of 1 MiB each
  CHECK(read_requests(1048576.0, 65536.0) == 8.0);                // of 128 KiB each
  CHECK(read_requests(1048576.0, 65536.0, 1048576.0) == 4.0);     // 128, 256, 512 KiB, the rest
}

TEST_CASE("requests of a file never fall with its size, nor rise with the size of a call") {
  for (const double call : {512.0, 8192.0, 65536.0, 1048576.0, 4e6}) {
    double before = 0.0;
    for (double bytes = 1000.0; bytes < 3e7; bytes *= 1.4) {
      CAPTURE(call);
      CAPTURE(bytes);
      const double now = read_requests(bytes, call);
      CHECK(now >= std::ceil(bytes / k_largest_request) - 1e-9);
      if (call >= bytes || call <= 65536.0) CHECK(now + 1e-9 >= before);
      CHECK(read_requests(bytes, 2.0 * call) <= now);
      before = now;
    }
  }
  CHECK(read_requests(1e15, 4096.0) > 7e9);  // without walking through it
}

}  // namespace
