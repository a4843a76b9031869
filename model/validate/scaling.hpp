/// Published rows of runs on several nodes. Internal to the ledger.
#pragma once

#include <vector>

#include "model/validate/validate.hpp"

namespace stallcast {

void add_scaling_rows(std::vector<LedgerRow>& rows);

}  // namespace stallcast
