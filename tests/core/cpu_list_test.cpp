#include "core/cpu_list.hpp"

#include <doctest/doctest.h>

namespace stallcast {
namespace {

TEST_CASE("lists of CPUs") {
  CHECK(parse_cpu_list("0-3,8") == std::set<int>{0, 1, 2, 3, 8});
  CHECK(parse_cpu_list("7\n") == std::set<int>{7});
  CHECK(parse_cpu_list("") == std::set<int>{});
  for (const char* malformed : {"3-1", "a-b", "0-99999999999", "1;2", "-3", "2-", " 1"}) {
    CAPTURE(malformed);
    CHECK_FALSE(parse_cpu_list(malformed).has_value());
  }
}

}  // namespace
}  // namespace stallcast
