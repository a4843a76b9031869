/// stallcast analyze: recordings to a profile. Recovery after a killed run, and re-reading with a newer version.
#include "analyzer/analyze.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <memory>

#include "cli/command.hpp"
#include "cli/exit_status.hpp"
#include "cli/results.hpp"
#include "cli/terminal.hpp"
#include "probes/collect/launch/output_folder.hpp"
#include "probes/collect/launch/run_folder.hpp"
#include "probes/record/control.hpp"

namespace stallcast::cli {
namespace {

namespace fs = std::filesystem;

struct AnalyzeOptions {
  std::string recordings{};
  std::string output{};
  bool force = false;
  bool quiet = false;
};

/// Run folders that killed tools of this user left behind.
std::string left_behind() {
  std::string names;
  std::error_code failed;
  for (fs::directory_iterator entry(collect::temporary_folder(), failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    if (name.rfind("stallcast-", 0) == 0 && fs::exists(entry->path() / record::k_control_file, failed)) {
      names += " " + entry->path().string();
    }
  }
  return names;
}

Error explain(Error error) {
  if (error.code != ErrorCode::bad_input) return error;
  const std::string folders = left_behind();
  const std::string hint = folders.empty() ? "a killed run leaves its recordings in $TMPDIR/stallcast-*"
                                           : "run folders that were left behind:" + folders;
  error.hint = error.hint.empty() ? hint : error.hint + "; " + hint;
  return error;
}

/// Where the results go if the user does not say: beside the recordings of an output folder, else to a new folder.
Result<collect::OutputFolder> output_folder(const AnalyzeOptions& options) {
  std::error_code failed;
  const fs::path given = options.recordings;
  if (!options.output.empty()) return collect::prepare_output_folder(options.output, options.force);
  if (fs::is_directory(given / collect::k_recordings_folder, failed)) return collect::OutputFolder{given, false};
  return collect::prepare_output_folder({}, options.force);
}

/// A run folder in $TMPDIR will be cleaned up by somebody one day: its recordings go along with the results.
Status keep_recordings(const fs::path& given, const collect::OutputFolder& output) {
  std::error_code failed;
  if (!fs::exists(given / record::k_control_file, failed)) return {};
  STALLCAST_RETURN_IF_ERROR(collect::copy_recordings(given, output));
  print_note(fmt::format("copied the recordings to {}; {} may be removed when its job has ended",
                         (output.path / collect::k_recordings_folder).string(), given.string()));
  return {};
}

Status analyze_into(const AnalyzeOptions& options) {
  const auto profile = analyze(options.recordings);
  if (!profile) return explain(profile.error());
  const auto output = output_folder(options);
  if (!output) return output.error();
  STALLCAST_RETURN_IF_ERROR(keep_recordings(options.recordings, output.value()));
  return deliver(profile.value(), output.value().path, options.quiet);
}

}  // namespace

void add_analyze(CLI::App& app, Session& session) {
  auto options = std::make_shared<AnalyzeOptions>();
  CLI::App* command =
      app.add_subcommand("analyze", "Make a profile from recordings: after a crash, or on another machine");
  command
      ->add_option("RECORDINGS", options->recordings,
                   "Output folder, its recordings/, or the run folder of a killed run")
      ->required()
      ->type_name("");
  command->add_option("-o,--output", options->output, "Folder for the results (default: that of the recordings)")
      ->type_name("DIR");
  command->add_flag("--force", options->force, "Replace the results of an earlier run in DIR");
  command->add_flag("-q,--quiet", options->quiet, "Print no report, only write the files");
  command->callback([options, &session] {
    const Status done = analyze_into(*options);
    if (!done.ok()) print_error(done.error());
    session.exit_status = done.ok() ? k_exit_ok : exit_status(done.error().code);
  });
}

}  // namespace stallcast::cli
