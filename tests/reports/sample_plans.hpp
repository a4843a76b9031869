/// Plans with plausible numbers for tests of reports, built by hand.
#pragma once

#include "reports/plan/plan.hpp"

namespace stallcast::testing {

/// What render_plan_html() takes beside a profile.
struct SamplePlan {
  Plan plan{};
  Catalog catalog{};
  PlanTarget target{};
  PlanSource source{};
};

/// Two machines, a target of 8 h that three nodes of the cheaper one meet surely; the choice is on the front.
[[nodiscard]] SamplePlan met_plan();
/// The same machines and a target that nothing meets; the nearest, an upper bound, is not on the front.
[[nodiscard]] SamplePlan missed_plan();
/// met_plan with every string of catalogue, plan and source replaced by an attack.
[[nodiscard]] SamplePlan hostile_plan();

}  // namespace stallcast::testing
