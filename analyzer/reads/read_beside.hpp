/// Streams whose readers read beside the making of batches: files that are buffered as a whole before their first row
/// (pyarrow's datasets, and with them `datasets`), downloads in the background. What is read while a batch is made is
/// then not what its samples take.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/profile/profile.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {

/// In bytes for a sample.
struct ReadBeside {
  double made = 0.0;   ///< that were read while the batches of the steps as found were made
  double takes = 0.0;  ///< by what the loader's workers read of their files in the whole run
};

/// Absent where batches read what their samples take, and where that is not known. `ranks`: of the whole run.
[[nodiscard]] std::optional<ReadBeside> read_beside(const std::vector<RankView>& ranks);

/// Such a loader fetches and prepares side by side (Job::composition). How many bytes a sample reads is absent then,
/// and why is an issue.
void note_read_beside(const ReadBeside& seen, Profile& profile);

/// Nor is it known which share of them came from storage, or was found in the page cache.
void leave_out_shares(Profile& profile);

}  // namespace stallcast::sections
