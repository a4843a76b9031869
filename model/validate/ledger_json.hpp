/// Published results beside the model's as JSON: `validate --json`.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "model/validate/validate.hpp"

namespace stallcast {

/// {"schema_version", "rows": [...], "summary": {...}, "not_replayed": [...]}.
[[nodiscard]] nlohmann::json ledger_to_json(std::span<const LedgerRow> rows);

}  // namespace stallcast
