#include "probes/collect/storage/pool.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "core/clock.hpp"
#include "probes/collect/storage/constants.hpp"

namespace stallcast::collect {
namespace {

using record::StorageRead;
using record::StorageState;

bool lies_in_memory(int file) {
  struct statfs facts {};
  if (fstatfs(file, &facts) != 0) return false;
  constexpr long k_ramfs = 0x858458f6;
  return facts.f_type == TMPFS_MAGIC || facts.f_type == k_ramfs || facts.f_type == HUGETLBFS_MAGIC;
}

std::size_t most_held() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 64;
  return std::clamp<std::size_t>(static_cast<std::size_t>(limit.rlim_cur) / 4, 8, k_most_open_files);
}

/// The task's descriptor for the page cache, opened if it holds none.
template <class Action>
void with_file(const ReadTask& task, Action action) {
  const bool own = task.file < 0;
  const int file = own ? open(task.path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : task.file;
  if (file < 0) return;
  action(file);
  if (own) close(file);
}

}  // namespace

StoragePool::StoragePool(const FileSample& sample, StorageEvict evict, const PopulatedPages& own, std::uint64_t seed,
                         std::uint64_t deadline_ns)
    : evict_(evict), own_(own), random_(seed) {
  const auto is_large = [](const SampledFile& file) { return file.bytes > k_most_whole_bytes; };
  const auto large = static_cast<std::size_t>(std::count_if(sample.files.begin(), sample.files.end(), is_large));
  const std::size_t hold = most_held();
  bool memory_only = false;
  for (const SampledFile& file : sample.files) {
    const std::uint64_t begin_ns = monotonic_ns();
    const int descriptor = open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    const std::uint64_t end_ns = monotonic_ns();
    struct stat facts {};
    if (descriptor < 0 || fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) {
      unreadable_reason_ = descriptor < 0 ? std::strerror(errno) : "it is no file any more";
      ++unreadable_;
      if (descriptor >= 0) close(descriptor);
      continue;
    }
    open_s_.push_back(static_cast<double>(end_ns - begin_ns) * 1e-9);
    memory_only = memory_only || lies_in_memory(descriptor);
    const bool inside = evict == StorageEvict::all && lies_inside(file.path, sample.facts.path);
    look_at({descriptor, facts, inside}, file.path,
            std::max<std::size_t>(1, k_large_file_stretches / std::max<std::size_t>(1, large)));
    if (files_.size() <= hold) {
      files_.back().held = descriptor;
      posix_fadvise(descriptor, 0, 0, POSIX_FADV_RANDOM);
    } else {
      close(descriptor);
    }
    if (end_ns > deadline_ns) break;
  }
  decide_cold(memory_only);
}

StoragePool::~StoragePool() {
  for (const File& file : files_) {
    if (file.held >= 0) close(file.held);
    if (file.held_direct >= 0) close(file.held_direct);
  }
}

void StoragePool::look_at(const Looked& file, const std::string& path, std::size_t stretches) {
  files_.push_back({path});
  const auto bytes = static_cast<std::uint64_t>(file.facts.st_size);
  const auto place = static_cast<std::uint32_t>(files_.size() - 1);
  if (bytes == 0) return;
  if (bytes <= k_most_whole_bytes) {
    add_stretch(file, {place, {0, bytes}, true});
    return;
  }
  const std::uint64_t all = bytes / k_stretch_bytes;
  std::vector<std::uint64_t> chosen;
  for (std::size_t i = 0; i < std::min<std::uint64_t>(stretches, all); ++i) chosen.push_back(random_() % all);
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  for (const std::uint64_t number : chosen) {
    add_stretch(file, {place, {number * k_stretch_bytes, k_stretch_bytes}, false});
  }
}

void StoragePool::add_stretch(const Looked& file, Stretch stretch) {
  auto pages = resident_pages(file.descriptor, stretch.range);
  if (pages) {
    known_ = true;
    pages_ += pages->all;
    resident_pages_ += pages->resident;
    stretch.resident = pages->resident > 0;
    if (stretch.resident && (file.may_drop || own_.hold(file.facts, stretch.range))) {
      drop_pages(file.descriptor, stretch.range);
      pages = resident_pages(file.descriptor, stretch.range);
    }
    stretch.may_drop = pages && pages->resident == 0;
  }
  stretches_.push_back(stretch);
}

bool StoragePool::open_direct() {
  bool any = false;
  for (File& file : files_) {
    if (file.held < 0) continue;
    file.held_direct = open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_DIRECT);
    any = any || file.held_direct >= 0;
  }
  return any;
}

void StoragePool::decide_cold(bool memory_only) {
  const bool droppable = std::any_of(stretches_.begin(), stretches_.end(), [](const Stretch& s) { return s.may_drop; });
  if (memory_only) {
    no_cold_ = "the files lie in memory (tmpfs): there is no storage behind them";
  } else if (!known_) {
    direct_ = open_direct();
    if (!direct_) {
      no_cold_ = "only a file's owner or writer may ask what of it is in memory, and this file system refuses O_DIRECT";
    }
  } else if (!droppable) {
    no_cold_ = evict_ == StorageEvict::own
                   ? "all of the files are in memory already, and are left there (--evict own)"
                   : "the files cannot be dropped from memory: they are mapped, locked or being written";
  }
}

double StoragePool::resident_share() const {
  return pages_ > 0 ? static_cast<double>(resident_pages_) / static_cast<double>(pages_) : -1.0;
}

double StoragePool::cold_bytes() const {
  double bytes = 0.0;
  for (const Stretch& stretch : stretches_) {
    if (direct_ || stretch.may_drop) bytes += static_cast<double>(stretch.range.bytes);
  }
  return bytes;
}

