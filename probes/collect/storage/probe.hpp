/// What this storage can do: timed reads of a data set's own files. Read-only, without root, within its budget.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "core/result.hpp"
#include "probes/collect/storage/pool.hpp"
#include "probes/collect/storage/reader.hpp"
#include "probes/record/storage_recording.hpp"

namespace stallcast::collect {

struct StorageOptions {
  std::string path{};
  std::vector<std::string> files{};  ///< in it: only these are read; empty: any
  Seconds budget{20.0};
  StorageEvict evict = StorageEvict::own;
  PopulatedPages own{};  ///< of the run before: they may be dropped as well
  std::uint64_t seed = 1;
  /// Cold reads of one kind alone, whole files where there are any: how the rate grows with reads in flight.
  bool brief = false;
  /// A brief probe, which shall tell what the workers of a loader would get, always takes threads. Through the page
  /// cache one thread with io_uring is bound by its core before a fast storage is.
  StorageEngine engine = StorageEngine::threads;
  double usable_cpus = 1.0;
  /// Called before each window with the share of the budget that is spent, and what comes now.
  std::function<void(double spent, const std::string& what)> on_progress{};
};

/// Samples the files below `path` (see sample_files for its errors), reads them cold with 1, 2, 4, ... in flight until
/// more in flight brings nothing, repeats that in rounds of random order while there is time, and ends with reads from
/// memory. not_enough_data if no file can be opened.
[[nodiscard]] Result<record::StorageRecording> probe_storage(const StorageOptions& options);

}  // namespace stallcast::collect
