#include "probes/collect/pages/populated_pages.hpp"

#include <fstream>
#include <vector>

#include "probes/record/populated_pages.hpp"

namespace stallcast::collect {

PopulatedPages PopulatedPages::load(const std::filesystem::path& run_folder) {
  PopulatedPages pages;
  std::ifstream file(run_folder / record::k_populated_pages_file, std::ios::binary);
  std::vector<std::uint64_t> slots(record::k_own_slots);
  file.read(reinterpret_cast<char*>(slots.data()), static_cast<std::streamsize>(slots.size() * sizeof(slots[0])));
  slots.resize(static_cast<std::size_t>(file.gcount()) / sizeof(slots[0]));
  for (const std::uint64_t key : slots) {
    if (key != 0) pages.keys_.insert(key);
  }
  return pages;
}

bool PopulatedPages::hold(const struct stat& file, const FileRange& range) const {
  if (keys_.empty() || range.bytes == 0) return false;
  if (keys_.contains(record::own_file_key(file.st_dev, file.st_ino))) return true;
  const std::uint64_t last = (range.offset + range.bytes - 1) / record::k_own_chunk_bytes;
  for (std::uint64_t chunk = range.offset / record::k_own_chunk_bytes; chunk <= last; ++chunk) {
    if (!keys_.contains(record::own_chunk_key(file.st_dev, file.st_ino, chunk))) return false;
  }
  return true;
}

}  // namespace stallcast::collect
