#include "probes/collect/pages/places_of_samples.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "probes/collect/pages/constants.hpp"
#include "probes/record/populated_pages.hpp"

namespace stallcast::collect {
namespace {

using KnownSample = PlacesOfSamples::KnownSample;

/// What is read piece by piece is one part: pieces that are no farther apart than a granule.
void join_pieces(std::vector<FileStretch>& parts) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    FileStretch* last = kept > 0 ? &parts[kept - 1] : nullptr;
    const bool goes_on = last != nullptr && last->path == parts[i].path &&
                         parts[i].offset <= last->offset + last->bytes + record::k_granule_bytes;
    if (goes_on) {
      last->bytes = std::max(last->offset + last->bytes, parts[i].offset + parts[i].bytes) - last->offset;
    } else {
      if (kept != i) parts[kept] = std::move(parts[i]);
      ++kept;
    }
  }
  parts.resize(kept);
}

/// Of these indices so many, evenly, that their samples have as many parts as may be looked at.
std::vector<std::int64_t> thinned(std::vector<std::int64_t> indices, const FilesOfSamples& known) {
  std::size_t parts = 0;
  std::size_t looked = 0;
  for (std::size_t i = 0; i < indices.size(); i += 1 + indices.size() / k_looked_for_parts, ++looked) {
    parts += known.files_of(indices[i]).shared.size();
  }
  const double all = looked == 0 ? 0.0 : static_cast<double>(parts * indices.size()) / static_cast<double>(looked);
  const auto step = static_cast<std::size_t>(all / static_cast<double>(k_most_placed_parts)) + 1;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < indices.size(); i += step) indices[kept++] = indices[i];
  indices.resize(kept);
  return indices;
}

/// Moves to `common` what a tenth of the samples read.
void set_read_by_many_apart(std::vector<KnownSample>& samples, std::vector<FileStretch>& common) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> readers;
  for (const KnownSample& sample : samples) {
    for (const FileStretch& part : sample.parts) ++readers[{part.file_id, part.offset}];
  }
  const auto many = static_cast<std::size_t>(k_most_unlike_samples * static_cast<double>(samples.size()));
  for (KnownSample& sample : samples) {
    const auto is_own = [&](const FileStretch& part) { return readers[{part.file_id, part.offset}] <= many; };
    const auto others = std::stable_partition(sample.parts.begin(), sample.parts.end(), is_own);
    common.insert(common.end(), others, sample.parts.end());
    if (others != sample.parts.end()) merge_parts(common);
    sample.parts.erase(others, sample.parts.end());
  }
}

/// Parts of its own that a sample has: nearly all have as many. What some read beside them is an index or a directory.
std::size_t own_parts(const std::vector<KnownSample>& samples) {
  std::vector<std::size_t> counts;
  counts.reserve(samples.size());
  for (const KnownSample& sample : samples) counts.push_back(sample.parts.size());
  const auto place = static_cast<std::ptrdiff_t>(k_most_unlike_samples * static_cast<double>(counts.size()));
  std::nth_element(counts.begin(), counts.begin() + place, counts.end());
  return counts[static_cast<std::size_t>(place)];
}

/// Moves all but the `own` largest parts to `common`.
void set_smaller_apart(std::vector<KnownSample>& samples, std::size_t own, std::vector<FileStretch>& common) {
  for (KnownSample& sample : samples) {
    while (sample.parts.size() > own) {
      const auto least = std::min_element(sample.parts.begin(), sample.parts.end(),
                                          [](const FileStretch& a, const FileStretch& b) { return a.bytes < b.bytes; });
      common.push_back(std::move(*least));
      sample.parts.erase(least);
    }
  }
  merge_parts(common);
}

/// The value that `share` of them do not exceed.
double quantile(std::vector<double>& values, double share) {
  const auto place = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + place, values.end());
  return values[static_cast<std::size_t>(place)];
}

}  // namespace

void PlacesOfSamples::take(std::uint32_t table, std::int64_t index, std::int64_t entry) {
  if (table >= k_most_place_tables || entries_ >= k_most_placed_entries) return;
  if (tables_.size() <= table) tables_.resize(table + 1);
  entries_ += tables_[table].insert_or_assign(index, entry).second ? 1 : 0;
}

/// Those that tables tell of, and as many others as may be.
std::vector<std::int64_t> PlacesOfSamples::known_indices(const FilesOfSamples& known) const {
  std::vector<std::int64_t> indices = known.indices(k_most_placed_samples);
  for (const Table& table : tables_) {
    for (const auto& entry : table) {
      if (known.knows(entry.first)) indices.push_back(entry.first);
    }
  }
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  return thinned(std::move(indices), known);
}

bool PlacesOfSamples::learn(const FilesOfSamples& known) {
  files_.clear();
  series_.clear();
  common_.clear();
  bytes_of_sample_ = 0.0;
  needed_ = false;
  std::vector<KnownSample> samples;
  std::size_t asked = 0;
  for (const std::int64_t index : known_indices(known)) {
    KnownSample sample{index, known.files_of(index).shared};
    const auto whole = std::stable_partition(sample.parts.begin(), sample.parts.end(),
                                             [](const FileStretch& part) { return !part.is_whole(); });
    common_.insert(common_.end(), whole, sample.parts.end());
    if (whole != sample.parts.end()) merge_parts(common_);
    sample.parts.erase(whole, sample.parts.end());
    join_pieces(sample.parts);
    ++asked;
    if (!sample.parts.empty()) samples.push_back(std::move(sample));
  }
  // A few may have read what all need, or what the others have in files of their own.
  needed_ = static_cast<double>(samples.size()) > k_most_unlike_samples * static_cast<double>(asked);
  if (!needed_) set_smaller_apart(samples, 0, common_);
  if (!needed_ || samples.size() < k_fewest_known_places) return false;
  set_read_by_many_apart(samples, common_);
  const std::size_t own = own_parts(samples);
  set_smaller_apart(samples, own, common_);
  if (own == 0 || own > k_most_own_parts || common_.size() > k_most_common_parts) return false;
  take_places(samples, own);
  return true;
}

