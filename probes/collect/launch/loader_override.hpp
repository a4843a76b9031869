/// Settings that a run shall give to the job's training loader, on their way to the Python part.
///
/// They travel as loader.json in the run folder, which every process of the job finds through STALLCAST_RUN_DIR; the
/// shim (stallcast_shim/torch_loader/override.py) reads it once, when torch's loader module is imported.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/result.hpp"

namespace stallcast::collect {

struct LoaderOverride {
  std::optional<int> workers{};   ///< num_workers; absent: as the script says
  std::optional<int> prefetch{};  ///< prefetch_factor; absent: as the script says, or torch's default

  /// By what the training loader is recognised when it is constructed; what is absent is not looked at.
  std::string dataset_type{};
  std::optional<std::int64_t> dataset_samples{};
  std::optional<std::int64_t> batch_size{};
  std::optional<bool> shuffled{};
  std::optional<bool> drop_last{};
};

/// The content of loader.json.
[[nodiscard]] std::string override_text(const LoaderOverride& asked);

/// Writes loader.json into `run_folder`, mode 0600. environment error if that fails.
[[nodiscard]] Status write_loader_override(const std::filesystem::path& run_folder, const LoaderOverride& asked);

}  // namespace stallcast::collect
