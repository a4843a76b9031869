#include "probes/collect/schedule/overhead_schedule.hpp"

#include "probes/collect/schedule/constants.hpp"

namespace stallcast::collect {
namespace {

/// Every `period`-th stretch is off, the last of its period.
constexpr std::uint64_t period_at(std::uint64_t stretch) {
  if (stretch < 600) return 15;
  return stretch < 3600 ? 60 : 300;
}

constexpr bool abba_records(std::uint64_t stretch) {
  return stretch % 4 == 0 || stretch % 4 == 3;
}

}  // namespace

std::optional<OverheadDuty> overhead_duty_from_name(std::string_view name) {
  if (name == "default") return OverheadDuty::usual;
  if (name == "always") return OverheadDuty::always;
  if (name == "off") return OverheadDuty::off;
  return std::nullopt;
}

bool stretch_records(OverheadDuty duty, std::uint64_t stretch) {
  if (duty == OverheadDuty::off) return true;
  if (duty == OverheadDuty::always || stretch < k_dense_stretches) return abba_records(stretch);
  const std::uint64_t period = period_at(stretch);
  return (stretch - k_dense_stretches) % period != period - 1;
}

bool stretch_is_compared(OverheadDuty duty, std::uint64_t stretch) {
  const bool before = stretch > 0 && !stretch_records(duty, stretch - 1);
  return before || !stretch_records(duty, stretch) || !stretch_records(duty, stretch + 1);
}

}  // namespace stallcast::collect
