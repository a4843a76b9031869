#include "probes/collect/launch/loader_override.hpp"

#include <nlohmann/json.hpp>

#include "core/utf8.hpp"
#include "core/write_file.hpp"
#include "probes/collect/system/or_null.hpp"

namespace stallcast::collect {
namespace {

constexpr char k_loader_file[] = "loader.json";

}  // namespace

std::string override_text(const LoaderOverride& asked) {
  nlohmann::json where = nlohmann::json::object();
  if (!asked.dataset_type.empty()) where["dataset_type"] = valid_utf8(asked.dataset_type);
  if (asked.dataset_samples) where["dataset_samples"] = *asked.dataset_samples;
  if (asked.batch_size) where["batch_size"] = *asked.batch_size;
  if (asked.shuffled) where["shuffled"] = *asked.shuffled;
  if (asked.drop_last) where["drop_last"] = *asked.drop_last;
  const nlohmann::json text{{"num_workers", or_null(asked.workers)},
                            {"prefetch_factor", or_null(asked.prefetch)},
                            {"where", std::move(where)}};
  return text.dump() + "\n";
}

Status write_loader_override(const std::filesystem::path& run_folder, const LoaderOverride& asked) {
  return write_private_file(run_folder / k_loader_file, override_text(asked));
}

}  // namespace stallcast::collect
