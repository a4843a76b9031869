#include "probes/capture/own_maps.hpp"

#include <cstddef>

#include "probes/record/raw.hpp"

namespace stallcast::capture {
namespace {

namespace raw = record::raw;

constexpr std::size_t k_line = 128;  ///< what is looked at lies before the path

int digit_of(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  return 16;
}

/// Reads a number that ends with `ending`, and moves behind that.
bool take_number(const char*& at, int base, char ending, std::uint64_t& out) {
  const char* const first = at;
  out = 0;
  for (; digit_of(*at) < base; ++at)
    out = out * static_cast<std::uint64_t>(base) + static_cast<std::uint64_t>(digit_of(*at));
  if (at == first || *at != ending) return false;
  ++at;
  return true;
}

}  // namespace

bool parse_own_map(const char* line, OwnMap& out) {
  const char* at = line;
  if (!take_number(at, 16, '-', out.begin) || !take_number(at, 16, ' ', out.end)) return false;
  for (int i = 0; i < 4; ++i) {
    if (at[i] == '\0') return false;
  }
  out.is_writable = at[1] == 'w';
  out.is_shared = at[3] == 's';
  if (at[4] != ' ') return false;
  at += 5;
  std::uint64_t device = 0;
  return take_number(at, 16, ' ', out.offset) && take_number(at, 16, ':', device) && take_number(at, 16, ' ', device) &&
         take_number(at, 10, ' ', out.inode);
}

void each_own_map(void (*take)(void* context, const OwnMap& map), void* context) {
  const int fd = raw::open_file("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return;
  char line[k_line];
  std::size_t used = 0;
  char chunk[4096];
  off_t offset = 0;
  for (;;) {
    const ssize_t bytes = raw::read_at(fd, chunk, sizeof(chunk), offset);
    if (bytes <= 0) break;
    offset += bytes;
    for (ssize_t i = 0; i < bytes; ++i) {
      if (chunk[i] != '\n') {
        if (used < k_line - 2) line[used++] = chunk[i];
        continue;
      }
      line[used++] = ' ';  // an inode that ends the line ends like one that a path follows
      line[used] = '\0';
      used = 0;
      OwnMap map{};
      if (parse_own_map(line, map)) take(context, map);
    }
  }
  raw::close_fd(fd);
}

}  // namespace stallcast::capture
