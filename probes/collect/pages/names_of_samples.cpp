#include "probes/collect/pages/names_of_samples.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "probes/collect/pages/constants.hpp"

namespace stallcast::collect {
namespace {

/// What each sample of which names and files are known has read.
using KnownFiles = std::map<std::int64_t, std::vector<std::string>>;

std::string padded(std::int64_t index, std::uint32_t digits) {
  const std::string plain = std::to_string(index);
  return plain.size() < digits ? std::string(digits - plain.size(), '0') + plain : plain;
}

bool holds(const std::vector<std::string>& paths, const std::optional<std::string>& path) {
  return path && std::find(paths.begin(), paths.end(), *path) != paths.end();
}

}  // namespace

void NamesOfSamples::take(std::uint32_t table, std::int64_t index, std::string entry) {
  if (entry.starts_with("./")) entry.erase(0, 2);
  const std::size_t bytes = entry.size() + sizeof(std::string) + k_hash_node_bytes;
  if (table >= k_most_name_tables || entry.empty() || bytes_ + bytes > k_most_name_bytes) return;
  if (tables_.size() <= table) tables_.resize(table + 1);
  bytes_ += bytes;
  tables_[table].insert_or_assign(index, std::move(entry));
}

void NamesOfSamples::take_given(std::int64_t index) {
  if (given_.size() < k_most_given_samples) given_.insert(index);
}

std::optional<std::string> NamesOfSamples::entry_of(const Rule& rule, std::int64_t index) const {
  if (rule.digits > 0) return index >= 0 ? std::optional(padded(index, rule.digits)) : std::nullopt;
  if (rule.table >= tables_.size()) return std::nullopt;
  const auto found = tables_[rule.table].find(index);
  return found != tables_[rule.table].end() ? std::optional(found->second) : std::nullopt;
}

std::optional<std::string> NamesOfSamples::path_by(const Rule& rule, std::int64_t index) const {
  const auto entry = entry_of(rule, index);
  return entry ? std::optional(rule.before + *entry + rule.behind) : std::nullopt;
}

/// Every rule that gives `path` for that sample.
std::vector<NamesOfSamples::Rule> NamesOfSamples::rules_for(const std::string& path, std::int64_t index) const {
  std::vector<Rule> rules;
  const auto add = [&](std::uint32_t table, std::uint32_t digits) {
    Rule rule{table, digits, {}, {}};
    const auto entry = entry_of(rule, index);
    const std::size_t at = entry ? path.rfind(*entry) : std::string::npos;
    if (at == std::string::npos) return;
    rule.before = path.substr(0, at);
    rule.behind = path.substr(at + entry->size());
    rules.push_back(std::move(rule));
  };
  for (std::uint32_t table = 0; table < tables_.size(); ++table) add(table, 0);
  for (std::uint32_t digits = 1; digits <= k_most_name_digits; ++digits) add(0, digits);
  return rules;
}

bool NamesOfSamples::learn(const FilesOfSamples& known) {
  rules_.clear();
  KnownFiles files;
  std::size_t without = 0;
  needed_ = true;
  for (const std::int64_t index : given_) {
    if (!known.knows(index)) continue;
    SampleFiles found = known.files_of(index);
    if (found.unnamed_parts > 0) return false;
    without += found.own.empty() ? 1 : 0;
    if (!found.own.empty()) files.emplace(index, std::move(found.own));
  }
  if (files.size() + without < k_fewest_known_names) return false;
  // A few may have read what all need, or be seen half.
  const double few = k_most_unlike_samples * static_cast<double>(files.size() + without);
  needed_ = static_cast<double>(files.size()) > few;
  if (!needed_ || static_cast<double>(without) > few || files.size() < k_fewest_known_names) return false;
  const auto& [first, of_first] = *files.begin();
  for (const std::string& path : of_first) {
    const std::vector<Rule> rules = rules_for(path, first);
    const auto right = std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) {
      return std::all_of(files.begin(), files.end(),
                         [&](const auto& sample) { return holds(sample.second, path_by(rule, sample.first)); });
    });
    if (right == rules.end()) break;
    rules_.push_back(*right);
  }
  const bool all = std::all_of(files.begin(), files.end(),
                               [&](const auto& sample) { return sample.second.size() == rules_.size(); });
  if (!all) rules_.clear();
  return all;
}

std::optional<std::vector<std::string>> NamesOfSamples::paths_of(std::int64_t index) const {
  std::vector<std::string> paths;
  for (const Rule& rule : rules_) {
    auto path = path_by(rule, index);
    if (!path) return std::nullopt;
    paths.push_back(std::move(*path));
  }
  return paths.empty() ? std::nullopt : std::optional(std::move(paths));
}

}  // namespace stallcast::collect
