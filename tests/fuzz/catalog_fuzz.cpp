#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "model/plan/catalog.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

/// A catalogue: refused with the place of the mistake, or machines that can be.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stallcast;
  const auto catalog = parse_catalog({reinterpret_cast<const char*>(data), size});
  if (!catalog.ok()) {
    require(catalog.error().code == ErrorCode::bad_input && catalog.error().what.starts_with("catalogue: "));
    return 0;
  }
  require(!catalog.value().machines.empty());
  for (const Machine& machine : catalog.value().machines) {
    require(!machine.name.empty() && machine.ranks() >= 1 && machine.most_nodes >= 1);
    require(std::isfinite(machine.cores) && machine.cores > 0.0 && machine.memory.value() > 0.0);
    require(machine.price_per_hour >= 0.0 && machine.gpu_speed > 0.0);
    require(!machine.disk || machine.disk_bandwidth);
  }
  return 0;
}
