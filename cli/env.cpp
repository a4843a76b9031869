/// stallcast env: the variables that carry a recording, for launchers that start the ranks themselves.
#include <fmt/core.h>

#include <filesystem>
#include <memory>

#include "cli/command.hpp"
#include "cli/exit_status.hpp"
#include "cli/terminal.hpp"
#include "probes/collect/run/record_run.hpp"

namespace stallcast::cli {
namespace {

struct EnvOptions {
  std::string out{};
};

/// In single quotes the shell leaves everything alone but a single quote.
std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) {
    if (letter == '\'') {
      quoted += "'\\''";
    } else {
      quoted += letter;
    }
  }
  return quoted + "'";
}

Status print_variables(const EnvOptions& options) {
  std::error_code failed;
  if (!options.out.empty()) std::filesystem::create_directories(options.out, failed);
  const auto prepared = prepare_run(options.out, tool_version());
  if (!prepared) return prepared.error();
  for (const DataIssue& issue : prepared.value().issues)
    print_error({ErrorCode::environment, issue.detail, issue.hint});
  std::string lines;
  for (const auto& [name, value] : prepared.value().variables) {
    lines += fmt::format("export {}={}\n", name, shell_quoted(value));
  }
  const std::filesystem::path& folder = prepared.value().run_folder;
  print_note(fmt::format("after the job: stallcast analyze {}; with those of other nodes: stallcast merge {}",
                         shell_quoted(folder.string()),
                         options.out.empty() ? std::string("DIR...") : shell_quoted(options.out)));
  return print_result(lines);
}

}  // namespace

void add_env(CLI::App& app, Session& session) {
  auto options = std::make_shared<EnvOptions>();
  CLI::App* command =
      app.add_subcommand("env", "Print environment variables for launchers that start ranks on their own");
  command->add_option("--out", options->out, "Folder in which the run folder is created (default: $TMPDIR)")
      ->type_name("DIR");
  command->footer(
      "Once on each node: eval \"$(stallcast env --out DIR)\", then start the ranks of that node. After the "
      "job:\nstallcast merge DIR.");
  command->callback([options, &session] {
    const Status done = print_variables(*options);
    if (!done.ok()) print_error(done.error());
    session.exit_status = done.ok() ? k_exit_ok : exit_status(done.error().code);
  });
}

}  // namespace stallcast::cli
