#include "cli/storage_of_run.hpp"

#include <algorithm>

#include "analyzer/storage_summary.hpp"
#include "cli/terminal.hpp"
#include "probes/collect/storage_probe.hpp"

namespace stallcast::cli {
namespace {

void not_measured(Profile& profile, const std::string& reason) {
  add_issue(profile.issues, {"storage-not-measured", Severity::info, 1,
                             "how the storage serves more reads at once was not measured: " + reason,
                             "stallcast storage PATH measures it apart from a run"});
}

/// Cold blocks drop the run's own pages: where they were cold, and nobody else's were met, there are no others.
bool all_pages_are_ours(const Profile& profile) {
  const auto met = [](const DataIssue& issue) { return issue.id == "cold-not-ours"; };
  return profile.rates.cold && std::none_of(profile.issues.begin(), profile.issues.end(), met);
}

}  // namespace

void probe_storage_of(Profile& profile, const std::vector<std::string>& files, const std::filesystem::path& recordings,
                      Seconds budget, const std::string& evict) {
  const std::string& folder = profile.dataset.folder;
  if (folder.empty()) {
    return not_measured(profile, profile.dataset.files_seen ? "the files of the data set lie in no one folder"
                                                            : profile.dataset.files_seen.reason());
  }
  show_progress("reading some of the files in " + folder + " ...");
  collect::StorageOptions options;
  options.path = folder;
  options.files = files;
  options.budget = budget;
  const bool ours = evict == "all" || all_pages_are_ours(profile);
  options.evict = ours ? collect::StorageEvict::all : collect::StorageEvict::own;
  options.brief = true;
  options.usable_cpus = profile.host.usable_cpus;
  const auto seen = collect::probe_storage(options);
  clear_progress();
  if (!seen) return not_measured(profile, seen.error().what);
  Storage storage = storage_summary(seen.value());
  if (storage.rates.empty()) return not_measured(profile, storage.ceiling_rate.reason());
  if (const Status saved = save_storage(storage, recordings); !saved.ok()) print_error(saved.error());
  profile.storage = std::move(storage);
}

}  // namespace stallcast::cli
