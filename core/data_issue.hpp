/// Delivered, but impaired: problems of the data that travel to the report instead of being printed and forgotten.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stallcast {

enum class Severity { info, warning, error };

/// One kind of impairment seen in this run. `id` is a stable kebab-case name that scripts may match on.
struct DataIssue {
  std::string id{};
  Severity severity = Severity::warning;
  std::int64_t count = 1;  ///< how often it was seen
  std::string detail{};    ///< what was seen, with numbers
  std::string hint{};      ///< what the user can do about it; may be empty
};

/// "info", "warning" or "error".
[[nodiscard]] const char* severity_name(Severity severity);

/// The inverse of severity_name; unknown names read as warning.
[[nodiscard]] Severity severity_from_name(const std::string& name);

/// Adds `issue`, or adds its count to the one with the same id and detail that is there already.
void add_issue(std::vector<DataIssue>& issues, DataIssue issue);

}  // namespace stallcast
