/// stallcast storage: what the storage behind a data set can do.
#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "analyzer/storage/probe_result.hpp"
#include "cli/command.hpp"
#include "cli/exit_status.hpp"
#include "cli/storage_text.hpp"
#include "cli/terminal.hpp"
#include "core/units.hpp"
#include "probes/collect/storage/probe.hpp"
#include "probes/collect/system/host_facts.hpp"

namespace stallcast::cli {
namespace {

constexpr Seconds k_least_budget{1.0};
constexpr Seconds k_most_budget{600.0};

struct StorageCommand {
  std::string path{};
  std::string budget = "20s";
  std::string evict = "own";
  std::string engine = "threads";
  bool json = false;
};

Result<collect::StorageOptions> probe_options(const StorageCommand& command) {
  collect::StorageOptions options;
  options.path = command.path;
  const auto budget = parse_seconds(command.budget);
  if (!budget) return budget.error();
  if (budget.value() < k_least_budget || budget.value() > k_most_budget) {
    return Error{ErrorCode::usage, fmt::format("--budget: {} is not between 1s and 600s", command.budget),
                 "20s serve most storage well"};
  }
  options.budget = budget.value();
  if (command.evict != "own" && command.evict != "all") {
    return Error{ErrorCode::usage, fmt::format("--evict: '{}' is not known", command.evict),
                 "use own (pages that this probe brought in) or all (of the sampled files)"};
  }
  options.evict = command.evict == "all" ? collect::StorageEvict::all : collect::StorageEvict::own;
  if (command.engine != "io_uring" && command.engine != "threads") {
    return Error{ErrorCode::usage, fmt::format("--engine: '{}' is not known", command.engine),
                 "use threads or io_uring"};
  }
  options.engine = command.engine == "io_uring" ? collect::StorageEngine::io_uring : collect::StorageEngine::threads;
  options.usable_cpus = collect::read_host_facts("/", {}).usable_cpus;
  options.on_progress = [](double spent, const std::string& what) {
    show_progress(fmt::format("{:3.0f} % | {}", 100.0 * std::min(spent, 1.0), what));
  };
  return options;
}

Status probe_and_print(const StorageCommand& command) {
  const auto options = probe_options(command);
  if (!options) return options.error();
  const auto recording = collect::probe_storage(options.value());
  clear_progress();
  if (!recording) return recording.error();
  StorageProfile profile = analyze_storage(recording.value());
  profile.tool_version = tool_version();
  if (command.json) return print_result(to_json(profile).dump(2) + "\n");
  return print_result(storage_text(profile, stdout_has_color()));
}

}  // namespace

void add_storage(CLI::App& app, Session& session) {
  auto options = std::make_shared<StorageCommand>();
  CLI::App* command = app.add_subcommand("storage", "Measure what the storage behind a data set can do (reads only)");
  command->add_option("PATH", options->path, "Folder or file of the data set")->required()->type_name("");
  command->add_flag("--json", options->json, "Print JSON");
  command->add_option("--budget", options->budget, "Take about this long (default: 20s)")->type_name("TIME");
  command
      ->add_option("--evict", options->evict,
                   "What may be dropped from memory for cold reads: own (default: what this probe brought in;\n"
                   "files found in memory stay there) or all (of the sampled files)")
      ->type_name("WHICH");
  command
      ->add_option("--engine", options->engine,
                   "How cold reads are kept in flight: threads (default: as the workers of a loader would) or\n"
                   "io_uring (one thread and a queue in the kernel, where the kernel allows it)")
      ->type_name("WHICH");
  command->footer("Exit status: 4 if there is no such path, 5 if nothing in it can be read.");
  command->callback([options, &session] {
    const Status done = probe_and_print(*options);
    if (!done.ok()) print_error(done.error());
    session.exit_status = done.ok() ? k_exit_ok : exit_status(done.error().code);
  });
}

}  // namespace stallcast::cli
