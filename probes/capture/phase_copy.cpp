#include "probes/capture/phase_copy.hpp"

#include <algorithm>

#include "probes/capture/phase.hpp"
#include "probes/capture/phase_calls.hpp"
#include "probes/capture/phase_names.hpp"
#include "probes/capture/phase_ours.hpp"
#include "probes/capture/phase_room.hpp"
#include "probes/capture/phase_shard.hpp"

namespace stallcast::capture {
namespace {

constexpr std::size_t k_buffer_bytes = 256 * 1024;

/// Whether the open file still is what it was.
bool is_still(int fd, const FileIdentity& identity) {
  struct stat status {};
  return raw::stat_fd(fd, &status) == 0 && S_ISREG(status.st_mode) && identity_of(status) == identity;
}

}  // namespace

Copier::Copier(record::ControlBlock& control, std::uint32_t round) : control_(control), round_(round) {}

Copier::~Copier() {
  if (buffer_ != nullptr) raw::unmap(buffer_, k_buffer_bytes);
}

bool Copier::prepare() {
  buffer_ = raw::map(k_buffer_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char folder[k_stage_path_bytes];
  if (buffer_ == nullptr || !StageName(folder).add(control_.stage_dir).add_round(round_).complete()) return false;
  if (raw::make_folder(folder) != 0) return errno == EEXIST;
  remove_old_rounds(control_, round_);
  return true;
}

int Copier::open_original(const char* path, const FileIdentity& identity) const {
  if (identity.size > raw::file_size_limit()) return -1;
  const int fd = raw::open_file(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
  if (fd < 0 || is_still(fd, identity)) return fd;
  raw::close_fd(fd);
  return -1;
}

bool Copier::transfer(int to, int from, std::uint64_t begin, std::uint64_t end) {
  for (std::uint64_t at = begin; at < end;) {
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(k_buffer_bytes, end - at));
    const ssize_t got = raw::read_at(from, buffer_, part, static_cast<off_t>(at));
    if (got <= 0) return false;
    if (raw::write_at(to, buffer_, static_cast<std::size_t>(got), static_cast<off_t>(at)) != got) return false;
    at += static_cast<std::uint64_t>(got);
  }
  return true;
}

/// Fills the file aside and gives it its name, unless the original has changed meanwhile or somebody was faster.
bool Copier::publish(int from, int to, const FileIdentity& identity, const char* aside, const char* name) {
  return transfer(to, from, 0, identity.size) && is_still(from, identity) && raw::rename_new(aside, name) == 0;
}

bool Copier::copy_open(int from, const FileIdentity& identity, const char* aside, const char* name) {
  if (!take_room(control_, identity.size)) return false;
  const int to = raw::open_file(aside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (to < 0) {
    give_room_back(control_, identity.size);
    return errno == EEXIST;  // left by an earlier process with our number
  }
  errno = 0;
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
  if (raw::stat_at(AT_FDCWD, name, &status) == 0) return true;
  const int from = open_original(path, identity);
  if (from < 0) return true;
  const bool goes_on = copy_open(from, identity, aside, name);
  raw::close_fd(from);
  return goes_on;
}

/// A granule counts as staged only after its bytes are there and the original is known not to have changed before.
bool Copier::copy_granule(int from, int to, const FileIdentity& identity, std::uint64_t granule) {
  const std::uint64_t key = granule_key(identity, round_, granule);
  if (is_ours(key)) return true;
  const std::uint64_t begin = granule * k_granule;
  const std::uint64_t end = std::min(begin + k_granule, identity.size);
  if (!take_room(control_, end - begin)) return false;
  const bool is_there = transfer(to, from, begin, end) && is_still(from, identity);
  if (is_there && claim_ours(key)) return true;
  give_room_back(control_, end - begin);  // another worker was faster, or it failed
  return is_there;
}

bool Copier::copy_part(const char* path, const FileIdentity& identity, std::uint64_t first, std::uint64_t end) {
  char name[k_stage_path_bytes];
  StageName part(name);
  part.add(control_.stage_dir).add_round(round_).add_copy(identity).add(k_part_ending);
  if (!part.complete()) return false;
  const int from = open_original(path, identity);
  if (from < 0) return true;
  const int to = raw::open_file(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  bool goes_on = to >= 0 && raw::resize(to, identity.size) == 0;
  for (std::uint64_t granule = first; goes_on && granule < end; ++granule) {
    goes_on = copy_granule(from, to, identity, granule);
  }
  if (to >= 0) raw::close_fd(to);
  raw::close_fd(from);
  return goes_on;
}

}  // namespace stallcast::capture
