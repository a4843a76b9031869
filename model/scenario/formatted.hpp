/// Numbers in the notes and labels that answers carry.
#pragma once

#include <cstdio>
#include <string>

namespace stallcast {

/// One number in printf's `format`, of at most 63 characters.
[[nodiscard]] inline std::string formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

}  // namespace stallcast
