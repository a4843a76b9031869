#include <dlfcn.h>

#include <algorithm>

#include "probes/collect/perf/symbols.hpp"

namespace stallcast::collect {
namespace {

constexpr const char* k_functions[] = {
    "memcpy", "memmove", "mempcpy", "memset",    "memcmp",     "memchr",      "memrchr", "strlen",  "strnlen",
    "strcmp", "strncmp", "strchr",  "strrchr",   "strchrnul",  "strcpy",      "strncpy", "stpcpy",  "strcat",
    "strspn", "strstr",  "strcspn", "rawmemchr", "strcasecmp", "strncasecmp", "wcslen",  "wmemset", "wcsnlen"};

LibcFunctions find_functions() {
  LibcFunctions found;
  Dl_info where{};
  // A function that every process has and that no sanitizer replaces says which file is the C library.
  if (dladdr(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &where) == 0 || where.dli_fname == nullptr) return found;
  const std::string file = where.dli_fname;
  for (const char* name : k_functions) {
    void* entry = dlsym(RTLD_DEFAULT, name);  // the variant that was chosen for this processor
    if (entry == nullptr || dladdr(entry, &where) == 0 || where.dli_fname == nullptr || file != where.dli_fname) {
      continue;
    }
    const auto bias = reinterpret_cast<std::uintptr_t>(where.dli_fbase);
    found.entries.emplace_back(reinterpret_cast<std::uintptr_t>(entry) - bias, name);
  }
  found.file = file;
  std::sort(found.entries.begin(), found.entries.end());
  return found;
}

}  // namespace

const LibcFunctions& libc_functions() {
  static const LibcFunctions functions = find_functions();
  return functions;
}

}  // namespace stallcast::collect
