#include "probes/collect/pages/names_of_samples.hpp"

#include <algorithm>
#include <utility>

#include "probes/collect/pages/constants.hpp"

namespace stallcast::collect {
namespace {

/// Whether each of `rules` holds for all, and all files of the samples are theirs.
bool hold(const std::vector<NameRule>& rules, const std::vector<NamedSample>& samples) {
  const bool as_many = std::all_of(samples.begin(), samples.end(),
                                   [&](const NamedSample& sample) { return sample.paths.size() == rules.size(); });
  return as_many &&
         std::all_of(rules.begin(), rules.end(), [&](const NameRule& rule) { return holds_for_all(rule, samples); });
}

/// A rule for each file of the samples; none where one has none.
std::vector<NameRule> rules_of(const std::vector<NamedSample>& samples) {
  std::vector<NameRule> rules;
  for (const std::string& path : samples.front().paths) {
    auto rule = find_rule(path, samples);
    if (!rule) return {};
    rules.push_back(std::move(*rule));
  }
  return hold(rules, samples) ? rules : std::vector<NameRule>{};
}

}  // namespace

void NamesOfSamples::take(std::uint32_t table, std::int64_t index, std::string entry) {
  if (entry.starts_with("./")) entry.erase(0, 2);
  const std::size_t bytes = entry.size() + sizeof(std::string) + k_hash_node_bytes;
  if (table >= 2 * k_text_tables || entry.empty() || bytes_ + bytes > k_most_name_bytes) return;
  if (tables_.size() <= table) tables_.resize(table + 1);
  bytes_ += bytes;
  tables_[table].insert_or_assign(index, std::move(entry));
}

void NamesOfSamples::take_given(std::int64_t index) {
  if (given_.size() < k_most_given_samples) given_.insert(index);
}

SampleNames NamesOfSamples::names_of(std::int64_t index) const {
  SampleNames names(index);
  for (const Table& table : tables_) {
    const auto found = table.find(index);
    names.entries.push_back(found != table.end() ? &found->second : nullptr);
  }
  return names;
}

bool NamesOfSamples::learn(const FilesOfSamples& known) {
  std::vector<NamedSample> samples;
  std::size_t without = 0;
  const std::vector<NameRule> before = std::exchange(rules_, {});
  needed_ = true;
  for (const std::int64_t index : given_) {
    if (!known.knows(index)) continue;
    SampleFiles found = known.files_of(index);
    if (found.unnamed_parts > 0) return false;
    without += found.own.empty() ? 1 : 0;
    if (!found.own.empty()) samples.push_back({names_of(index), std::move(found.own)});
  }
  if (samples.size() + without < k_fewest_known_names) return false;
  // A few may have read what all need, or be seen half.
  const double few = k_most_unlike_samples * static_cast<double>(samples.size() + without);
  needed_ = static_cast<double>(samples.size()) > few;
  if (!needed_ || static_cast<double>(without) > few || samples.size() < k_fewest_known_names) return false;
  rules_ = hold(before, samples) ? before : rules_of(samples);
  return !rules_.empty();
}

std::optional<std::vector<std::string>> NamesOfSamples::paths_of(std::int64_t index) const {
  const SampleNames names = names_of(index);
  std::vector<std::string> paths;
  for (const NameRule& rule : rules_) {
    auto path = path_by(rule, names);
    if (!path) return std::nullopt;
    paths.push_back(std::move(*path));
  }
  return paths.empty() ? std::nullopt : std::optional(std::move(paths));
}

}  // namespace stallcast::collect
