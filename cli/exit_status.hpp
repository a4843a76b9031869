/// Exit statuses of every command, in one place.
#pragma once

#include "core/result.hpp"

namespace stallcast::cli {

inline constexpr int k_exit_ok = 0;
inline constexpr int k_exit_said_no = 1;  ///< the check said no: `verify` disagrees, `diff --fail-on` holds
inline constexpr int k_exit_usage = 2;
inline constexpr int k_exit_wrapper = 125;  ///< our own failure in a command that wraps another, as env(1)

/// usage 2, environment 3, bad input 4, not enough data 5, internal 70.
[[nodiscard]] constexpr int exit_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage:
      return k_exit_usage;
    case ErrorCode::environment:
      return 3;
    case ErrorCode::bad_input:
      return 4;
    case ErrorCode::not_enough_data:
      return 5;
    case ErrorCode::internal:
      return 70;
  }
  return 70;
}

}  // namespace stallcast::cli
