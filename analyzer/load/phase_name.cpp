#include "analyzer/load/phase_name.hpp"

namespace stallcast {

const char* phase_name(record::Phase phase) {
  using record::Phase;
  switch (phase) {
    case Phase::as_is:
      return "as_is";
    case Phase::cold:
      return "cold";
    case Phase::cached:
      return "cached";
    case Phase::synthetic:
      return "synthetic";
    case Phase::supply_cached:
      return "supply_cached";
    case Phase::supply_cold:
      return "supply_cold";
    case Phase::half_cached:
      return "half_cached";
    case Phase::perturb_read:
      return "perturb_read";
    case Phase::perturb_cpu:
      return "perturb_cpu";
    case Phase::first_touch:
      return "first_touch";
    case Phase::end:
      return "end";
  }
  return "unknown";
}

}  // namespace stallcast
