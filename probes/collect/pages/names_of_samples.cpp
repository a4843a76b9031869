#include "probes/collect/pages/names_of_samples.hpp"

#include <algorithm>
#include <utility>

#include "probes/collect/pages/constants.hpp"
#include "probes/record/layout.hpp"

namespace stallcast::collect {
namespace {

/// Samples whose files are known together: a single one, or those that were made at once.
struct Group {
  std::vector<SampleNames> samples{};  ///< each once
  std::vector<std::string> paths{};    ///< in order, each once
};

/// Each sample of groups with the paths of its group.
std::vector<NamedSample> samples_of(const std::vector<Group>& groups) {
  std::vector<NamedSample> samples;
  for (const Group& group : groups) {
    for (const SampleNames& names : group.samples) samples.push_back({names, &group.paths});
  }
  return samples;
}

/// Whether each of `rules` holds for all, and all files of the samples are theirs.
bool hold(const std::vector<NameRule>& rules, const std::vector<Group>& groups) {
  return std::all_of(groups.begin(), groups.end(), [&](const Group& group) {
    std::set<std::string> made;
    for (const SampleNames& sample : group.samples) {
      for (const NameRule& rule : rules) {
        auto path = path_by(rule, sample);
        if (!path) return false;
        made.insert(std::move(*path));
      }
    }
    return std::equal(made.begin(), made.end(), group.paths.begin(), group.paths.end());
  });
}

/// Takes those groups out that have not as many files a sample as most have: they were seen half, or what else was read
/// came with them. The samples of these.
std::size_t leave_odd_out(std::vector<Group>& groups) {
  const auto files_a_sample = [](const Group& group) {
    return static_cast<double>(group.paths.size()) / static_cast<double>(group.samples.size());
  };
  std::vector<double> counts;
  counts.reserve(groups.size());
  for (const Group& group : groups) counts.push_back(files_a_sample(group));
  if (counts.empty()) return 0;
  std::nth_element(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2), counts.end());
  const double usual = counts[counts.size() / 2];
  std::size_t left_out = 0;
  std::erase_if(groups, [&](const Group& group) {
    const bool is_odd = group.samples.size() > 1 && files_a_sample(group) != usual;
    left_out += is_odd ? group.samples.size() : 0;
    return is_odd;
  });
  return left_out;
}

/// A rule for each file of a sample; none where one has none.
std::vector<NameRule> rules_of(const std::vector<Group>& groups) {
  const Group& first = groups.front();
  const std::vector<NamedSample> samples = samples_of(groups);
  std::size_t steps = k_most_name_steps;
  std::vector<NameRule> rules;
  for (const std::string& path : first.paths) {
    if (rules.size() * first.samples.size() >= first.paths.size()) break;
    auto rule = find_rule(path, samples, steps);
    if (rule) rules.push_back(std::move(*rule));
    if (!rule && first.samples.size() == 1) return {};  // else it may be another sample's
  }
  return hold(rules, groups) ? rules : std::vector<NameRule>{};
}

}  // namespace

void NamesOfSamples::take(std::uint32_t table, std::int64_t index, std::string entry) {
  if (entry.starts_with("./")) entry.erase(0, 2);
  const std::size_t bytes = entry.size() + sizeof(std::string) + k_hash_node_bytes;
  if (table >= k_most_name_tables || entry.empty() || bytes_ + bytes > k_most_name_bytes) return;
  if (tables_.size() <= table) tables_.resize(table + 1);
  const auto [place, is_new] = tables_[table].try_emplace(index);
  bytes_ += is_new ? bytes : 0;
  place->second = std::move(entry);
}

void NamesOfSamples::take_given(const std::vector<std::int64_t>& indices) {
  if (indices.empty() || given_.size() + indices.size() > k_most_given_samples) return;
  given_.insert(indices.begin(), indices.end());
  record::AtOnceIndex together;
  for (const std::int64_t index : indices) together.add(index);
  batches_.try_emplace(together.value(), indices);
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
  std::vector<Group> groups;
  std::size_t with = 0;
  std::size_t without = 0;
  bool all_own = true;  // and named
  const auto add = [&](std::int64_t known_as, const std::set<std::int64_t>& indices) {
    if (!known.knows(known_as)) return;
    SampleFiles found = known.files_of(known_as);
    all_own = all_own && found.unnamed_parts == 0 && (known_as >= 0 || found.own.empty() || found.shared.empty());
    (found.own.empty() ? without : with) += indices.size();
    if (found.own.empty()) return;
    std::sort(found.own.begin(), found.own.end());
    groups.push_back({{}, std::move(found.own)});
    for (const std::int64_t index : indices) groups.back().samples.push_back(names_of(index));
  };
  for (const std::int64_t index : given_) add(index, {index});
  for (const auto& [together, indices] : batches_) add(together, {indices.begin(), indices.end()});
  const std::vector<NameRule> before = std::exchange(rules_, {});
  needed_ = true;
  if (!all_own || with + without < k_fewest_known_names) return false;
  const std::size_t odd = leave_odd_out(groups);
  with -= odd;
  without += odd;
  // A few may have read what all need, or be seen half.
  const double few = k_most_unlike_samples * static_cast<double>(with + without);
  needed_ = odd > 0 || static_cast<double>(with) > few;
  const bool enough = with >= k_fewest_known_names && groups.size() > 1;
  if (!needed_ || static_cast<double>(without) > few || !enough) return false;
  const auto smallest = std::min_element(
      groups.begin(), groups.end(), [](const Group& a, const Group& b) { return a.paths.size() < b.paths.size(); });
  std::iter_swap(groups.begin(), smallest);  // of whose paths each is tried
  rules_ = !before.empty() && hold(before, groups) ? before : rules_of(groups);
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
