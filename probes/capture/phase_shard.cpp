#include "probes/capture/phase_shard.hpp"

#include "probes/capture/kept_fd.hpp"
#include "probes/capture/phase_calls.hpp"
#include "probes/capture/phase_names.hpp"
#include "probes/capture/phase_settle.hpp"

namespace stallcast::capture {
namespace {

constexpr auto k_relaxed = std::memory_order_relaxed;
/// A copy stays open so long after its round that no thread can still be about to read from it.
constexpr std::uint32_t k_rounds_open = 2;

std::uint64_t shadow_key(const FileIdentity& file, std::uint32_t round) {
  const std::uint64_t words[] = {file.device, file.inode, file.modified_ns, file.size, round};
  return hash_words(words, 5);
}

int find_shadow(const PhaseState& state, std::uint64_t key) {
  for (const Shadow& shadow : state.shadows) {
    if (shadow.key.load(std::memory_order_acquire) != key) continue;
    const int fd = shadow.fd.load(k_relaxed);
    if (is_kept(fd, key)) return fd;
  }
  return -1;
}

/// A free place, or one whose round is long over.
Shadow* find_place(PhaseState& state, std::uint32_t round) {
  for (Shadow& shadow : state.shadows) {
    const std::uint64_t key = shadow.key.load(k_relaxed);
    if (key == 0) return &shadow;
    const std::uint32_t of_round = shadow.round.load(k_relaxed);
    if (of_round < round && round - of_round >= k_rounds_open) {
      shadow.key.store(0, k_relaxed);
      close_kept(shadow.fd.load(k_relaxed), key);
      return &shadow;
    }
  }
  return nullptr;
}

}  // namespace

std::uint64_t granule_key(const FileIdentity& file, std::uint32_t round, std::uint64_t granule) {
  const std::uint64_t words[] = {file.device, file.inode, file.modified_ns, file.size, round, granule};
  return hash_words(words, 6);
}

int shadow_of(PhaseState& state, const FileIdentity& file) {
  const std::uint32_t round = state.round.load(k_relaxed);
  const std::uint64_t key = shadow_key(file, round);
  const int known = find_shadow(state, key);
  if (known >= 0 || state.opening_shadow.exchange(1, std::memory_order_acquire) != 0) return known;
  int fd = find_shadow(state, key);
  Shadow* place = fd < 0 ? find_place(state, round) : nullptr;
  char path[k_stage_path_bytes];
  StageName name(path);
  name.add(process().writer.control->stage_dir).add_round(round).add_copy(file).add(k_part_ending);
  if (place != nullptr && name.complete()) {
    fd = open_kept(path, key);
    if (fd >= 0) {
      place->fd.store(fd, k_relaxed);
      place->round.store(round, k_relaxed);
      place->key.store(key, std::memory_order_release);
    }
  }
  state.opening_shadow.store(0, std::memory_order_release);
  return fd;
}

ssize_t read_copy(const ReadSource& source, int fd, const ReadPlan& plan) {
  const record::raw::ErrnoKeeper keeper;
  const ssize_t bytes = raw::read_at(source.fd, plan.buffer, plan.bytes, source.offset);
  if (bytes != static_cast<ssize_t>(source.bytes)) return -1;
  if (plan.offset < 0) ::syscall(SYS_lseek, fd, bytes, SEEK_CUR);
  return bytes;
}

}  // namespace stallcast::capture
