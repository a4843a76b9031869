/// The maps of this process, as the kernel has them now (/proc/self/maps), read without allocating.
#pragma once

#include <cstdint>

namespace stallcast::capture {

struct OwnMap {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t offset;  ///< in the file
  std::uint64_t inode;   ///< 0: of no file
  bool is_shared;
  bool is_writable;
};

/// "7f31c8000000-7f31c8021000 r--s 00000000 fe:00 1310733   /data/tokens.bin": false if it is none of this form.
bool parse_own_map(const char* line, OwnMap& out);

/// Calls `take(context, map)` for each.
void each_own_map(void (*take)(void* context, const OwnMap& map), void* context);

template <class Take>
void for_each_own_map(Take take) {
  each_own_map([](void* context, const OwnMap& map) { (*static_cast<Take*>(context))(map); }, &take);
}

}  // namespace stallcast::capture
