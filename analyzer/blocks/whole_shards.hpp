/// A stream's cold block by the shards that its workers read as a whole in it. Internal to the analyzer.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/blocks/sums.hpp"

namespace stallcast {

/// From one delivery to another, both made by one worker, which had come as far in a shard in both of them.
struct ShardSpan {
  std::size_t first = 0;
  std::size_t last = 0;
};

/// What the kernel reads ahead in a shard comes in few large pieces, and begins anew with each shard: storage has
/// pauses, and how a block lies to them decides its rate. From where a worker opens a shard to where it opens another
/// one it has read whole shards, with as much in stock at either end: what is made meanwhile is what it makes for as
/// long as it reads. The script waits for both batches: no made ones of that worker lie ready at either end.
///
/// Worked example, 2 workers, shards of 50 batches. Of the deliveries 0..260 of a block, worker 0 opened shards in 16,
/// 116 and 216 and worker 1 in 17, 117 and 217: 16..216 and 17..217. In these 400 batches were made in 17.3 s: 23.1
/// batches/s. The whole block had 22.6: it began without anything in stock, and ended in the middle of a shard.
///
/// A file is a shard if no other one that is opened in the block is more than twice as large. The spans of `block`,
/// whose ends were made from `from_ns` on in the segment; none if the longest is too short a part of the block.
///
/// `shard_batches`: of batches_of_shard(). Where all shards hold as many, 50 batches of a worker are a shard wherever
/// the first of them lies, and whether or not the script waits for it: all that lie in the block are its spans, and
/// overlap. Not where the making of one of its batches is not known.
[[nodiscard]] std::vector<ShardSpan> whole_shards(std::span<const Delivery> block, const BlockEvidence& evidence,
                                                  std::uint32_t segment, std::uint64_t from_ns,
                                                  std::optional<double> shard_batches);

/// Batches that a worker made from where it opened one shard to where it opened the next, of each all of whose batches
/// left evidence.
[[nodiscard]] std::vector<double> shard_lengths(const Pass& pass, const BlockEvidence& evidence);

/// Their mean; absent where there are few, or shards differ.
[[nodiscard]] std::optional<double> batches_of_shard(const std::vector<double>& lengths);

/// What was made in all of the spans.
struct ShardSums {
  double samples = 0.0;
  double seconds = 0.0;  ///< from handing over to handing over
  double bytes = 0.0;    ///< that were read for them
};
[[nodiscard]] ShardSums sums_of(std::span<const Delivery> block, const std::vector<ShardSpan>& spans,
                                const LoaderFacts& loader);

}  // namespace stallcast
