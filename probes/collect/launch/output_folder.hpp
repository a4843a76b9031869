/// The folder that the user asked for: created, checked, filled; what is not ours is never touched.
#pragma once

#include <filesystem>
#include <string>

#include "core/result.hpp"

namespace stallcast::collect {

/// Names inside an output folder.
inline constexpr char k_recordings_folder[] = "recordings";
inline constexpr char k_tool_log_file[] = "tool.jsonl";
inline constexpr char k_profile_file[] = "profile.json";
inline constexpr char k_report_file[] = "report.html";

struct OutputFolder {
  std::filesystem::path path{};
  bool created = false;  ///< by us; removed again if nothing came of the run
};

/// Makes `wanted` ready to take results. It is created (mode 0700, parents as needed) or must be an empty folder; with
/// `force` it may hold anything, of which only our own files will be replaced. Empty `wanted`: ./stallcast-profile,
/// or ./stallcast-profile-2, -3, ... where that exists. usage error if it is not empty or no folder, environment
/// error if it cannot be written.
[[nodiscard]] Result<OutputFolder> prepare_output_folder(const std::filesystem::path& wanted, bool force);

/// Removes the folder again if we created it and it is still empty.
void drop_unused(const OutputFolder& output);

/// Moves (or copies, between file systems) the recordings and the tool's log of `run_folder` into
/// `output`/recordings, or its subfolder `part` where one profile is made of several launches; modes 0700 and 0600.
/// Files of ours from an earlier run in that folder go first.
[[nodiscard]] Status collect_recordings(const std::filesystem::path& run_folder, const OutputFolder& output,
                                        const std::string& part = {});

/// Removes the recordings of ours from `output`/recordings and its subfolders: they are of an earlier run.
[[nodiscard]] Status clear_recordings(const OutputFolder& output);

/// As collect_recordings, but leaves the originals: for a run folder whose job may still be running.
[[nodiscard]] Status copy_recordings(const std::filesystem::path& run_folder, const OutputFolder& output,
                                     const std::string& part = {});

}  // namespace stallcast::collect
