/// Whether what the kernel limits is what the job read from.
#include "analyzer/reads/limited_files.hpp"

#include <map>
#include <string>

#include "analyzer/reads/files_read.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {
namespace {

/// "12 on nfs4, 3 on tmpfs".
std::string words_of(const std::map<std::string, std::int64_t>& counts) {
  std::string text;
  for (const auto& [type, count] : counts) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " on " + type;
  }
  return text;
}

}  // namespace

void check_limited_files(const RunData& run, Profile& profile) {
  if (run.log.emulation.with != "kernel") return;
  if (run.log.limited_devices.empty()) {
    const char* reason = "no storage is limited";
    if (!run.log.emulation.disks.empty()) reason = "no file system was seen on the disks that are limited";
    profile.emulation.limited_files = Measured<Fraction>::absent(reason);
    return;
  }
  const auto files = files_read(run);
  if (files.empty()) {
    profile.emulation.limited_files =
        Measured<Fraction>::absent("no sample was seen reading a file (mapped files are read unseen)");
    return;
  }
  std::map<std::string, std::int64_t> elsewhere;
  std::int64_t outside = 0;
  for (const auto& [id, file] : files) {
    if (run.log.limited_devices.contains(file.path->device)) continue;
    ++outside;
    const auto type = run.log.filesystems.find(file.path->device);
    ++elsewhere[type != run.log.filesystems.end() ? type->second : "an unknown file system"];
  }
  const auto all = static_cast<double>(files.size());
  profile.emulation.limited_files = Fraction(1.0 - static_cast<double>(outside) / all);
  if (outside == 0) return;
  add_issue(profile.issues,
            {"emulation-disk-not-limited", Severity::warning, outside,
             "files of the data set lie on file systems whose storage the kernel did not limit, and were read as fast "
             "as ever: " +
                 words_of(elsewhere),
             "put the data on a local disk with a file system of its own, or leave --emulate-with kernel out"});
}

}  // namespace stallcast::sections
