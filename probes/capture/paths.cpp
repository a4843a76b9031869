#include "probes/capture/paths.hpp"

#include <sys/stat.h>

#include <cstring>

#include "probes/record/hash.hpp"
#include "probes/record/raw.hpp"

namespace stallcast::capture {
namespace {

namespace raw = record::raw;

constexpr std::size_t k_seen_ids = 1U << 16;
constexpr std::size_t k_ids_in_line = 8;  // a cache line: an id lies anywhere in the line that it hashes to
constexpr std::size_t k_seen_bytes = k_seen_ids * sizeof(std::uint64_t);
constexpr std::size_t k_longest_path = 4095;

using SeenId = std::atomic<std::uint64_t>;
constinit std::atomic<SeenId*> g_seen{nullptr};

SeenId* seen_table() {
  SeenId* table = g_seen.load(std::memory_order_acquire);
  if (table != nullptr) return table;
  const raw::ErrnoKeeper keeper;
  void* mapped = raw::map(k_seen_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == nullptr) return nullptr;
  if (g_seen.compare_exchange_strong(table, static_cast<SeenId*>(mapped))) return static_cast<SeenId*>(mapped);
  raw::unmap(mapped, k_seen_bytes);
  return table;
}

template <class Id>
Id* line_of(Id* table, std::uint64_t file_id) {
  return table + file_id % (k_seen_ids / k_ids_in_line) * k_ids_in_line;
}

/// Whether the id is remembered; it is from now on, in the place of another one where its line is full. Also where
/// there is no room for its record: the budget does not grow again, and one dropped record is one.
bool see(SeenId* table, std::uint64_t file_id) {
  SeenId* line = line_of(table, file_id);
  std::size_t at = (file_id >> 32) % k_ids_in_line;
  for (std::size_t i = 0; i < k_ids_in_line; ++i) {
    const std::uint64_t seen = line[i].load(std::memory_order_relaxed);
    if (seen == file_id) return true;
    if (seen == 0) {
      at = i;
      break;
    }
  }
  line[at].store(file_id, std::memory_order_relaxed);
  return false;
}

/// Whether `text` begins with `prefix`; inlined, because this runs at every open.
template <std::size_t bytes>
bool starts_with(const char* text, std::size_t length, const char (&prefix)[bytes]) {
  return length >= bytes - 1 && __builtin_memcmp(text, prefix, bytes - 1) == 0;
}

template <std::size_t bytes>
bool ends_with(const char* text, std::size_t length, const char (&suffix)[bytes]) {
  return length >= bytes - 1 && __builtin_memcmp(text + length - (bytes - 1), suffix, bytes - 1) == 0;
}

/// .py, .pyc, and .so with or without a version behind it.
bool is_import(const char* path, std::size_t length) {
  while (length > 0 && ((path[length - 1] >= '0' && path[length - 1] <= '9') || path[length - 1] == '.')) --length;
  return ends_with(path, length, ".so") || ends_with(path, length, ".py") || ends_with(path, length, ".pyc");
}

/// `path`, which is relative to `folder`, as a whole name; its length, 0 where the folder has no name or it is too
/// long. Not asked of the file's own descriptor: that has the name behind links, and this the one that was opened.
std::size_t whole_name(int folder, const char* path, std::size_t length, char (&name)[k_longest_path + 1]) {
  const raw::ErrnoKeeper keeper;
  char link[k_fd_link_bytes];
  const char* of = folder == AT_FDCWD ? "/proc/self/cwd" : fd_link(folder, link);
  const ssize_t taken = raw::read_link(of, name, k_longest_path);
  if (taken <= 0 || name[0] != '/') return 0;
  auto end = static_cast<std::size_t>(taken);
  if (end > 1) name[end++] = '/';
  while (length > 2 && path[0] == '.' && path[1] == '/') {
    path += 2;
    length -= 2;
  }
  if (end + length > k_longest_path) return 0;
  memcpy(name + end, path, length);
  return end + length;
}

}  // namespace

std::uint64_t hash_path(const char* path, std::size_t length) {
  return record::hash_bytes(path, length);
}

Opened describe_open(const char* path, int flags) {
  Opened opened{.length = strnlen(path, k_longest_path + 1), .file_id = 0, .ignored = false, .import = false};
  const bool for_reading = (flags & O_ACCMODE) != O_WRONLY && (flags & (O_PATH | O_DIRECTORY)) == 0;
  opened.ignored =
      !for_reading || starts_with(path, opened.length, "/proc/") || starts_with(path, opened.length, "/sys/");
  if (opened.ignored || opened.length > k_longest_path) return opened;
  if (starts_with(path, opened.length, "/dev/") && !starts_with(path, opened.length, "/dev/shm/")) return opened;
  opened.file_id = hash_path(path, opened.length);
  opened.import = is_import(path, opened.length);
  return opened;
}

bool note_path(Thread& thread, std::uint64_t file_id, int folder, const char* path, std::size_t length, int fd) {
  SeenId* table = seen_table();
  if (table == nullptr || see(table, file_id)) return false;
  char whole[k_longest_path + 1];
  const std::size_t whole_length = length > 0 && path[0] == '/' ? 0 : whole_name(folder, path, length, whole);
  if (whole_length > 0) {
    path = whole;
    length = whole_length;
  }
  const auto padded = static_cast<std::uint32_t>((length + 7) / 8 * 8);
  auto* room = reserve<record::PathRecord>(thread, record::Kind::path, static_cast<std::uint32_t>(length), padded);
  if (room == nullptr) return true;
  room->file_id = file_id;
  room->size_bytes = UINT64_MAX;
  room->device = 0;
  char* text = reinterpret_cast<char*>(room + 1);
  memcpy(text, path, length);
  memset(text + length, 0, padded - length);
  record::commit(thread.out);
  thread.unsized_path = room;
  thread.unsized_fd = fd;
  return true;
}

bool knows_path(std::uint64_t file_id) {
  const SeenId* table = g_seen.load(std::memory_order_acquire);
  if (table == nullptr) return false;
  const SeenId* line = line_of(table, file_id);
  for (std::size_t i = 0; i < k_ids_in_line; ++i) {
    if (line[i].load(std::memory_order_relaxed) == file_id) return true;
  }
  return false;
}

void note_size(Thread& thread, int fd, std::uint64_t size_bytes, std::uint64_t device) {
  if (thread.unsized_path == nullptr || thread.unsized_fd != fd) return;
  __atomic_store_n(&thread.unsized_path->device, device, __ATOMIC_RELAXED);
  __atomic_store_n(&thread.unsized_path->size_bytes, size_bytes, __ATOMIC_RELAXED);
  thread.unsized_path = nullptr;
}

const char* fd_link(int fd, char (&link)[k_fd_link_bytes]) {
  char digits[12];
  char* at = digits + sizeof(digits);
  *--at = '\0';
  for (int rest = fd; at == digits + sizeof(digits) - 1 || rest != 0; rest /= 10) {
    *--at = static_cast<char>('0' + rest % 10);
  }
  strcpy(link, "/proc/self/fd/");
  strcat(link, at);
  return link;
}

std::uint64_t adopt_path(Thread& thread, int fd, std::uint64_t known_id) {
  const raw::ErrnoKeeper keeper;
  char link[k_fd_link_bytes];
  char path[512];
  const ssize_t length = raw::read_link(fd_link(fd, link), path, sizeof(path) - 1);
  if (length <= 0 || path[0] != '/') return known_id;
  path[length] = '\0';
  const Opened opened = describe_open(path, O_RDONLY);
  if (opened.file_id == 0) return known_id;
  const std::uint64_t id = known_id != 0 ? known_id : opened.file_id;
  note_path(thread, id, AT_FDCWD, path, opened.length, fd);
  struct stat status {};
  if (thread.unsized_path != nullptr && raw::stat_fd(fd, &status) == 0) {
    note_size(thread, fd, static_cast<std::uint64_t>(status.st_size), status.st_dev);
  }
  return id;
}

void forget_paths() {
  SeenId* table = g_seen.load(std::memory_order_acquire);
  if (table != nullptr) raw::advise(table, k_seen_bytes, MADV_DONTNEED);
}

}  // namespace stallcast::capture
