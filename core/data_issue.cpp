#include "core/data_issue.hpp"

#include <algorithm>
#include <utility>

namespace stallcast {

const char* severity_name(Severity severity) {
  switch (severity) {
    case Severity::info:
      return "info";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "warning";
}

Severity severity_from_name(const std::string& name) {
  if (name == "info") return Severity::info;
  if (name == "error") return Severity::error;
  return Severity::warning;
}

void add_issue(std::vector<DataIssue>& issues, DataIssue issue) {
  const auto same = std::find_if(issues.begin(), issues.end(), [&](const DataIssue& known) {
    return known.id == issue.id && known.detail == issue.detail;
  });
  if (same != issues.end()) {
    same->count += issue.count;
    return;
  }
  issues.push_back(std::move(issue));
}

}  // namespace stallcast
