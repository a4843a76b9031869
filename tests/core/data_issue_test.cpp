#include "core/data_issue.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace stallcast {
namespace {

TEST_CASE("severities read back as written") {
  for (const Severity severity : {Severity::info, Severity::warning, Severity::error}) {
    CHECK(severity_from_name(severity_name(severity)) == severity);
  }
  CHECK(severity_from_name("catastrophe") == Severity::warning);
}

TEST_CASE("the same issue is counted, another one is listed") {
  std::vector<DataIssue> issues;
  add_issue(issues, {"torn-tail", Severity::warning, 1, "pid 7", ""});
  add_issue(issues, {"torn-tail", Severity::warning, 2, "pid 7", ""});
  add_issue(issues, {"torn-tail", Severity::warning, 1, "pid 8", ""});
  add_issue(issues, {"no-loader", Severity::error, 1, "pid 7", ""});
  REQUIRE(issues.size() == 3);
  CHECK(issues[0].count == 3);
  CHECK(issues[1].detail == "pid 8");
  CHECK(issues[1].count == 1);
  CHECK(issues[2].id == "no-loader");
}

}  // namespace
}  // namespace stallcast
