/// The tool's readings of /proc while the job delivered batches as found.
#pragma once

#include <string>

#include "analyzer/load/run_data.hpp"

namespace stallcast::sections {

/// First and last tick in which the job delivered batches.
struct TickSpan {
  const Tick* first = nullptr;
  const Tick* last = nullptr;
  double samples = 0.0;

  [[nodiscard]] bool known() const { return first != nullptr && first != last && samples > 0.0; }
  [[nodiscard]] double storage_bytes() const {
    return static_cast<double>(last->tree_read_bytes - first->tree_read_bytes);
  }
};

/// Reading goes ahead of delivering by what the loader prefetches: as long as batches come, as much is read between two
/// ticks as is delivered. Once all have come the workers have read nothing for a while, or are gone with their
/// counters.
[[nodiscard]] TickSpan delivering_span(const RunData& run);

/// Why there is no such span.
[[nodiscard]] std::string why_no_span(const RunData& run);

/// Whether it is known how many samples a batch holds.
[[nodiscard]] bool counts_samples(const RunData& run);

/// Samples that all ranks had been given by then.
[[nodiscard]] double delivered_at(const Tick& tick);

}  // namespace stallcast::sections
