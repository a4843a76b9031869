/// What the user gets once the rates are known, while the command goes on: the report so far, and a summary.
#pragma once

#include <filesystem>
#include <mutex>
#include <string>

#include "analyzer/profile/profile.hpp"
#include "cli/results.hpp"

namespace stallcast::cli {

/// One run's. Its functions may be called from any thread.
class InterimReport {
 public:
  /// Where the results of the run go.
  void set_output(const std::filesystem::path& output);

  /// Analyses what was recorded in `run_folder` so far, writes `output`/profile.json and `output`/report.html, and
  /// prints the summary. Gives way to the job on the CPU, for which it lowers the priority of the thread that calls it.
  /// Its failure is a note; nothing else comes of it.
  void write(const std::filesystem::path& run_folder);

 private:
  std::mutex lock_{};
  std::filesystem::path output_{};
};

/// At most eight lines: the rate as found, those of the states, the stalls, what to do first, where the report is.
[[nodiscard]] std::string summary_text(const Profile& profile, const ReportExtras& extras,
                                       const std::filesystem::path& output);

}  // namespace stallcast::cli
