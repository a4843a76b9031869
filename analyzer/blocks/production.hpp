/// The rate of a block by what its workers made in it, where the job waits for them and none of them ever rests.
///
/// Deliveries come in bunches of one batch a worker, and at either end of a block up to a batch of each worker lies
/// half made. Of a block of five bunches that is a tenth of all, by chance there or not. Where no worker rests, how far
/// each batch had come can be told from when it was begun and when it was handed over: what was made between two
/// instants is the whole batches and the passed shares of those in the making. In the steady state as much is delivered
/// as is made; a stock of batches that grows or shrinks lies between the two only where the job does not wait for
/// nearly each batch.
///
/// Of a block from storage the beginning is left out, where enough remains: storage that rested before it may deliver
/// more at once than it does for long (under the kernel's own limit as much as it gives in 0.1 s).
///
/// Worked example, 2 workers, batches of 8. From 100 to 200 ms worker 0 makes one batch that it began at 80 and hands
/// over at 120 ms, one from 120 to 160, one from 160 to 220; worker 1 one from 60 to 150 and one from 150 to 200 ms:
/// 20/40 + 1 + 40/60 + 50/90 + 1 = 3.72 batches, 29.8 samples in 100 ms.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/blocks/content.hpp"
#include "analyzer/load/run_data.hpp"

namespace stallcast {

/// What the workers of a block made between two instants.
struct Production {
  double samples = 0.0;
  double seconds = 0.0;
  double bytes = 0.0;                  ///< that its samples read
  std::vector<ContentGroup> groups{};  ///< one a whole batch: its own time, as one of so many workers
};

/// From `from_ns` to `to_ns`, of `block`, deliveries of `pass`. Absent where it was not recorded when a batch that was
/// delivered in that time or after it was made, where a worker rested, made something else, or made two at once.
[[nodiscard]] std::optional<Production> production_of(const Pass& pass, std::span<const Delivery> block,
                                                      std::size_t workers, double samples_per_batch,
                                                      std::uint64_t from_ns, std::uint64_t to_ns);

}  // namespace stallcast
