/// From a plan to one HTML page.
#pragma once

#include <string>
#include <vector>

#include "analyzer/profile/profile.hpp"
#include "core/result.hpp"
#include "model/plan/catalog.hpp"
#include "model/plan/plan.hpp"

namespace stallcast {

/// Where a plan's inputs come from, as the user named them.
struct PlanSource {
  std::string profile{};
  std::string catalog{};
  std::string profile_written{};       ///< when the profile's file was last changed, in words; empty where not known
  std::vector<std::string> command{};  ///< that makes the page again
};

/// The whole page as one string (UTF-8, ends with a newline). Strings of the catalogue and of the profile are treated
/// as hostile. Errors: internal, if a built-in template is broken.
[[nodiscard]] Result<std::string> render_plan_html(const Plan& plan, const Catalog& catalog, const PlanTarget& target,
                                                   const Profile& profile, const PlanSource& source);

}  // namespace stallcast
