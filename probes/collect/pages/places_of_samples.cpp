#include "probes/collect/pages/places_of_samples.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "probes/collect/pages/constants.hpp"

namespace stallcast::collect {
namespace {

/// What one known sample read of the shared files.
struct KnownSample {
  std::int64_t index = 0;
  std::vector<FileStretch> parts{};  ///< by path and offset
};

/// Those that read parts of them. What they read as a whole of these is `common`.
std::vector<KnownSample> known_samples(const FilesOfSamples& known, std::vector<FileStretch>& common) {
  std::vector<KnownSample> samples;
  for (const std::int64_t index : known.indices(k_most_placed_samples)) {
    KnownSample sample{index, known.files_of(index).shared};
    const auto whole = std::partition(sample.parts.begin(), sample.parts.end(),
                                      [](const FileStretch& part) { return !part.is_whole(); });
    common.insert(common.end(), whole, sample.parts.end());
    if (whole != sample.parts.end()) merge_parts(common);
    sample.parts.erase(whole, sample.parts.end());
    if (!sample.parts.empty()) samples.push_back(std::move(sample));
  }
  return samples;
}

/// Parts of its own that a sample has: nearly all have as many. What some read beside them is an index or a directory.
std::size_t own_parts(const std::vector<KnownSample>& samples) {
  std::vector<std::size_t> counts;
  for (const KnownSample& sample : samples) counts.push_back(sample.parts.size());
  const auto place = static_cast<std::ptrdiff_t>(k_most_unlike_samples * static_cast<double>(counts.size()));
  std::nth_element(counts.begin(), counts.begin() + place, counts.end());
  return counts[static_cast<std::size_t>(place)];
}

/// Moves all but the `own` largest parts to `common`.
void set_common_apart(std::vector<KnownSample>& samples, std::size_t own, std::vector<FileStretch>& common) {
  for (KnownSample& sample : samples) {
    while (sample.parts.size() > own) {
      const auto least = std::min_element(sample.parts.begin(), sample.parts.end(),
                                          [](const FileStretch& a, const FileStretch& b) { return a.bytes < b.bytes; });
      common.push_back(std::move(*least));
      sample.parts.erase(least);
    }
  }
}

}  // namespace

bool PlacesOfSamples::learn(const FilesOfSamples& known) {
  files_.clear();
  series_.clear();
  common_.clear();
  std::vector<KnownSample> samples = known_samples(known, common_);
  needed_ = !samples.empty();
  if (samples.size() < k_fewest_known_places) return false;
  const std::size_t own = own_parts(samples);
  set_common_apart(samples, own, common_);
  merge_parts(common_);
  std::map<std::string, std::uint32_t> numbers;
  series_.resize(own);
  double bytes = 0.0;
  std::size_t taken = 0;
  for (const KnownSample& sample : samples) {
    if (sample.parts.size() != own) continue;
    ++taken;
    for (std::size_t i = 0; i < own; ++i) {
      const FileStretch& part = sample.parts[i];
      const auto [at, is_new] = numbers.emplace(part.path, static_cast<std::uint32_t>(files_.size()));
      if (is_new) files_.push_back({.path = part.path, .file_id = part.file_id, .size_bytes = part.size_bytes});
      const auto begin = static_cast<double>(part.offset);
      series_[i].places.push_back({sample.index, at->second, begin, begin + static_cast<double>(part.bytes)});
      bytes += static_cast<double>(part.bytes);
    }
  }
  bytes_of_sample_ = bytes / static_cast<double>(std::max<std::size_t>(1, taken));
  for (Series& series : series_) fit(series);
  return true;
}

/// On the line between two known places of one file.
PlacesOfSamples::Place PlacesOfSamples::between(const Place& before, const Place& after, std::int64_t index) {
  const double share = static_cast<double>(index - before.index) / static_cast<double>(after.index - before.index);
  return {index, before.file, before.begin + share * (after.begin - before.begin),
          before.end + share * (after.end - before.end)};
}

/// Whether its places are in order, and how far each lies off the line between its neighbours. These are twice as far
/// apart as those of a sample that is not known: where sizes differ it lies nearer.
void PlacesOfSamples::fit(Series& series) {
  std::sort(series.places.begin(), series.places.end(),
            [](const Place& a, const Place& b) { return a.index < b.index; });
  const std::vector<Place>& places = series.places;
  std::size_t breaks = 0;
  std::vector<double> off;
  std::vector<double> strides;
  for (std::size_t i = 1; i < places.size(); ++i) {
    const Place& before = places[i - 1];
    const bool same = before.file == places[i].file;
    breaks += !same || places[i].begin < before.begin ? 1 : 0;
    if (same && places[i].begin >= before.begin) {
      strides.push_back((places[i].begin - before.begin) / static_cast<double>(places[i].index - before.index));
    }
    if (i + 1 == places.size() || !same || places[i + 1].file != before.file) continue;
    const Place expected = between(before, places[i + 1], places[i].index);
    off.push_back(std::max(std::fabs(expected.begin - places[i].begin), std::fabs(expected.end - places[i].end)));
  }
  series.in_order = static_cast<double>(breaks) <= k_most_unlike_samples * static_cast<double>(places.size()) &&
                    off.size() >= k_fewest_known_places / 2 && !strides.empty();
  if (!series.in_order) return;
  const auto most = static_cast<std::ptrdiff_t>(k_share_of_places * static_cast<double>(off.size() - 1));
  std::nth_element(off.begin(), off.begin() + most, off.end());
  series.off_bytes = off[static_cast<std::size_t>(most)];
  std::nth_element(strides.begin(), strides.begin() + static_cast<std::ptrdiff_t>(strides.size() / 2), strides.end());
  series.stride_bytes = strides[strides.size() / 2];
}

void PlacesOfSamples::add_part(std::uint32_t file, double begin, double end, std::vector<FileStretch>& parts) const {
  FileStretch part = files_[file];
  if (part.size_bytes != UINT64_MAX) end = std::min(end, static_cast<double>(part.size_bytes));
  begin = std::max(0.0, begin);
  if (!(end > begin)) return;
  part.offset = static_cast<std::uint64_t>(begin);
  part.bytes = static_cast<std::uint64_t>(std::ceil(end)) - part.offset;
  parts.push_back(std::move(part));
}

void PlacesOfSamples::add(const Series& series, std::int64_t index, std::vector<FileStretch>& parts) const {
  const auto after = std::lower_bound(series.places.begin(), series.places.end(), index,
                                      [](const Place& place, std::int64_t wanted) { return place.index < wanted; });
  const Place* next = after != series.places.end() ? &*after : nullptr;
  const Place* last = after != series.places.begin() ? &*std::prev(after) : nullptr;
  const double off = series.off_bytes;
  if (next != nullptr && last != nullptr && next->file == last->file && next->begin >= last->begin) {
    const Place expected = between(*last, *next, index);
    return add_part(last->file, std::max(expected.begin - off, last->begin), std::min(expected.end + off, next->end),
                    parts);
  }
  // At an end of a file, of whose sizes nobody knows more: twice as far as so many samples take.
  const auto reach = [&](const Place& place) {
    return off + 2.0 * series.stride_bytes * std::fabs(static_cast<double>(index - place.index));
  };
  if (last != nullptr) add_part(last->file, last->begin, last->end + reach(*last), parts);
  if (next != nullptr) add_part(next->file, next->begin - reach(*next), next->end, parts);
}

std::optional<std::vector<FileStretch>> PlacesOfSamples::parts_of(std::int64_t index) const {
  if (series_.empty()) return std::nullopt;
  std::vector<FileStretch> parts;
  for (const Series& series : series_) {
    if (series.in_order) {
      add(series, index, parts);
      continue;
    }
    for (std::uint32_t file = 0; file < files_.size(); ++file) {
      if (files_[file].size_bytes == UINT64_MAX) return std::nullopt;
      add_part(file, 0.0, static_cast<double>(files_[file].size_bytes), parts);
    }
  }
  merge_parts(parts);
  return parts;
}

}  // namespace stallcast::collect