void PlacesOfSamples::take_places(const std::vector<KnownSample>& samples, std::size_t own) {
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
  for (Series& series : series_) {
    fit(series);
    fit_tables(series);
  }
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
  std::size_t changes = 0;
  std::vector<double> off;
  std::vector<double> strides;
  for (std::size_t i = 1; i < places.size(); ++i) {
    const Place& before = places[i - 1];
    const bool same = before.file == places[i].file;
    changes += same ? 0 : 1;
    breaks += !same || places[i].begin < before.begin ? 1 : 0;
    if (same && places[i].begin >= before.begin) {
      strides.push_back((places[i].begin - before.begin) / static_cast<double>(places[i].index - before.index));
    }
    if (i + 1 == places.size() || !same || places[i + 1].file != before.file) continue;
    const Place expected = between(before, places[i + 1], places[i].index);
    off.push_back(std::max(std::fabs(expected.begin - places[i].begin), std::fabs(expected.end - places[i].end)));
  }
  const auto few = k_most_unlike_samples * static_cast<double>(places.size());
  series.by_file = static_cast<double>(changes) <= few;
  series.in_order = static_cast<double>(breaks) <= few && off.size() >= k_fewest_known_places / 2 && !strides.empty();
  if (!series.in_order) return;
  series.off_bytes = quantile(off, k_share_of_places);
  series.stride_bytes = quantile(strides, 0.5);
}

/// The tables that say best where its samples begin and how large they are; none where they are farther off than
/// buffers of readers explain.
void PlacesOfSamples::fit_tables(Series& series) const {
  const auto best_rule = [&](const auto& value_of) {
    Rule best{.off_bytes = k_most_off_table_bytes};
    for (std::size_t table = 0; table < tables_.size(); ++table) {
      std::vector<double> shifts;
      for (const Place& place : series.places) {
        const auto entry = tables_[table].find(place.index);
        if (entry != tables_[table].end()) shifts.push_back(value_of(place) - static_cast<double>(entry->second));
      }
      if (shifts.size() < k_fewest_known_places / 2) continue;
      const double shift = quantile(shifts, 0.5);
      for (double& off : shifts) off = std::fabs(off - shift);
      const double off = quantile(shifts, k_share_of_places);
      if (off < best.off_bytes) best = {table, shift, off};
    }
    return best;
  };
  series.begin = best_rule([](const Place& place) { return place.begin; });
  series.size = best_rule([](const Place& place) { return place.end - place.begin; });
  std::vector<double> sizes;
  sizes.reserve(series.places.size());
  for (const Place& place : series.places) sizes.push_back(place.end - place.begin);
  if (!sizes.empty()) series.largest_bytes = quantile(sizes, k_share_of_places);
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

/// In the file of its neighbours. False where no table tells of it.
bool PlacesOfSamples::add_by_table(const Series& series, std::int64_t index, std::vector<FileStretch>& parts) const {
  const auto entry_of = [&](const Rule& rule) -> std::optional<double> {
    const auto entry = tables_[*rule.table].find(index);
    if (entry == tables_[*rule.table].end()) return std::nullopt;
    return static_cast<double>(entry->second) + rule.shift_bytes;
  };
  if (!series.begin.table) return false;
  const auto begin = entry_of(series.begin);
  auto bytes = std::optional(series.largest_bytes);
  if (series.size.table) bytes = entry_of(series.size);
  if (!begin || !bytes) return false;
  const double first = *begin - series.begin.off_bytes;
  const double end = *begin + series.begin.off_bytes + *bytes + (series.size.table ? series.size.off_bytes : 0.0);
  if (!series.by_file) {  // in any of them
    if (files_.size() > k_most_files_by_table) return false;
    for (std::uint32_t file = 0; file < files_.size(); ++file) add_part(file, first, end, parts);
    return true;
  }
  const auto after = std::lower_bound(series.places.begin(), series.places.end(), index,
                                      [](const Place& known, std::int64_t wanted) { return known.index < wanted; });
  const std::uint32_t file = after != series.places.end() ? after->file : std::prev(after)->file;
  const std::uint32_t before = after != series.places.begin() ? std::prev(after)->file : file;
  add_part(file, first, end, parts);
  if (before != file) add_part(before, first, end, parts);  // at an end of one of them: in which nobody says
  return true;
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
    if (add_by_table(series, index, parts)) continue;
    if (!series.in_order) return std::nullopt;
    add(series, index, parts);
  }
  return parts;
}

std::vector<FileStretch> PlacesOfSamples::all_parts() const {
  std::vector<FileStretch> parts = common_;
  for (std::uint32_t file = 0; file < files_.size(); ++file) {
    if (files_[file].size_bytes != UINT64_MAX) add_part(file, 0.0, static_cast<double>(files_[file].size_bytes), parts);
  }
  merge_parts(parts);
  return parts;
}

}  // namespace stallcast::collect
