/// What a profile's next steps say.
#pragma once

#include <string>

#include "reports/findings/findings.hpp"

namespace stallcast::reports {

/// What is said of a next step; empty where it is none.
inline std::string said(const Profile& p, const std::string& key) {
  for (const NextStep& step : find(p).next) {
    if (step.key == key) return step.title + ": " + step.why;
  }
  return {};
}

inline bool advises(const Profile& p, const std::string& key) {
  return !said(p, key).empty();
}

}  // namespace stallcast::reports