std::vector<const Stretch*> StoragePool::stretches_for(StorageState state) {
  std::vector<const Stretch*> chosen;
  if (state == StorageState::resident && !resident_.empty()) {
    chosen = resident_;
    std::shuffle(chosen.begin(), chosen.end(), random_);
    return chosen;
  }
  for (const Stretch& stretch : stretches_) {
    if (state == StorageState::resident || direct_ || stretch.may_drop) chosen.push_back(&stretch);
  }
  std::shuffle(chosen.begin(), chosen.end(), random_);
  if (state == StorageState::cold) return chosen;
  const bool any_whole = std::any_of(chosen.begin(), chosen.end(), [](const Stretch* s) { return s->whole; });
  chosen.erase(std::remove_if(chosen.begin(), chosen.end(), [&](const Stretch* s) { return s->whole != any_whole; }),
               chosen.end());
  // Held descriptors serve blocks, and what is in memory already needs no reading.
  std::stable_sort(chosen.begin(), chosen.end(), [&](const Stretch* a, const Stretch* b) {
    return std::pair(files_[a->file].held < 0, !a->resident) < std::pair(files_[b->file].held < 0, !b->resident);
  });
  std::uint64_t bytes = 0;
  const auto full = std::find_if(chosen.begin(), chosen.end(), [&](const Stretch* stretch) {
    bytes += stretch->range.bytes;
    return bytes > k_most_resident_bytes;
  });
  chosen.erase(full == chosen.begin() && !chosen.empty() ? full + 1 : full, chosen.end());
  resident_ = chosen;
  std::copy_if(chosen.begin(), chosen.end(), std::back_inserter(brought_in_),
               [](const Stretch* s) { return s->may_drop; });
  return chosen;
}

void StoragePool::add_blocks(std::vector<ReadTask>& tasks, const Stretch& stretch, StorageRead read,
                             bool direct) const {
  const File& file = files_[stretch.file];
  const int descriptor = direct ? file.held_direct : file.held;
  if (descriptor < 0) return;
  const bool small = read == StorageRead::small_block;
  const std::uint64_t step = small ? k_small_spacing_bytes : k_large_block_bytes;
  const std::uint64_t bytes = small ? std::min(k_small_block_bytes, stretch.range.bytes) : k_large_block_bytes;
  for (std::uint64_t at = 0; at + bytes <= stretch.range.bytes && tasks.size() < k_most_tasks; at += step) {
    tasks.push_back({file.path.c_str(), descriptor, {stretch.range.offset + at, bytes}});
  }
}

std::vector<ReadTask> StoragePool::tasks(StorageRead read, StorageState state) {
  std::vector<ReadTask> tasks;
  const bool direct = direct_ && state == StorageState::cold;
  if (state == StorageState::cold && !no_cold_.empty()) return tasks;
  if (read == StorageRead::metadata) {
    for (const File& file : files_) tasks.push_back({file.path.c_str(), -1, {}});
    std::shuffle(tasks.begin(), tasks.end(), random_);
    return tasks;
  }
  for (const Stretch* stretch : stretches_for(state)) {
    const File& file = files_[stretch->file];
    const std::uint64_t bytes = stretch->range.bytes;
    if (read == StorageRead::whole_file && stretch->whole) tasks.push_back({file.path.c_str(), -1, stretch->range});
    if (read == StorageRead::sequential && bytes >= 4 * k_large_block_bytes) {
      const std::uint64_t length = stretch->whole ? bytes : bytes - k_left_to_readahead_bytes;
      tasks.push_back({file.path.c_str(), -1, {stretch->range.offset, length}});
    }
    if (read == StorageRead::small_block || read == StorageRead::large_block) add_blocks(tasks, *stretch, read, direct);
  }
  std::shuffle(tasks.begin(), tasks.end(), random_);
  return tasks;
}

void StoragePool::check(const std::vector<ReadTask>& tasks, std::size_t count,
                        record::StorageEvidence& evidence) const {
  PageCount sum;
  bool known = false;
  const std::size_t step = std::max<std::size_t>(1, count / k_checked_tasks);
  for (std::size_t place = 0; place < count; place += step) {
    with_file(tasks[place], [&](int file) {
      const auto pages = resident_pages(file, tasks[place].range);
      if (!pages) return;
      known = true;
      sum.all += pages->all;
      sum.resident += pages->resident;
    });
  }
  if (!known) return;
  evidence.pages_checked = sum.all;
  evidence.pages_resident = sum.resident;
}

void StoragePool::drop(const std::vector<ReadTask>& tasks, std::size_t count) const {
  if (direct_) return;
  for (std::size_t place = 0; place < count; ++place) {
    with_file(tasks[place], [&](int file) {
      FileRange range = tasks[place].range;
      // Sequential reads let the kernel read ahead, to the end of their stretch at most.
      if (tasks[place].file < 0) range.bytes += k_left_to_readahead_bytes;
      drop_pages(file, range);
    });
  }
}

std::size_t StoragePool::keep_resident() {
  const auto is_partly_out = [&](const Stretch* stretch) {
    bool in = false;
    with_file({files_[stretch->file].path.c_str(), -1, {}}, [&](int file) {
      const auto pages = resident_pages(file, stretch->range);
      in = pages && pages->resident == pages->all;
    });
    return !in;
  };
  resident_.erase(std::remove_if(resident_.begin(), resident_.end(), is_partly_out), resident_.end());
  return resident_.size();
}

void StoragePool::drop_resident() const {
  for (const Stretch* stretch : brought_in_) {
    with_file({files_[stretch->file].path.c_str(), -1, {}}, [&](int file) { drop_pages(file, stretch->range); });
  }
}

}  // namespace stallcast::collect
