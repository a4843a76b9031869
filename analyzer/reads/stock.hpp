/// Streams whose readers read far ahead of the batches that they make: files that are buffered as a whole before their
/// first row (pyarrow's datasets, and with them `datasets`), downloads in the background. While what they have in stock
/// lasts, a job goes at the pace of its memory, and what it reads in that time is not what its samples take.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/profile/profile.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {

struct Stock {
  double found = 0.0;           ///< bytes that were read for a sample while the batches of the steps as found were made
  double all = 0.0;             ///< of the files, in the whole run, but for what a pass reads for its first batches
  double share_as_found = 0.0;  ///< of the samples that were made, those of the steps as found
};

/// Absent where the steps as found read what samples take, or what batches read was not seen.
[[nodiscard]] std::optional<Stock> stock_of(const RunData& run, const std::vector<RankView>& ranks);

/// What a sample takes is what the files gave. Where the steps as found were a small part of the run, the rate as
/// found, how its step divides and what a sample reads are absent, and why is an issue: they lived on the stock.
void tell_stock(const RunData& run, const std::vector<RankView>& ranks, Profile& profile);

}  // namespace stallcast::sections
