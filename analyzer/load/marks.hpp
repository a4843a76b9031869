/// Marks that a process left in its recording: JSON of what happened to it once.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/run_data.hpp"
#include "analyzer/profile/json_fields.hpp"

namespace stallcast {

/// Those of the consumer whose "what" is `what`, in the order in which they were written.
[[nodiscard]] std::vector<nlohmann::json> marks_of(const RunData& run, const Consumer& consumer, std::string_view what);

}  // namespace stallcast
