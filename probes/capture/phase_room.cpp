#include "probes/capture/phase_room.hpp"

#include <algorithm>
#include <cstring>

#include "probes/capture/phase_calls.hpp"
#include "probes/capture/phase_names.hpp"
#include "probes/capture/phase_shard.hpp"

namespace stallcast::capture {
namespace {

constexpr std::uint32_t k_rounds_kept = 2;
constexpr std::uint64_t k_page = 4096;

/// Of what getdents64(2) gives.
struct Entry {
  std::uint64_t inode;
  std::int64_t next;
  std::uint16_t bytes;
  std::uint8_t type;
  char name[1];
};

std::uint64_t whole_pages(std::uint64_t bytes) {
  return (bytes + k_page - 1) / k_page * k_page;
}

/// Calls `visit` with the name of each entry of a folder.
template <class Visit>
void for_each_entry(const char* folder, Visit visit) {
  const int fd = raw::open_file(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW, 0);
  if (fd < 0) return;
  alignas(Entry) char entries[2048];
  for (ssize_t bytes = 0; (bytes = raw::list_folder(fd, entries, sizeof(entries))) > 0;) {
    for (ssize_t at = 0; at < bytes;) {
      const auto* entry = reinterpret_cast<const Entry*>(entries + at);
      visit(entry->name);
      at += entry->bytes;
    }
  }
  raw::close_fd(fd);
}

/// Room that a copy has taken: parts of a file are told by what is allocated of them, a whole one may be half made.
bool room_of(const char* path, const char* name, std::uint64_t& room) {
  if (!parse_size(name, room)) return false;
  const char* ending = strstr(name, k_part_ending);
  struct stat status {};
  if (ending == nullptr || raw::stat_at(AT_FDCWD, path, &status) != 0) return true;
  constexpr std::uint64_t k_block = 512;
  room = static_cast<std::uint64_t>(status.st_blocks) * k_block;
  return true;
}

void remove_round(record::ControlBlock& control, const char* folder) {
  for_each_entry(folder, [&](const char* name) {
    std::uint64_t room = 0;
    char path[k_stage_path_bytes];
    if (!StageName(path).add(folder).add("/").add(name).complete() || !room_of(path, name, room)) return;
    if (raw::unlink_file(path) == 0) give_room_back(control, room);
  });
  raw::remove_folder(folder);
}

}  // namespace

bool take_room(record::ControlBlock& control, std::uint64_t bytes) {
  const std::uint64_t room = whole_pages(bytes);
  const std::uint64_t used = control.stage_used_bytes.fetch_add(room, std::memory_order_relaxed);
  if (used + room <= control.stage_budget_bytes) return true;
  control.stage_used_bytes.fetch_sub(room, std::memory_order_relaxed);
  return false;
}

void give_room_back(record::ControlBlock& control, std::uint64_t bytes) {
  std::uint64_t used = control.stage_used_bytes.load(std::memory_order_relaxed);
  while (!control.stage_used_bytes.compare_exchange_weak(used, used - std::min(used, whole_pages(bytes)),
                                                         std::memory_order_relaxed)) {
  }
}

void remove_old_rounds(record::ControlBlock& control, std::uint32_t round) {
  for_each_entry(control.stage_dir, [&](const char* name) {
    std::uint32_t found = 0;
    char folder[k_stage_path_bytes];
    if (!parse_round(name, found) || found >= round || round - found < k_rounds_kept) return;
    if (StageName(folder).add(control.stage_dir).add_round(found).complete()) remove_round(control, folder);
  });
}

}  // namespace stallcast::capture
