#include "cli/storage_of_run.hpp"

#include "analyzer/reads/files_read.hpp"
#include "analyzer/storage/summary.hpp"
#include "cli/terminal.hpp"
#include "probes/collect/storage/probe.hpp"

namespace stallcast::cli {
namespace {

void tell_unmeasured(Profile& profile, const std::string& reason) {
  add_issue(profile.issues, {"storage-not-measured", Severity::info, 1,
                             "how the storage serves more reads at once was not measured: " + reason,
                             "stallcast storage PATH measures it apart from a run"});
}

}  // namespace

void probe_storage_of(Profile& profile, std::span<const RunData> launches, const std::filesystem::path& recordings,
                      const StorageProbeSettings& settings) {
  const std::string& folder = profile.dataset.folder;
  if (folder.empty()) {
    return tell_unmeasured(profile, profile.dataset.files_seen ? "the files of the data set lie in no one folder"
                                                               : profile.dataset.files_seen.reason());
  }
  show_progress("reading some of the files in " + folder + " ...");
  collect::StorageOptions options;
  options.path = folder;
  options.files = paths_read(launches);
  options.budget = settings.budget;
  options.evict = settings.evict == "all" ? collect::StorageEvict::all : collect::StorageEvict::own;
  options.own = settings.own;
  options.brief = true;
  options.usable_cpus = profile.host.usable_cpus;
  const auto seen = collect::probe_storage(options);
  clear_progress();
  if (!seen) return tell_unmeasured(profile, seen.error().what);
  Storage storage = storage_summary(seen.value(), job_reading(profile));
  if (storage.rates.empty()) return tell_unmeasured(profile, storage.ceiling_rate.reason());
  if (const Status saved = save_storage(storage, recordings); !saved.ok()) print_error(saved.error());
  profile.storage = std::move(storage);
  check_supply(profile);
}

}  // namespace stallcast::cli
