/// Which scenario keys a profile can answer.
#pragma once

#include <string_view>

#include "model/job/job_model.hpp"
#include "model/predict/predict.hpp"

namespace stallcast {

/// Whether `key`, which is one of key_table(), can be answered for `job`; where not, why and what would unlock it.
[[nodiscard]] KeyAvailability availability(const JobModel& job, std::string_view key);

}  // namespace stallcast
