/// Machines that could be bought or rented, as a user lists them in a JSON file (model/schema/catalog.schema.json).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.hpp"
#include "core/result.hpp"

namespace stallcast {

struct Machine {
  std::string name{};
  double cores = 1.0;      ///< that jobs may use
  Bytes memory{};          ///< likewise
  int gpus = 1;            ///< a rank each; 0: one rank that computes on the cores
  double gpu_speed = 1.0;  ///< of one, relative to the one that was profiled
  std::optional<Bytes> disk{};
  std::optional<BytesPerSecond> disk_bandwidth{};
  std::optional<BytesPerSecond> network_bandwidth{};  ///< in each direction
  double price_per_hour = 0.0;                        ///< of one, in the catalogue's currency
  int most_nodes = 1;                                 ///< that can be had

  [[nodiscard]] int ranks() const { return gpus > 0 ? gpus : 1; }
};

/// What all nodes read from together.
struct SharedStorage {
  std::optional<BytesPerSecond> bandwidth{};
  std::optional<PerSecond> files_per_s{};
  std::optional<PerSecond> metadata_per_s{};  ///< files opened
  std::optional<double> contention{};         ///< of the universal scalability law over nodes
  std::optional<double> coherence{};          ///< likewise
};

struct Catalog {
  std::string currency{};
  std::optional<SharedStorage> shared{};
  std::vector<Machine> machines{};
};

/// Reads a catalogue. Errors (bad_input) name the place in the file: "machines[2].cores must be above 0, but is -4". A
/// key that is not known is an error too: a price that nobody reads would be missed by nobody.
[[nodiscard]] Result<Catalog> parse_catalog(std::string_view text);

}  // namespace stallcast
