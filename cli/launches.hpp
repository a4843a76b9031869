/// Starting the command: once, or once a phase.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "probes/collect/run/record_run.hpp"

namespace stallcast::cli {

/// What came of the launches until one of them failed.
struct Launched {
  RecordedRun run{};                   ///< the last one that was started, with the own pages of all
  std::filesystem::path recordings{};  ///< of all of them
  std::optional<int> status{};         ///< to end with, whatever can be reported
};

/// The run itself or, where it is phased and to be `separate`, one launch a phase with its share of the budget.
[[nodiscard]] std::vector<RecordOptions> launches_of(const RecordOptions& record, bool separate);

/// Runs them one after another, up to the first that fails; says what went wrong. All results lie in one folder.
[[nodiscard]] Launched run_launches(std::vector<RecordOptions> launches);

}  // namespace stallcast::cli
