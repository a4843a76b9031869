/// stallcast merge: what tools left on the nodes of one job, as one profile.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "analyzer/analyze.hpp"
#include "analyzer/load/nodes.hpp"
#include "cli/command.hpp"
#include "cli/exit_status.hpp"
#include "cli/results.hpp"
#include "cli/terminal.hpp"
#include "probes/collect/launch/launcher.hpp"
#include "probes/collect/launch/output_folder.hpp"

namespace stallcast::cli {
namespace {

namespace fs = std::filesystem;

struct MergeOptions {
  std::vector<std::string> folders{};
  std::string output{};
  bool force = false;
  bool quiet = false;
};

/// What is to be merged, and the folder that holds all of it if the user named that one alone.
struct Found {
  std::vector<fs::path> places{};
  fs::path shared{};
};

bool holds_recordings(const fs::path& folder) {
  std::error_code failed;
  for (fs::directory_iterator entry(recordings_of(folder), failed), end; !failed && entry != end;
       entry.increment(failed)) {
    std::error_code unknown;
    const bool ours = entry->path().filename() == collect::k_tool_log_file || entry->path().extension() == ".rec";
    if (ours && entry->is_regular_file(unknown)) return true;
  }
  return false;
}

/// Folders in `folder`, in the order of their names, that hold recordings themselves.
std::vector<fs::path> recorded_below(const fs::path& folder) {
  std::vector<fs::path> places;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    if (entry->path().filename() != collect::k_recordings_folder && holds_recordings(entry->path())) {
      places.push_back(entry->path());
    }
  }
  std::sort(places.begin(), places.end());
  return places;
}

/// A folder is one node's, or that of several, each in a folder of its own, or what an earlier merge has made.
Found find_places(const std::vector<std::string>& folders) {
  Found found;
  for (const std::string& folder : folders) {
    if (holds_recordings(folder)) {
      found.places.emplace_back(folder);
      continue;
    }
    std::vector<fs::path> below = recorded_below(folder);
    if (!below.empty() && folders.size() == 1) found.shared = folder;
    if (below.empty()) below = recorded_below(recordings_of(folder));
    if (below.empty()) below.emplace_back(folder);  // whose loading says what is wrong
    found.places.insert(found.places.end(), below.begin(), below.end());
  }
  return found;
}

/// Folders below recordings/: the host, and a number that tells launches on one host apart.
std::string name_of(const RunData& run, std::map<std::string, int>& launches) {
  std::string host = run.log.host ? run.log.host->name : std::string();
  if (host.empty() && !run.processes.empty()) host = run.processes.front().info.host;
  return collect::part_name(host, {{}, launches[host]++});
}

/// Results beside the recordings that are read would replace them.
Status apart(const std::vector<fs::path>& places, const fs::path& output) {
  std::error_code failed;
  const fs::path target = fs::weakly_canonical(output / collect::k_recordings_folder, failed);
  for (const fs::path& place : places) {
    const fs::path source = fs::weakly_canonical(recordings_of(place), failed);
    const auto [end, ignored] = std::mismatch(target.begin(), target.end(), source.begin(), source.end());
    if (end != target.end()) continue;
    return Error{ErrorCode::usage,
                 fmt::format("{} lies in {}, where the results would replace it", place.string(), output.string()),
                 "choose another folder with -o DIR; stallcast analyze makes the profile of a merged folder again"};
  }
  return {};
}

Result<std::vector<RunData>> load_all(const std::vector<fs::path>& places) {
  std::vector<RunData> runs;
  for (const fs::path& place : places) {
    auto loaded = load_launches(place);
    if (!loaded) return loaded.error();
    for (RunData& run : loaded.value()) {
      run.name = place.string();
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

/// Where each node's recordings come from, by the name that they are to have.
using Sources = std::map<std::string, fs::path>;

/// What the user named is refused by that name; what is reported has the name that it is kept under.
Result<std::vector<RunData>> load_job(const std::vector<fs::path>& places, Sources& sources) {
  auto runs = load_all(places);
  if (!runs) return runs.error();
  auto nodes = one_job(std::move(runs).value());
  if (!nodes) return nodes.error();
  std::map<std::string, int> launches;
  for (RunData& node : nodes.value()) {
    const std::string name = name_of(node, launches);
    sources[name] = node.name;
    node.name = name;
  }
  note_job(nodes.value());
  return nodes;
}

Status keep_recordings(const Sources& sources, const collect::OutputFolder& output) {
  STALLCAST_RETURN_IF_ERROR(collect::clear_recordings(output));
  for (const auto& [name, place] : sources) {
    STALLCAST_RETURN_IF_ERROR(collect::copy_recordings(recordings_of(place), output, name));
  }
  return {};
}

Status merge_folders(const MergeOptions& options) {
  const Found found = find_places(options.folders);
  Sources sources;
  const auto nodes = load_job(found.places, sources);
  if (!nodes) return nodes.error();
  const bool into_shared = options.output.empty() && !found.shared.empty();
  const fs::path wanted = into_shared ? found.shared : fs::path(options.output);
  if (!wanted.empty()) STALLCAST_RETURN_IF_ERROR(apart(found.places, wanted));
  const Profile profile = analyze_nodes(nodes.value());
  const auto output = into_shared ? Result<collect::OutputFolder>(collect::OutputFolder{wanted, false})
                                  : collect::prepare_output_folder(wanted, options.force);
  if (!output) return output.error();
  STALLCAST_RETURN_IF_ERROR(keep_recordings(sources, output.value()));
  return deliver(profile, output.value().path, options.quiet);
}

}  // namespace

void add_merge(CLI::App& app, Session& session) {
  auto options = std::make_shared<MergeOptions>();
  CLI::App* command = app.add_subcommand("merge", "Merge the recordings of a job's nodes into one profile");
  command
      ->add_option("DIR", options->folders,
                   "One folder for each node (the output folder of profile, or the run folder of env),\n"
                   "or one folder that holds them all")
      ->required()
      ->type_name("");
  command
      ->add_option("-o,--output", options->output,
                   "Folder for the results (default: the one that holds all, else ./stallcast-profile)")
      ->type_name("DIR");
  command->add_flag("--force", options->force, "Replace the results of an earlier run in DIR");
  command->add_flag("-q,--quiet", options->quiet, "Print no report, only write the files");
  command->callback([options, &session] {
    const Status done = merge_folders(*options);
    if (!done.ok()) print_error(done.error());
    session.exit_status = done.ok() ? k_exit_ok : exit_status(done.error().code);
  });
}

}  // namespace stallcast::cli
