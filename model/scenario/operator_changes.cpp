#include "model/scenario/operator_changes.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/units.hpp"
#include "model/scenario/constants.hpp"

namespace stallcast {
namespace {

constexpr const char* k_example =
    "write for example operator=Resize:x2, operator=Resize:off, or operator=Resize:gpu20 on the accelerator";

/// "x2", "2x", "2", "off", which is endlessly fast, or "gpu20": on the accelerator, 20 times as fast as in a worker.
Result<OperatorChange> parse_change(std::string_view text) {
  OperatorChange change;
  change.speedup = std::numeric_limits<double>::infinity();
  if (text == "off") return change;
  change.on_device = text.starts_with("gpu");
  if (change.on_device) text.remove_prefix(3);
  if (!text.empty() && text.front() == 'x') text.remove_prefix(1);
  auto factor = parse_factor(text);
  if (!factor || factor.value() < 1.0 / k_largest_operator_factor || factor.value() > k_largest_operator_factor) {
    return usage_error("'" + std::string(text) + "' is neither off nor a factor of 0.001 to 1000", k_example);
  }
  change.speedup = factor.value();
  return change;
}

}  // namespace

Status set_operators(Scenario& scenario, std::string_view value) {
  std::vector<OperatorChange> changes;
  while (!value.empty()) {
    const std::size_t plus = std::min(value.find('+'), value.size());
    const std::string_view one = value.substr(0, plus);
    value.remove_prefix(std::min(plus + 1, value.size()));
    const std::size_t colon = one.rfind(':');
    if (colon == std::string_view::npos || colon == 0) {
      return usage_error("'" + std::string(one) + "' does not say how much faster", k_example);
    }
    auto change = parse_change(one.substr(colon + 1));
    if (!change) return change.error();
    const std::string name(one.substr(0, colon));
    const bool twice =
        std::any_of(changes.begin(), changes.end(), [&](const auto& other) { return other.name == name; });
    if (twice) return usage_error("the operator '" + name + "' is changed twice", "change each operator once");
    change.value().name = name;
    changes.push_back(std::move(change).value());
  }
  scenario.operators = std::move(changes);
  return {};
}

}  // namespace stallcast
