#include "probes/collect/pages/files_of_samples.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "probes/collect/pages/constants.hpp"
#include "probes/record/populated_pages.hpp"

namespace stallcast::collect {
namespace {

/// Appends the chunks of `part` that are cached.
void add_cached_chunks(const FileStretch& part, std::uint32_t seed, std::vector<FileStretch>& out) {
  struct stat file {};
  if (stat(part.path.c_str(), &file) != 0) return;
  constexpr std::uint64_t k_chunk = record::k_own_chunk_bytes;
  for (std::uint64_t at = part.offset; at < part.offset + part.bytes;) {
    const std::uint64_t end = std::min((at / k_chunk + 1) * k_chunk, part.offset + part.bytes);
    if (!record::is_cold_half(record::own_chunk_key(file.st_dev, file.st_ino, at / k_chunk), seed)) {
      out.push_back(part);
      out.back().offset = at;
      out.back().bytes = end - at;
    }
    at = end;
  }
}

}  // namespace

void merge_parts(std::vector<FileStretch>& parts) {
  std::sort(parts.begin(), parts.end(), [](const FileStretch& a, const FileStretch& b) {
    return a.path != b.path ? a.path < b.path : a.offset < b.offset;
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    FileStretch* last = kept > 0 ? &parts[kept - 1] : nullptr;
    if (last == nullptr || last->path != parts[i].path ||
        (!last->is_whole() && last->offset + last->bytes < parts[i].offset)) {
      if (kept != i) parts[kept] = std::move(parts[i]);
      ++kept;
    } else if (!last->is_whole()) {
      const std::uint64_t end = std::max(last->offset + last->bytes, parts[i].offset + parts[i].bytes);
      last->bytes = parts[i].is_whole() ? UINT64_MAX : end - last->offset;
    }
  }
  parts.resize(kept);
}

FilesOfSamples::FilesOfSamples(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

bool FilesOfSamples::has_room(std::uint64_t bytes) {
  if (used_bytes_ + bytes > limit_bytes_) {
    full_ = true;
    return false;
  }
  used_bytes_ += bytes;
  return true;
}

FilesOfSamples::File* FilesOfSamples::file_of(std::uint64_t id) {
  if (const auto known = by_id_.find(id); known != by_id_.end()) return &files_[known->second];
  if (!has_room(sizeof(File) + k_hash_node_bytes)) return nullptr;
  by_id_.emplace(id, static_cast<std::uint32_t>(files_.size()));
  files_.push_back({.id = id});
  return &files_.back();
}

std::string FilesOfSamples::path_of(const File& file) const {
  return folders_[file.folder] + names_.substr(file.name, file.name_bytes);
}

void FilesOfSamples::take_path(const record::PathEntry& path) {
  if (path.path.empty() || path.path[0] != '/') return;
  File* file = file_of(path.file_id);
  if (file == nullptr) return;
  if (file->size_bytes == UINT64_MAX && path.size_bytes != UINT64_MAX) {
    file->size_bytes = path.size_bytes;
    if (file->touched != 0) data_bytes_ += path.size_bytes;
  }
  if (file->folder != k_none) {
    if (path_of(*file) != path.path) file->ambiguous = 1;
    return;
  }
  const std::size_t name = path.path.rfind('/') + 1;
  const std::string folder = path.path.substr(0, name);
  auto known = by_folder_.find(folder);
  const bool is_new = known == by_folder_.end();
  if (!has_room(path.path.size() - name +
                (is_new ? 2 * (folder.size() + sizeof(std::string)) + k_hash_node_bytes : 0))) {
    return;
  }
  if (is_new) {
    known = by_folder_.emplace(folder, static_cast<std::uint32_t>(folders_.size())).first;
    folders_.push_back(folder);
  }
  file->folder = known->second;
  file->name = names_.size();
  file->name_bytes = static_cast<std::uint32_t>(path.path.size() - name) & ((1U << 29U) - 1);
  names_.append(path.path, name);
}

void FilesOfSamples::mark_touched(File& file) {
  if (file.touched != 0) return;
  file.touched = 1;
  ++data_files_;
  if (file.size_bytes != UINT64_MAX) data_bytes_ += file.size_bytes;
}

void FilesOfSamples::count_reader(File& file, bool reads_part, bool is_new) {
  const bool was_in_parts = file.in_parts != 0;
  const bool was_shared = was_in_parts && file.samples > 1;
  if (reads_part) file.in_parts = 1;
  file.samples += is_new ? 1 : 0;
  files_in_parts_ += file.in_parts != 0 && !was_in_parts ? 1 : 0;
  shared_in_parts_ += file.in_parts != 0 && file.samples > 1 && !was_shared ? 1 : 0;
}

void FilesOfSamples::take_touched(const record::TouchedRecord& touched) {
  File* file = file_of(touched.file_id);
  if (file == nullptr) return;
  mark_touched(*file);
  if (touched.index == -1) return;
  const auto number = static_cast<std::uint32_t>(file - files_.data());
  const auto known = first_.find(touched.index);
  std::uint32_t last = known != first_.end() ? known->second : k_none;
  std::uint32_t count = 0;
  bool is_new = true;
  for (std::uint32_t at = last; at != k_none; at = parts_[at].next, ++count) {
    last = at;
    const Part& part = parts_[at];
    is_new = is_new && part.file != number;
    if (part.file != number || part.offset > touched.offset) continue;
    if (part.bytes == UINT64_MAX) return;
    if (touched.bytes != UINT64_MAX && touched.offset + touched.bytes <= part.offset + part.bytes) return;
  }
  const bool at_once = record::is_at_once(touched.index);
  if (count >= (at_once ? k_most_at_once_parts : k_most_sample_parts)) return;
  const std::uint64_t bytes = sizeof(Part) + (last == k_none ? k_hash_node_bytes : 0);
  const double most_at_once = k_most_at_once_share * static_cast<double>(limit_bytes_);
  if (at_once && static_cast<double>(at_once_bytes_ + bytes) > most_at_once) return;
  if (!has_room(bytes)) return;
  at_once_bytes_ += at_once ? bytes : 0;
  const auto made = static_cast<std::uint32_t>(parts_.size());
  parts_.push_back({touched.offset, touched.bytes, number, k_none});
  count_reader(*file, touched.bytes != UINT64_MAX, is_new);
  if (last == k_none) {
    first_.emplace(touched.index, made);
  } else {
    parts_[last].next = made;
  }
}

void FilesOfSamples::take(const Followed& followed) {
  for (const record::PathEntry& path : followed.paths) take_path(path);
  for (const record::TouchedRecord& touched : followed.touched) take_touched(touched);
}

FoundFiles FilesOfSamples::find(std::span<const std::int64_t> indices) const {
  FoundFiles found;
  for (const std::int64_t index : indices) {
    const auto known = first_.find(index);
    if (known == first_.end()) {
      ++found.unknown_samples;
      continue;
    }
    for (std::uint32_t at = known->second; at != k_none; at = parts_[at].next) {
      const File& file = files_[parts_[at].file];
      if (file.folder == k_none || file.ambiguous != 0) {
        ++found.unnamed_parts;
        continue;
      }
      found.parts.push_back({path_of(file), file.id, file.size_bytes, parts_[at].offset, parts_[at].bytes});
    }
  }
  merge_parts(found.parts);
  return found;
}

SampleFiles FilesOfSamples::files_of(std::int64_t index) const {
  SampleFiles found;
  const auto known = first_.find(index);
  for (std::uint32_t at = known == first_.end() ? k_none : known->second; at != k_none; at = parts_[at].next) {
    const Part& part = parts_[at];
    const File& file = files_[part.file];
    if (file.folder == k_none || file.ambiguous != 0) {
      ++found.unnamed_parts;
      continue;
    }
    const bool is_own = part.bytes == UINT64_MAX ? 2 * std::size_t{file.samples} <= samples() : are_films();
    std::string path = path_of(file);
    if (!is_own) {
      found.shared.push_back({std::move(path), file.id, file.size_bytes, part.offset, part.bytes});
    } else if (std::find(found.own.begin(), found.own.end(), path) == found.own.end()) {
      found.own.push_back(std::move(path));
    }
  }
  merge_parts(found.shared);
  return found;
}

std::vector<std::int64_t> FilesOfSamples::indices(std::size_t most) const {
  std::vector<std::int64_t> indices;
  for (auto at = first_.begin(); at != first_.end() && indices.size() < most; ++at) {
    if (at->first >= 0) indices.push_back(at->first);
  }
  return indices;
}

std::vector<DataFile> FilesOfSamples::data_files() const {
  std::vector<DataFile> files;
  for (const File& file : files_) {
    if (file.touched != 0 && file.folder != k_none) files.push_back({path_of(file), file.size_bytes});
  }
  return files;
}

std::vector<FileStretch> cached_half(const std::vector<FileStretch>& parts, std::uint32_t seed) {
  std::vector<FileStretch> half;
  for (const FileStretch& part : parts) {
    if (!part.is_whole()) {
      add_cached_chunks(part, seed, half);
    } else if (!record::is_cold_half(part.file_id, seed)) {
      half.push_back(part);
    }
  }
  return half;
}

}  // namespace stallcast::collect
