/// What the tool saw from outside and a reader of the profile should know.
#pragma once

#include <string>
#include <vector>

#include "probes/collect/run/tool_log.hpp"
#include "probes/collect/run/watch.hpp"
#include "probes/record/control.hpp"

namespace stallcast::collect {

/// Why there is no loader, where it could be told from outside; each reason once.
void log_missing_consumer(const WatchEnd& end, const std::vector<std::string>& command, const std::string& search_path,
                          ToolLog& log);

/// What was not recorded, could not be read, or was left behind.
void log_losses(const WatchEnd& end, const record::ControlBlock& control, ToolLog& log);

}  // namespace stallcast::collect
