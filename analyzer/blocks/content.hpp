/// Blocks hold other samples each: what they are made of explains part of how long they took. Photos of one data set
/// differ by half their size; a block of 18 batches of 32 then holds 2 % more or less than its share, and a rate that
/// storage limits is off by as much.
///
/// How long a batch takes is regressed on its bytes, within blocks, so that what drifts between them is left out; the
/// time of each block is then moved to the bytes of all samples that the run has read (the regression estimator of
/// survey sampling: Cochran, Sampling Techniques, 1977, chapter 7). The slope is shrunk by what of it may be chance
/// (James & Stein 1961, positive part), and told as an elasticity from 0 to 1: twice the bytes never take more than
/// twice the time.
///
/// Worked example. Samples of 102 KB on average, blocks at 20 MB/s. One of them holds 107 KB a sample and takes 5.35 ms
/// for each; groups of batches with 10 % more bytes take 9 % longer: elasticity 0.9, with a standard error of 0.3,
/// shrunk to 0.8. 5.35 ms * (1 + 0.8 (102 / 107 - 1)) = 5.15 ms.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "analyzer/load/run_data.hpp"

namespace stallcast {

/// Bytes of a block, and the sums of its groups of deliveries, centred on the block.
struct BlockContent {
  double bytes = 0.0;      ///< of the batches that were measured; negative: of some it is not known
  double squares_x = 0.0;  ///< of bytes per sample
  double products = 0.0;   ///< of bytes and seconds per sample
  double squares_t = 0.0;  ///< of seconds per sample
  std::size_t groups = 0;
  std::size_t blocks = 0;  ///< whose means were taken out
};

/// One group of deliveries: as many as arrive in a bunch.
struct ContentGroup {
  double bytes = 0.0;    ///< per sample
  double seconds = 0.0;  ///< per sample
};

/// Adds the groups of one block, or of a piece of it.
void add_groups(std::span<const ContentGroup> groups, BlockContent& content);

void add_content(const BlockContent& block, BlockContent& sum);

/// By which share a block takes longer that holds twice the bytes, from 0 to 1, shrunk; 0 where the blocks say nothing
/// of it. `bytes` and `seconds`: per sample, means of all blocks.
[[nodiscard]] double elasticity(const BlockContent& content, double bytes, double seconds);

/// Bytes of a sample, over the batches that a run has made.
struct MeanContent {
  double bytes = 0.0;        ///< 0: not known
  double relative_sd = 0.0;  ///< of that mean, for the whole data set
};

/// Over all batches that were made for this consumer; of a stream over its whole passes, and where there is none over
/// the second half of each: a buffer in which a worker shuffles is filled in the beginning and emptied in the end, so
/// that more is read than is made of it, and less. `dataset_samples`: of the data set, of which each is drawn once an
/// epoch; 0: not known.
[[nodiscard]] MeanContent mean_content(const Consumer& consumer, double dataset_samples);

}  // namespace stallcast
