#include "probes/collect/storage/files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <utility>

#include "core/clock.hpp"
#include "probes/collect/storage/constants.hpp"

namespace stallcast::collect {
namespace {

struct CloseDir {
  void operator()(DIR* folder) const { closedir(folder); }
};
using OpenDir = std::unique_ptr<DIR, CloseDir>;

std::string joined(const std::string& folder, const char* name) {
  return folder.ends_with('/') ? folder + name : folder + "/" + name;
}

/// What a name in a folder turns out to be.
enum class Kind { file, folder, other, dangling };

Kind kind_of(const struct stat& facts) {
  if (S_ISREG(facts.st_mode)) return Kind::file;
  return S_ISDIR(facts.st_mode) ? Kind::folder : Kind::other;
}

/// Where the folder does not say, or a link stands there, one stat does.
Kind kind_of(int folder, const dirent& entry) {
  if (entry.d_type == DT_REG) return Kind::file;
  if (entry.d_type == DT_DIR) return Kind::folder;
  if (entry.d_type != DT_LNK && entry.d_type != DT_UNKNOWN) return Kind::other;
  struct stat facts {};
  if (fstatat(folder, entry.d_name, &facts, 0) != 0) return Kind::dangling;
  return kind_of(facts);
}

class Walk {
 public:
  Walk(std::string root, const SampleOptions& options, record::StorageFiles& facts)
      : options_(options), facts_(facts), random_(options.seed), pending_{std::move(root)} {
    deadline_ns_ = monotonic_ns() + static_cast<std::uint64_t>(options.most_time.value() * 1e9);
  }

  std::vector<std::string> run() {
    while (!pending_.empty() && facts_.complete) {
      std::swap(pending_[random_() % pending_.size()], pending_.back());
      const std::string folder = std::move(pending_.back());
      pending_.pop_back();
      enter(folder);
    }
    std::shuffle(kept_.begin(), kept_.end(), random_);
    return std::move(kept_);
  }

 private:
  /// Reads one folder, unless a link has led into it before.
  void enter(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    struct stat facts {};
    OpenDir folder(file < 0 ? nullptr : fdopendir(file));
    if (!folder || fstat(file, &facts) != 0) {
      if (file >= 0 && !folder) close(file);
      ++facts_.unreadable_folders;
      return;
    }
    if (!visited_.emplace(facts.st_dev, facts.st_ino).second) return;
    ++facts_.folders;
    if (visited_.size() >= options_.most_folders) facts_.complete = false;
    while (const dirent* entry = readdir(folder.get())) {
      if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
      take(path, file, *entry);
      if ((++entries_ & 255U) == 0 && monotonic_ns() > deadline_ns_) {
        facts_.complete = false;
        return;
      }
    }
  }

  void take(const std::string& folder, int descriptor, const dirent& entry) {
    switch (kind_of(descriptor, entry)) {
      case Kind::file:
        keep(folder, entry.d_name);
        break;
      case Kind::folder:
        if (pending_.size() < k_most_pending_folders) {
          pending_.push_back(joined(folder, entry.d_name));
        } else {
          facts_.complete = false;
        }
        break;
      case Kind::other:
        ++facts_.not_files;
        break;
      case Kind::dangling:
        ++facts_.dangling_links;
        break;
    }
  }

  void keep(const std::string& folder, const char* name) {
    const auto seen = static_cast<std::uint64_t>(++facts_.seen);
    if (kept_.size() < options_.most_files) {
      kept_.push_back(joined(folder, name));
      return;
    }
    const std::uint64_t place = random_() % seen;
    if (place < kept_.size()) kept_[place] = joined(folder, name);
  }

  const SampleOptions& options_;
  record::StorageFiles& facts_;
  std::mt19937_64 random_;
  std::vector<std::string> pending_;
  std::vector<std::string> kept_{};
  std::set<std::pair<std::uint64_t, std::uint64_t>> visited_{};
  std::uint64_t entries_ = 0;
  std::uint64_t deadline_ns_ = 0;
};

/// Of a given list: no folder is read.
std::vector<std::string> some_of(const SampleOptions& options, record::StorageFiles& facts) {
  std::vector<std::string> paths = options.files;
  facts.seen = static_cast<std::int64_t>(paths.size());
  std::mt19937_64 random(options.seed);
  std::shuffle(paths.begin(), paths.end(), random);
  paths.resize(std::min(paths.size(), options.most_files));
  return paths;
}

/// The first stat of each, timed. Empty files are left out.
void stat_files(const std::vector<std::string>& paths, Seconds most_time, FileSample& sample) {
  const std::uint64_t deadline_ns = monotonic_ns() + static_cast<std::uint64_t>(most_time.value() * 1e9);
  for (const std::string& path : paths) {
    struct stat facts {};
    const std::uint64_t begin_ns = monotonic_ns();
    const bool there = stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
    const std::uint64_t end_ns = monotonic_ns();
    if (there) sample.facts.stat_s.push_back(static_cast<double>(end_ns - begin_ns) * 1e-9);
    if (there && facts.st_size == 0) ++sample.facts.empty;
    if (there && facts.st_size > 0) {
      sample.facts.sizes_bytes.push_back(static_cast<double>(facts.st_size));
      sample.files.push_back({path, static_cast<std::uint64_t>(facts.st_size), facts.st_dev});
    }
    if (end_ns > deadline_ns && !sample.files.empty()) return;
  }
}

Error nothing_in(const FileSample& sample, const std::string& path) {
  const record::StorageFiles& facts = sample.facts;
  std::string what = "no file with content in " + path;
  if (facts.empty > 0) what += "; " + std::to_string(facts.empty) + " files are empty";
  if (facts.not_files > 0) what += "; " + std::to_string(facts.not_files) + " are pipes, sockets or devices";
  if (facts.dangling_links > 0) what += "; " + std::to_string(facts.dangling_links) + " links lead nowhere";
  if (facts.unreadable_folders > 0) {
    what += "; " + std::to_string(facts.unreadable_folders) + " folders cannot be read by this user";
  }
  return Error{ErrorCode::not_enough_data, what, "name the folder that holds the data set's files"};
}

}  // namespace

Result<FileSample> sample_files(const std::string& path, const SampleOptions& options) {
  std::error_code failed;
  const std::string root = std::filesystem::canonical(path, failed).string();
  struct stat facts {};
  if (failed || stat(root.c_str(), &facts) != 0) {
    const std::string why = failed ? failed.message() : std::strerror(errno);
    return Error{ErrorCode::bad_input, "cannot read " + path + ": " + why, "name a file or a folder of the data set"};
  }
  FileSample sample;
  sample.facts.path = root;
  std::vector<std::string> paths;
  switch (kind_of(facts)) {
    case Kind::file:
      sample.facts.seen = 1;
      paths.push_back(root);
      break;
    case Kind::folder:
      paths = options.files.empty() ? Walk(root, options, sample.facts).run() : some_of(options, sample.facts);
      break;
    default:
      return Error{ErrorCode::bad_input, path + " is neither a file nor a folder",
                   "name a file or a folder of the data set"};
  }
  stat_files(paths, options.most_time, sample);
  if (sample.files.empty()) return nothing_in(sample, path);
  return sample;
}

bool lies_inside(const std::string& path, const std::string& root) {
  std::error_code failed;
  const std::string real = std::filesystem::canonical(path, failed).string();
  return !failed && (real == root || real.starts_with(root.ends_with('/') ? root : root + "/"));
}

}  // namespace stallcast::collect
