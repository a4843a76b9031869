#include "probes/capture/phase_copy.hpp"

#include <algorithm>
#include <cstring>

#include "probes/capture/phase.hpp"
#include "probes/capture/phase_calls.hpp"
#include "probes/capture/phase_names.hpp"

namespace stallcast::capture {
namespace {

constexpr std::size_t k_buffer_bytes = 256 * 1024;
constexpr std::uint32_t k_rounds_kept = 2;

/// Of what getdents64(2) gives.
struct Entry {
  std::uint64_t inode;
  std::int64_t next;
  std::uint16_t bytes;
  std::uint8_t type;
  char name[1];
};

/// Memory that a copy of `size` bytes takes.
std::uint64_t room_of(std::uint64_t size) {
  constexpr std::uint64_t k_page = 4096;
  return (size + k_page - 1) / k_page * k_page;
}

bool take_room(record::ControlBlock& control, std::uint64_t size) {
  const std::uint64_t bytes = room_of(size);
  if (control.stage_used_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes <= control.stage_budget_bytes) {
    return true;
  }
  control.stage_used_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

void give_room_back(record::ControlBlock& control, std::uint64_t size) {
  control.stage_used_bytes.fetch_sub(room_of(size), std::memory_order_relaxed);
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

void remove_round(record::ControlBlock& control, const char* folder) {
  for_each_entry(folder, [&](const char* name) {
    std::uint64_t size = 0;
    char path[k_stage_path_bytes];
    if (!parse_size(name, size) || !StageName(path).add(folder).add("/").add(name).complete()) return;
    if (raw::unlink_file(path) == 0) give_room_back(control, size);
  });
  raw::remove_folder(folder);
}

/// Old rounds, this process's and those of workers that are gone.
void remove_old_rounds(record::ControlBlock& control, std::uint32_t round) {
  for_each_entry(control.stage_dir, [&](const char* name) {
    std::uint32_t found = 0;
    char folder[k_stage_path_bytes];
    if (!parse_round(name, found) || found >= round || round - found < k_rounds_kept) return;
    if (StageName(folder).add(control.stage_dir).add_round(found).complete()) remove_round(control, folder);
  });
}

}  // namespace

Copier::Copier(record::ControlBlock& control, std::uint32_t round) : control_(control), round_(round) {}

Copier::~Copier() {
  if (buffer_ != nullptr) raw::unmap(buffer_, k_buffer_bytes);
}

bool Copier::prepare() {
  char folder[k_stage_path_bytes];
  if (!StageName(folder).add(control_.stage_dir).add_round(round_).complete()) return false;
  if (raw::make_folder(folder) != 0) return errno == EEXIST;
  remove_old_rounds(control_, round_);
  return true;
}

bool Copier::fill(int to, int from, std::uint64_t bytes) {
  off_t done = 0;
  while (static_cast<std::uint64_t>(done) < bytes) {
    const std::size_t rest = bytes - static_cast<std::uint64_t>(done);
    if (raw::copy_out(to, from, &done, rest) > 0) continue;
    if (done > 0 || (errno != EINVAL && errno != ENOSYS)) return false;
    break;
  }
  if (static_cast<std::uint64_t>(done) == bytes) return true;
  if (buffer_ == nullptr) {
    buffer_ = raw::map(k_buffer_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffer_ == nullptr) return false;
  }
  while (static_cast<std::uint64_t>(done) < bytes) {
    const std::size_t part = std::min<std::size_t>(k_buffer_bytes, bytes - static_cast<std::uint64_t>(done));
    const ssize_t got = raw::read_at(from, buffer_, part, done);
    if (got <= 0 || raw::write_at(to, buffer_, static_cast<std::size_t>(got), done) != got) return false;
    done += got;
  }
  return true;
}

/// Fills the file aside and gives it its name, unless the original has changed meanwhile or somebody was faster.
bool Copier::publish(int from, int to, const FileIdentity& identity, const char* aside, const char* name) {
  if (raw::allocate(to, 0, static_cast<off_t>(identity.size)) != 0 && errno != EOPNOTSUPP) return false;
  if (!fill(to, from, identity.size)) return false;
  struct stat after {};
  if (raw::stat_fd(from, &after) != 0 || identity_of(after) != identity) return false;
  return raw::rename_new(aside, name) == 0;
}

/// Room is what a name in the stage stands for: whoever removes the name gives it back.
bool Copier::copy_open(int from, const FileIdentity& identity, const char* aside, const char* name) {
  if (!take_room(control_, identity.size)) return false;
  const int to = raw::open_file(aside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (to < 0) {
    give_room_back(control_, identity.size);
    return errno == EEXIST;  // left by an earlier process with our number
  }
  const bool published = publish(from, to, identity, aside, name);
  const bool full = !published && errno == ENOSPC;
  if (!published && raw::unlink_file(aside) == 0) give_room_back(control_, identity.size);
  raw::close_fd(to);
  return !full;
}

bool Copier::copy(const char* path, const FileIdentity& identity) {
  char name[k_stage_path_bytes];
  char aside[k_stage_path_bytes];
  if (!StageName(name).add(control_.stage_dir).add_round(round_).add_copy(identity).complete()) return false;
  const auto pid = static_cast<std::uint64_t>(raw::process_id());
  if (!StageName(aside).add(name).add(".").add_decimal(pid).complete()) return false;
  struct stat status {};
  const bool is_there = raw::stat_at(AT_FDCWD, name, &status) == 0;
  if (is_there || identity.size > raw::file_size_limit()) return true;
  const int from = raw::open_file(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
  if (from < 0) return true;
  errno = 0;
  const bool is_same = raw::stat_fd(from, &status) == 0 && S_ISREG(status.st_mode) && identity_of(status) == identity;
  const bool goes_on = !is_same || copy_open(from, identity, aside, name);
  raw::close_fd(from);
  return goes_on;
}

}  // namespace stallcast::capture
