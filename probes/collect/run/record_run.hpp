/// The stage that records: starts a command, watches it from outside, leaves a folder of recordings.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/data_issue.hpp"
#include "core/quantity.hpp"
#include "core/result.hpp"
#include "probes/collect/emulation/emulation.hpp"
#include "probes/collect/launch/loader_override.hpp"
#include "probes/collect/pages/populated_pages.hpp"
#include "probes/collect/schedule/overhead_schedule.hpp"
#include "probes/collect/schedule/phased_run.hpp"

namespace stallcast {

struct RecordOptions {
  std::vector<std::string> command{};
  std::filesystem::path output{};  ///< empty: ./stallcast-profile, or the next free number of it
  bool force = false;              ///< replace our own files in a folder that is not empty
  std::string part{};              ///< one launch of several that make a profile: recordings/PART. Empty: the only one
  bool beside_earlier = false;     ///< the recordings of that profile's earlier launches lie in the output folder
  Bytes recording_budget = Bytes(256.0 * 1048576);  ///< for all recordings of this node
  std::optional<Seconds> time_budget{};             ///< record for this long from the first batch; absent: to the end
  bool stop_at_budget = false;                      ///< `time_budget` ends the command as well
  collect::OverheadDuty overhead = collect::OverheadDuty::usual;
  std::string tool_version{};
  std::optional<collect::PhasedOptions> phased{};        ///< absent: a passive run
  std::optional<collect::EmulationOptions> emulation{};  ///< absent: the hardware as it is
  std::optional<collect::LoaderOverride> loader{};       ///< for the training loader; absent: as the script says
  std::optional<int> cpus{};                             ///< that the command may use; absent: all that we may
  bool cpu_probe = false;                                ///< sample where its CPU time goes, where the kernel allows
  bool output_to_stderr = false;                         ///< of the command, so that stdout is ours alone
  /// Just before the command starts.
  std::function<void(const std::filesystem::path& run_folder, const std::filesystem::path& output)> on_start{};
};

/// How the command ended and where its recordings are.
struct RecordedRun {
  bool launched = false;
  int exit_code = 0;  ///< of the command (128 + signal); 126 or 127 if it could not be started
  int signal = 0;
  bool interrupted = false;      ///< we were asked to end
  bool ended_by_us = false;      ///< as asked (stop, stop_at_budget)
  std::string launch_failure{};  ///< why it could not be started
  std::filesystem::path output{};
  std::filesystem::path recordings{};         ///< folder to analyze
  collect::PopulatedPages populated_pages{};  ///< what it left in the page cache that nobody else had there
  std::optional<Error> collect_error{};  ///< the recordings stayed in the run folder, which `recordings` then names
};

/// Runs the command to its end and collects what was recorded. Ends it only where that is asked for
/// (PhaseWants::stop, stop_at_budget), as Ctrl-C on its terminal would, with force where that is not enough. Our own
/// death never touches it. An error means that the command was not started and nothing was left on disk.
[[nodiscard]] Result<RecordedRun> record_run(const RecordOptions& options);

/// A run folder for launchers that start the ranks themselves, and the variables that carry it to them.
struct PreparedRun {
  std::filesystem::path run_folder{};
  std::vector<std::pair<std::string, std::string>> variables{};
  std::vector<DataIssue> issues{};
};

/// Creates a run folder below `parent` (empty: $TMPDIR) that records without anyone watching.
[[nodiscard]] Result<PreparedRun> prepare_run(const std::filesystem::path& parent, const std::string& tool_version);

}  // namespace stallcast
