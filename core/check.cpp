#include "core/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace stallcast {

void fail_check(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "stallcast: BUG: %s does not hold (%s:%d)\n", condition, file, line);
  std::_Exit(70);
}

}  // namespace stallcast
