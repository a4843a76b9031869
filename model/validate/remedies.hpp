/// The rows of the ledger for remedies of the data's layout and place (model/analytic/shards, model/analytic/staging).
#pragma once

#include <vector>

#include "model/validate/validate.hpp"

namespace stallcast {

/// Appends the published rows of DIESEL and of NoPFS' naive policy.
void add_remedy_rows(std::vector<LedgerRow>& rows);

}  // namespace stallcast
