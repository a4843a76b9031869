/// Sums over the deliveries of a block. Internal to the analyzer.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "analyzer/blocks/blocks.hpp"

namespace stallcast {

/// What the process that made a batch found; nullptr: it told nothing.
struct BatchEvidence {
  const record::PhaseRecord* phase = nullptr;
  const record::MappedRecord* mapped = nullptr;
};

/// Of the processes that made a pass's batches, by BatchRecord::iterator_id and batch: the same batch of another pass
/// is another one.
class BlockEvidence {
 public:
  BlockEvidence() = default;
  BlockEvidence(const Consumer& consumer, const Pass& pass, const std::vector<record::ProcessRecording>& processes);

  /// nullptr: nothing is known of how the batch was made.
  [[nodiscard]] const BatchEvidence* of(const Delivery& delivery) const;

 private:
  std::map<std::pair<std::uint64_t, std::uint64_t>, BatchEvidence> found_{};
};

/// Why a block counts for nothing of which a delivery is missing.
inline constexpr const char* k_records_miss = "records of its batches are missing";

/// Deliveries of the pass with the numbers first .. first + batches - 1, as far as there are.
[[nodiscard]] std::span<const Delivery> deliveries_of(const Pass& pass, std::uint64_t first, std::uint64_t batches);

/// Samples of a batch; batches count as one where nobody knows how many they hold (PhaseBlock::in_batches).
[[nodiscard]] double samples_of(const Delivery& delivery, const LoaderFacts& loader);
[[nodiscard]] bool samples_are_known(const Delivery& delivery, const LoaderFacts& loader);

/// From when its maker had the index list until it had handed the batch over.
[[nodiscard]] double making_s(const Delivery& delivery);

/// CPU time of the consumer between two deliveries; negative where its clock was not read.
[[nodiscard]] double cpu_between(const Delivery& before, const Delivery& after);

/// Counts one delivery (its samples, waiting, CPU time since `before`, and making) in `block`, or takes it out again.
void count_delivery(const Delivery& before, const Delivery& delivery, const LoaderFacts& loader, PhaseBlock& block);
void discount_delivery(const Delivery& before, const Delivery& delivery, const LoaderFacts& loader, PhaseBlock& block);

/// Counts how its batch was made.
void count_making(const Delivery& delivery, PhaseBlock& block);

/// Adds what its maker found, as far as that speaks of `segment`.
void count_evidence(const Delivery& delivery, const LoaderFacts& loader, const BlockEvidence& evidence,
                    std::uint32_t segment, PhaseBlock& block);

}  // namespace stallcast
