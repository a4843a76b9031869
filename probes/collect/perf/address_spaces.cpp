#include "probes/collect/perf/address_spaces.hpp"

#include <algorithm>
#include <utility>

#include "probes/collect/perf/constants.hpp"

namespace stallcast::collect {
namespace {

/// Memory that no file backs: JIT compilers write there.
bool is_anonymous(const std::string& path) {
  return path.empty() || path.starts_with("//anon") || path.starts_with("[heap]") || path.starts_with("[anon") ||
         path.starts_with("[stack]") || path.starts_with("/memfd:") || path.starts_with("/dev/zero") ||
         path.starts_with("anon_inode:");
}

}  // namespace

AddressSpaces::AddressSpaces() : files_{"[kernel]", "[unknown]", "[jit]"} {}

std::uint32_t AddressSpaces::number_of(const std::string& path) {
  if (is_anonymous(path)) return k_in_jit;
  const auto known = numbers_.find(path);
  if (known != numbers_.end()) return known->second;
  if (files_.size() >= k_most_mapped_files) return k_in_unknown;
  files_.push_back(path);
  return numbers_[path] = static_cast<std::uint32_t>(files_.size() - 1);
}

/// The mappings of `pid`, no longer shared with its relatives.
AddressSpaces::Space& AddressSpaces::own(pid_t pid) {
  std::shared_ptr<Space>& space = spaces_[pid];
  if (!space) {
    space = std::make_shared<Space>();
  } else if (space.use_count() > 1) {
    space = std::make_shared<Space>(*space);
  }
  return *space;
}

/// Unmapping is not told: what is mapped later replaces what was there.
void AddressSpaces::map(const PerfRecord& record) {
  if (!spaces_.contains(record.pid) && spaces_.size() >= k_most_processes) return;
  const std::uint64_t begin = record.address;
  const std::uint64_t end = begin + record.length;
  if (end <= begin) return;
  Space& space = own(record.pid);
  auto at = space.lower_bound(begin);
  if (at != space.begin()) {
    auto before = std::prev(at);
    const Mapping cut = before->second;
    if (cut.end > begin) before->second.end = begin;
    if (cut.end > end) {
      space[end] = {cut.end, cut.offset + (end - before->first), cut.file};
      at = space.lower_bound(begin);
    }
  }
  while (at != space.end() && at->first < end) {
    const Mapping cut = at->second;
    const std::uint64_t first = at->first;
    at = space.erase(at);
    if (cut.end > end) space[end] = {cut.end, cut.offset + (end - first), cut.file};
  }
  if (space.size() < k_most_mappings) space[begin] = {end, record.offset, number_of(record.text)};
}

void AddressSpaces::take(const PerfRecord& record) {
  if (record.kind == PerfKind::mapping) return map(record);
  if (record.kind == PerfKind::name && record.exec) {
    if (spaces_.contains(record.pid)) spaces_[record.pid] = std::make_shared<Space>();
  }
  if (record.kind == PerfKind::fork && record.pid != record.parent_pid) {
    const auto parent = spaces_.find(record.parent_pid);
    if (parent == spaces_.end() || spaces_.size() >= k_most_processes) return;
    const std::shared_ptr<Space> inherited = parent->second;
    std::erase(ended_, record.pid);
    spaces_[record.pid] = inherited;
  }
  if (record.kind == PerfKind::exit && record.pid == record.tid && spaces_.contains(record.pid)) {
    ended_.push_back(record.pid);
    if (ended_.size() <= k_kept_ended_processes) return;
    spaces_.erase(ended_.front());
    ended_.pop_front();
  }
}

Place AddressSpaces::place_of(const PerfRecord& record) const {
  if (record.kernel) return {k_in_kernel, record.address};
  const auto space = spaces_.find(record.pid);
  if (space == spaces_.end()) return {};
  auto after = space->second->upper_bound(record.address);
  if (after == space->second->begin()) return {};
  const auto& [begin, mapping] = *std::prev(after);
  if (record.address >= mapping.end) return {};
  if (mapping.file < 3) return {mapping.file, 0};
  return {mapping.file, mapping.offset + (record.address - begin)};
}

}  // namespace stallcast::collect
