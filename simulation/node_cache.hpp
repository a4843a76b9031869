/// One cache of one node that keeps whole items, by a real policy and item by item.
///
/// Items lie in numbered places; an open-addressing table finds an item's place, and where the policy asks for it the
/// places form a list in the order of use. Memory grows with what is kept, not with the data set: a node of a thousand
/// sees a thousandth of it an epoch.
#pragma once

#include <cstdint>
#include <vector>

namespace stallcast::simulation {

class NodeCache {
 public:
  enum class Evicts { least_recent, random, never };

  /// `room`: items that it keeps; `most_reads`: reads of its whole life, beyond which no place is needed.
  NodeCache(Evicts evicts, std::uint32_t room, std::uint64_t most_reads, std::uint64_t seed);

  /// True if `item` is kept. Otherwise it is, from now on, if the policy lets it in.
  [[nodiscard]] bool read(std::uint32_t item);

  /// Says that `item` will soon be read.
  void expect(std::uint32_t item) const { __builtin_prefetch(table_.data() + home_of(item)); }

  /// Everything is lost.
  void clear();

  /// Bytes that such a cache takes at most.
  [[nodiscard]] static double memory_bytes(double room, double most_reads);

 private:
  static constexpr std::uint32_t k_nobody = 0xffffffffU;

  /// What is read together lies together: most of the time goes to memory that no processor's cache holds.
  struct Place {
    std::uint32_t item = 0;
    std::uint32_t newer = k_nobody;  ///< places, in the order of use; least_recent alone
    std::uint32_t older = k_nobody;
  };

  [[nodiscard]] std::size_t home_of(std::uint32_t item) const {
    const std::uint32_t hash = (item * 0x9e3779b1U) ^ (item >> 15);
    return static_cast<std::size_t>((static_cast<std::uint64_t>(hash) * table_.size()) >> 32);
  }
  [[nodiscard]] std::size_t entry_of(std::uint32_t item) const;
  void insert(std::size_t entry, std::uint32_t item, std::uint32_t place);
  void forget(std::uint32_t item);
  void admit(std::uint32_t item);
  void use(std::uint32_t place);
  void link_first(std::uint32_t place);
  void unlink(std::uint32_t place);

  Evicts evicts_;
  std::uint32_t room_;
  std::uint64_t seed_;
  std::uint64_t evictions_ = 0;
  std::vector<std::uint64_t> table_{};  ///< (item + 1) << 32 | place; 0: free
  std::vector<Place> places_{};
  std::uint32_t newest_ = k_nobody;
  std::uint32_t oldest_ = k_nobody;
};

}  // namespace stallcast::simulation
