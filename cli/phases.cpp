#include "cli/phases.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/analyze.hpp"
#include "analyzer/profile/tight_rates.hpp"

namespace stallcast::cli {
namespace {

using record::Phase;

/// Blocks of which one half is in memory are made no more: those wholly from memory tell what they did.
constexpr std::array<std::pair<std::string_view, Phase>, 8> k_phases{{{"cold", Phase::cold},
                                                                      {"cached", Phase::cached},
                                                                      {"synthetic", Phase::synthetic},
                                                                      {"supply", Phase::supply_cached},
                                                                      {"supply_cached", Phase::supply_cached},
                                                                      {"supply_cold", Phase::supply_cold},
                                                                      {"half_cached", Phase::cached},
                                                                      {"as_is", Phase::as_is}}};

const Phase* find_phase(const std::string& name) {
  for (const auto& [known, phase] : k_phases) {
    if (known == name) return &phase;
  }
  return nullptr;
}

void want(Phase phase, std::vector<Phase>& phases) {
  if (std::find(phases.begin(), phases.end(), phase) == phases.end()) phases.push_back(phase);
}

}  // namespace

Phase block_of(Phase phase) {
  if (phase == Phase::supply_cold) return Phase::cold;
  return phase == Phase::supply_cached ? Phase::cached : phase;
}

Result<collect::PhaseWants> parse_phases(const std::string& list) {
  collect::PhaseWants wants;
  std::istringstream names(list);
  std::string name;
  while (std::getline(names, name, ',')) {
    const Phase* phase = find_phase(name);
    if (phase == nullptr) {
      return Error{ErrorCode::usage, fmt::format("--phases: '{}' is not a state", name),
                   "use a list of as_is, cold, cached, synthetic, supply, supply_cold"};
    }
    // The state as found is measured before the first round of any run.
    if (*phase == Phase::as_is) continue;
    want(*phase, wants.phases);
    if (name == "supply") want(Phase::supply_cold, wants.phases);
  }
  for (const Phase phase : std::vector<Phase>(wants.phases)) want(block_of(phase), wants.phases);
  return wants;
}

Result<record::Evict> parse_evict(const std::string& name) {
  if (name == "own") return record::Evict::own;
  if (name == "all") return record::Evict::all;
  if (name == "none") return record::Evict::none;
  return Error{ErrorCode::usage, fmt::format("--evict: '{}' is not known", name),
               "use own (pages that this run brought in), all (of the files it reads) or none"};
}

RatesSoFar rates_so_far(const std::filesystem::path& run_folder, double target) {
  RatesSoFar so_far;
  const auto profile = analyze(run_folder);
  if (!profile) return so_far;
  so_far.cold_fails = cold_blocks_fail(profile.value());
  const Rates& rates = profile.value().rates;
  const std::vector<Point>& points = profile.value().points;
  if (std::none_of(points.begin(), points.end(), [](const Point& point) { return point.method == "differential"; }))
    return so_far;
  const bool has_found_blocks = std::any_of(points.begin(), points.end(), [](const Point& point) {
    return point.phase == "as_is" && point.method == "differential";
  });
  const auto found = has_found_blocks ? rates.as_is : MeasuredEstimate<SamplesPerSecond>();
  const std::array<std::pair<std::string_view, const MeasuredEstimate<SamplesPerSecond>*>, 5> shown{
      {{"as found", &found},
       {"cold", &rates.cold},
       {"cached", &rates.cached},
       {"synthetic", &rates.synthetic},
       {"supply", &rates.supply_cached}}};
  for (const auto& [name, rate] : shown) {
    if (!*rate) continue;
    const double half = (*rate)->ci95_high.value() - (*rate)->mean.value();
    so_far.words += fmt::format("{}{} {:.0f} +-{:.0f}%", so_far.words.empty() ? "" : ", ", name, (*rate)->mean.value(),
                                100.0 * half / (*rate)->mean.value());
  }
  so_far.tight = !so_far.words.empty() && is_tight(found, target) && rates_are_tight(rates, target);
  return so_far;
}

}  // namespace stallcast::cli
