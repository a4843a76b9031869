#include "probes/collect/launch/loader_override.hpp"

#include <nlohmann/json.hpp>

#include "core/utf8.hpp"
#include "core/write_file.hpp"
#include "probes/collect/system/or_null.hpp"

namespace stallcast::collect {
namespace {

constexpr char k_loader_file[] = "loader.json";

}  // namespace

std::string wish_text(const LoaderWish& wish) {
  nlohmann::json where = nlohmann::json::object();
  if (!wish.dataset_type.empty()) where["dataset_type"] = valid_utf8(wish.dataset_type);
  if (wish.dataset_samples) where["dataset_samples"] = *wish.dataset_samples;
  if (wish.batch_size) where["batch_size"] = *wish.batch_size;
  if (wish.shuffled) where["shuffled"] = *wish.shuffled;
  if (wish.drop_last) where["drop_last"] = *wish.drop_last;
  const nlohmann::json text{
      {"num_workers", or_null(wish.workers)}, {"prefetch_factor", or_null(wish.prefetch)}, {"where", std::move(where)}};
  return text.dump() + "\n";
}

Status write_wish(const std::filesystem::path& run_folder, const LoaderWish& wish) {
  return write_private_file(run_folder / k_loader_file, wish_text(wish));
}

}  // namespace stallcast::collect
