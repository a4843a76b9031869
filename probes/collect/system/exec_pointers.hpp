/// Strings as exec(3) takes them.
#pragma once

#include <string>
#include <vector>

namespace stallcast::collect {

/// Pointers to the strings, which must outlive them, and a null pointer behind the last one.
[[nodiscard]] inline std::vector<char*> exec_pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (const std::string& text : strings) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

}  // namespace stallcast::collect
