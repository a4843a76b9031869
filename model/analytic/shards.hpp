/// Closed forms of small files merged into shards (chunks), read one shard at a time, shuffled shard-wise: the list of
/// shards is shuffled, then the samples within groups of g shards (DIESEL; Wang et al., ICPP 2020).
///
/// Worked example. Storage answers after 1 ms and then gives a stream 1 GB/s. A sample of 4 KB in a file of its own
/// takes 1004 us. In shards of 4 MB each shard takes 1 ms + 4 ms and holds 1000 samples: 5 us a sample, 200 times less.
/// What is left is the stream; larger shards bring hardly more. A group of 8 shards needs 32 MB of memory.
#pragma once

namespace stallcast::shards {

/// One reader of storage with nothing else in flight.
struct Stream {
  double latency_s = 0.0;  ///< open and first byte: paid once a file, or once a shard
  double bandwidth = 0.0;  ///< bytes/s after that
};

/// Seconds of a sample in a file of its own: a + s/B1.
[[nodiscard]] double file_s(double sample_bytes, const Stream& stream);

/// Seconds of a sample in a shard: (a + c/B1)(s/c) = a s/c + s/B1. Falls as shards grow, and never below s/B1.
[[nodiscard]] double shard_s(double sample_bytes, double shard_bytes, const Stream& stream);

/// The most bytes/s that storage surely gives readers of shards, where files of one sample get `file_ceiling` bytes/s
/// at most: a ceiling of files/s now counts shards (x c/s), and as one reader alone gets c/(a + c/B1), all together get
/// no less. Never below `file_ceiling`. What larger reads get beyond that, a probe of large files must show.
[[nodiscard]] double sure_ceiling(double file_ceiling, double sample_bytes, double shard_bytes, const Stream& stream);

}  // namespace stallcast::shards
