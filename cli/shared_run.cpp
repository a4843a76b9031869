#include "cli/shared_run.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <cerrno>
#include <cstring>

#include "probes/collect/launch/child_environment.hpp"

namespace stallcast::cli {

namespace fs = std::filesystem;

Result<std::optional<SharedRun>> shared_run(const std::string& output, const std::vector<std::string>& command) {
  const std::vector<std::string> environment = collect::own_environment();
  auto task = collect::one_of_several(environment, command);
  if (!task || command.empty()) return std::optional<SharedRun>();
  utsname system{};
  uname(&system);
  SharedRun run;
  run.folder = output.empty() ? fs::path(collect::shared_folder_name(environment)) : fs::path(output);
  run.part = run.folder / collect::part_name(system.nodename, *task);
  run.task = std::move(*task);
  std::error_code failed;
  if (run.folder.has_parent_path()) fs::create_directories(run.folder.parent_path(), failed);
  if (!failed && mkdir(run.folder.c_str(), 0700) != 0 && errno != EEXIST) {
    failed = std::error_code(errno, std::generic_category());
  }
  if (failed) {
    return Error{ErrorCode::environment, fmt::format("cannot create {}: {}", run.folder.string(), failed.message()),
                 "choose a folder that all nodes may write to with -o DIR"};
  }
  return std::optional<SharedRun>(std::move(run));
}

bool speaks(const SharedRun& run) {
  return run.task.task.value_or(0) == 0;
}

Error phases_refused(const SharedRun& run) {
  return {ErrorCode::usage,
          fmt::format("states need one stallcast around all ranks, and this is one of several ({})", run.task.reason),
          "start stallcast around the launcher on one node (stallcast profile -- torchrun ...), or leave --phases out: "
          "each stallcast then only records its own ranks"};
}

Error stop_refused(const SharedRun& run) {
  return {ErrorCode::usage,
          fmt::format("--stop needs one stallcast around all ranks, and this is one of several ({})", run.task.reason),
          "ranks would end at different batches: leave --stop out, or start stallcast around the launcher on one node"};
}

}  // namespace stallcast::cli
