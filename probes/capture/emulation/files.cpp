/// Which files are data, and what a read of one asks of storage.
#include <algorithm>
#include <cstring>

#include "core/read_ahead.hpp"
#include "probes/capture/emulation/emulate.hpp"
#include "probes/capture/emulation/state.hpp"
#include "probes/capture/paths.hpp"
#include "probes/capture/phases/settle.hpp"
#include "probes/capture/phases/state.hpp"
#include "probes/capture/read_ahead.hpp"
#include "probes/capture/small_text.hpp"
#include "probes/record/raw.hpp"

namespace stallcast::capture {
namespace {

namespace raw = record::raw;

constexpr auto k_relaxed = std::memory_order_relaxed;
constexpr std::size_t k_table_bytes = sizeof(EmulatedFile) * k_tracked_fds;
constexpr std::uint64_t k_page = 4096;
constexpr std::uint64_t k_most_at_once = 1024 * 1024;  ///< of one request, where that much is asked for

constinit std::atomic<EmulatedFile*> g_files{nullptr};

EmulatedFile* map_files() {
  void* mapped = raw::map(k_table_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == nullptr) return nullptr;
  EmulatedFile* known = nullptr;
  if (g_files.compare_exchange_strong(known, static_cast<EmulatedFile*>(mapped))) {
    return static_cast<EmulatedFile*>(mapped);
  }
  raw::unmap(mapped, k_table_bytes);
  return known;
}

/// Interpreters, libraries and system tables are not what a job trains on; they may lie on the same disk all the same.
bool is_system(const char* path) {
  constexpr const char* k_roots[] = {"/usr/lib", "/usr/share/", "/lib/", "/lib32/", "/lib64/", "/etc/"};
  constexpr const char* k_folders[] = {"/site-packages/", "/dist-packages/", "/lib/python"};
  const bool below = std::any_of(std::begin(k_roots), std::end(k_roots),
                                 [&](const char* root) { return strncmp(path, root, strlen(root)) == 0; });
  return below || std::any_of(std::begin(k_folders), std::end(k_folders),
                              [&](const char* folder) { return strstr(path, folder) != nullptr; });
}

/// The tool's own files are not the job's.
bool is_of_run(const char* path) {
  const char* folder = run_folder();
  const std::size_t length = strlen(folder);
  return length > 0 && strncmp(path, folder, length) == 0;
}

DataFile by_name(const char* path, int flags) {
  const Opened opened = describe_open(path, flags);
  const bool is_data =
      (flags & O_ACCMODE) == O_RDONLY && opened.file_id != 0 && !opened.import && !is_system(path) && !is_of_run(path);
  return is_data ? DataFile::unmeasured : DataFile::no;
}

/// A descriptor that was not seen being opened.
DataFile by_descriptor(int fd) {
  char link[k_fd_link_bytes];
  char path[512];
  const ssize_t length = raw::read_link(fd_link(fd, link), path, sizeof(path) - 1);
  if (length <= 0 || path[0] != '/') return DataFile::no;
  path[length] = '\0';
  return by_name(path, O_RDONLY);
}

std::uint64_t read_ahead_of(std::uint64_t device) {
  const std::uint64_t given = g_emulation.load(k_relaxed)->settings.read_ahead_bytes;
  return given != 0 ? given : read_ahead_of_device(device);
}

void measure(EmulatedFile& file, int fd) {
  struct stat status {};
  if (raw::stat_fd(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    file.data.store(DataFile::no, k_relaxed);
    return;
  }
  const auto modified_ns = static_cast<std::uint64_t>(status.st_mtim.tv_sec) * 1'000'000'000ULL +
                           static_cast<std::uint64_t>(status.st_mtim.tv_nsec);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const std::uint64_t words[] = {status.st_dev, status.st_ino, modified_ns, size};
  file.key.store(hash_words(words, 4), k_relaxed);
  file.device.store(status.st_dev, k_relaxed);
  file.inode.store(status.st_ino, k_relaxed);
  file.size.store(size, k_relaxed);
  file.ahead.store(read_ahead_of(status.st_dev), k_relaxed);
  file.data.store(DataFile::yes, k_relaxed);
}

std::uint64_t whole_pages(std::uint64_t bytes) {
  return (bytes + k_page - 1) / k_page * k_page;
}

/// How much of begin..end-1 lies in the stretch aside.
std::uint64_t in_both(const EmulatedFile& file, std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t from = std::max(begin, file.aside_begin.load(k_relaxed));
  const std::uint64_t to = std::min(end, file.aside_end.load(k_relaxed));
  return from < to ? to - from : 0;
}

}  // namespace

EmulatedFile* emulated_file(int fd) {
  if (fd < 0 || fd >= k_tracked_fds) return nullptr;
  EmulatedFile* files = g_files.load(std::memory_order_acquire);
  if (files == nullptr) files = map_files();
  return files != nullptr ? &files[fd] : nullptr;
}

void rewind(EmulatedFile& file) {
  file.unit.store(0, k_relaxed);
  file.fetched_begin.store(0, k_relaxed);
  file.fetched_end.store(0, k_relaxed);
  file.window.store(0, k_relaxed);
  file.aside_begin.store(0, k_relaxed);
  file.aside_end.store(0, k_relaxed);
}

bool is_data_file(EmulatedFile& file, int fd) {
  DataFile data = file.data.load(k_relaxed);
  if (data == DataFile::unknown) {
    data = by_descriptor(fd);
    rewind(file);
    file.data.store(data, k_relaxed);
  }
  if (data == DataFile::unmeasured) {
    measure(file, fd);
    data = file.data.load(k_relaxed);
  }
  return data == DataFile::yes;
}

Demand fetch(EmulatedFile& file, std::uint64_t begin, std::uint64_t end, std::uint64_t limit) {
  const std::uint64_t from = begin / k_page * k_page;
  std::uint64_t fetched = file.fetched_end.load(k_relaxed);
  std::uint64_t window = file.window.load(k_relaxed);
  const bool moves_on = fetched != 0 && from >= file.fetched_begin.load(k_relaxed) && from <= fetched;
  if (!moves_on) {
    file.aside_begin.store(file.fetched_begin.load(k_relaxed), k_relaxed);
    file.aside_end.store(fetched, k_relaxed);
    file.fetched_begin.store(from, k_relaxed);
    fetched = from;
    window = 0;
  }
  Demand demand{0, 0};
  const std::uint64_t wanted = whole_pages(end) - from;
  // Where a single call asks for more than is read ahead, it is fetched as it was asked for.
  const std::uint64_t most = std::max(file.ahead.load(k_relaxed), std::min(wanted, k_most_at_once));
  while (fetched < end && fetched < limit) {
    const std::uint64_t rest = whole_pages(end) - fetched;
    if (window != 0) {
      window = next_window(window, most);
    } else if (moves_on || from == 0) {
      window = first_window(rest, most);
    } else {
      window = std::min(rest, most);  // somewhere in the middle: nothing is read ahead
    }
    const std::uint64_t bytes = std::min(window, limit - fetched);
    const std::uint64_t asked = bytes - in_both(file, fetched, fetched + bytes);
    demand.bytes += asked;
    demand.requests += (asked + k_most_at_once - 1) / k_most_at_once;
    fetched += bytes;
  }
  file.fetched_end.store(fetched, k_relaxed);
  file.window.store(static_cast<std::uint32_t>(window), k_relaxed);
  return demand;
}

void passed(EmulatedFile& file, std::uint64_t end) {
  file.fetched_begin.store(end, k_relaxed);
  file.fetched_end.store(end, k_relaxed);
}

void emulate_opened(int fd, const char* path, int flags) {
  EmulatedFile* file = emulated_file(fd);
  if (file == nullptr) return;
  rewind(*file);
  file->data.store(by_name(path, flags), k_relaxed);
}

void emulate_forgotten(int fd) {
  EmulatedFile* file = emulated_file(fd);
  if (file != nullptr) file->data.store(DataFile::unknown, k_relaxed);
}

void emulate_copied(int fd, int copy) {
  const EmulatedFile* from = emulated_file(fd);
  EmulatedFile* to = emulated_file(copy);
  if (from == nullptr || to == nullptr) return;
  to->serial.store(from->serial.load(k_relaxed), k_relaxed);
  to->key.store(from->key.load(k_relaxed), k_relaxed);
  to->device.store(from->device.load(k_relaxed), k_relaxed);
  to->inode.store(from->inode.load(k_relaxed), k_relaxed);
  to->size.store(from->size.load(k_relaxed), k_relaxed);
  to->unit.store(from->unit.load(k_relaxed), k_relaxed);
  to->fetched_begin.store(from->fetched_begin.load(k_relaxed), k_relaxed);
  to->fetched_end.store(from->fetched_end.load(k_relaxed), k_relaxed);
  to->aside_begin.store(from->aside_begin.load(k_relaxed), k_relaxed);
  to->aside_end.store(from->aside_end.load(k_relaxed), k_relaxed);
  to->ahead.store(from->ahead.load(k_relaxed), k_relaxed);
  to->window.store(from->window.load(k_relaxed), k_relaxed);
  to->is_hit.store(from->is_hit.load(k_relaxed), k_relaxed);
  to->data.store(from->data.load(k_relaxed), k_relaxed);
}

}  // namespace stallcast::capture
