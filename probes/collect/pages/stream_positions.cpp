#include "probes/collect/pages/stream_positions.hpp"

#include <algorithm>
#include <optional>
#include <system_error>

#include "probes/collect/pages/constants.hpp"
#include "probes/collect/system/text_file.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;

/// Of an open file: "pos:\t12345".
std::optional<std::uint64_t> position_in(const fs::path& info) {
  const auto text = read_text(info);
  constexpr std::string_view k_key = "pos:";
  if (!text || text->rfind(k_key, 0) != 0) return std::nullopt;
  const std::size_t begin = text->find_first_not_of("\t ", k_key.size());
  if (begin == std::string::npos) return std::nullopt;
  return parse_u64(std::string_view(*text).substr(begin, text->find('\n', begin) - begin));
}

}  // namespace

void StreamPositions::look(const std::vector<std::int32_t>& pids,
                           const std::unordered_map<std::string, std::uint64_t>& files) {
  std::map<std::pair<std::int32_t, std::string>, Place> now;
  for (const std::int32_t pid : pids) {
    const fs::path process = proc_ / std::to_string(pid);
    std::error_code failed;
    for (fs::directory_iterator entry(process / "fd", failed), end; !failed && entry != end; entry.increment(failed)) {
      std::error_code gone;
      const std::string path = fs::read_symlink(entry->path(), gone).string();
      const auto known = gone ? files.end() : files.find(path);
      if (known == files.end()) continue;
      const auto position = position_in(process / "fdinfo" / entry->path().filename());
      if (!position) continue;
      Place& place = now[{pid, path}];
      place.position = std::max(place.position, *position);
      place.size_bytes = known->second;
    }
  }
  for (auto& [reader, place] : now) {
    const auto before = places_.find(reader);
    const std::uint64_t from = before != places_.end() ? before->second.position : 0;
    const bool is_new = before == places_.end();
    place.moves = (!is_new && before->second.moves) || place.position > from;
    if (has_looked_ && place.position > from) passed_bytes_ += place.position - from;
  }
  for (const auto& [reader, place] : places_) {
    const bool left_off = place.moves && !now.contains(reader);
    if (left_off && place.size_bytes > place.position) passed_bytes_ += place.size_bytes - place.position;
  }
  places_ = std::move(now);
  has_looked_ = true;
}

std::vector<StreamReader> StreamPositions::readers() const {
  std::vector<StreamReader> readers;
  for (const auto& [reader, place] : places_) {
    if (place.moves) readers.push_back({reader.first, reader.second, place.position, place.size_bytes});
  }
  return readers;
}

std::vector<FileStretch> next_parts(const StreamReader& reader, std::uint64_t skipped, std::uint64_t bytes) {
  std::vector<FileStretch> parts;
  const std::uint64_t end = std::min(reader.position + bytes, reader.size_bytes);
  for (std::uint64_t at = reader.position + skipped; at < end; at += k_part_of_stream_bytes) {
    FileStretch part;
    part.path = reader.path;
    part.size_bytes = reader.size_bytes;
    part.offset = at;
    part.bytes = std::min(k_part_of_stream_bytes, end - at);
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace stallcast::collect
