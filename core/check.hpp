/// Our own bugs: a broken invariant stops the program at once and names its place.
#pragma once

namespace stallcast {

/// Prints "BUG: <condition> (file:line)" to stderr and exits with status 70.
[[noreturn]] void fail_check(const char* condition, const char* file, int line);

}  // namespace stallcast

#define STALLCAST_CHECK(condition)                                             \
  do {                                                                         \
    if (!(condition)) ::stallcast::fail_check(#condition, __FILE__, __LINE__); \
  } while (false)
