/// Where the parts lie that go into the job's processes: beside the executable, in a build tree or an install tree.
#pragma once

#include <filesystem>

#include "core/result.hpp"

namespace stallcast::collect {

struct Installation {
  std::filesystem::path capture_library{};  ///< libstallcast_capture.so
  std::filesystem::path python_folder{};    ///< holds sitecustomize.py
  std::filesystem::path gpu_library{};      ///< libstallcast_cupti.so; empty: it was built without
};

/// Looks around the running executable. environment error if a part is missing.
[[nodiscard]] Result<Installation> find_installation();

/// The same around `executable_folder`.
[[nodiscard]] Result<Installation> find_installation_at(const std::filesystem::path& executable_folder);

}  // namespace stallcast::collect
