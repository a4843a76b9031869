#include "probes/collect/system/process_tree.hpp"

#include <dirent.h>

#include <algorithm>
#include <utility>

#include "probes/collect/system/constants.hpp"
#include "probes/collect/system/text_file.hpp"

namespace stallcast::collect {
namespace {

std::vector<pid_t> list_pids(const std::filesystem::path& proc) {
  std::vector<pid_t> pids;
  DIR* folder = opendir(proc.c_str());
  if (folder == nullptr) return pids;
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    const auto pid = parse_u64(entry->d_name);
    if (pid) pids.push_back(static_cast<pid_t>(*pid));
  }
  closedir(folder);
  return pids;
}

}  // namespace

ProcessTree::ProcessTree(ProcessReader reader, pid_t top) : reader_(std::move(reader)), top_(top) {}

bool ProcessTree::contains(pid_t pid) const {
  return std::any_of(processes_.begin(), processes_.end(), [&](const Process& known) { return known.pid == pid; });
}

void ProcessTree::discover() {
  std::vector<Process> candidates;
  for (const pid_t pid : list_pids(reader_.proc())) {
    if (pid == top_ || others_.count(pid) != 0 || contains(pid)) continue;
    const auto stat = reader_.stat(pid);
    if (!stat) continue;
    Process process;
    process.pid = pid;
    process.stat = *stat;
    candidates.push_back(std::move(process));
  }
  // Pids say nothing about who came first, so a child may stand before its parent in the list: go on until nobody
  // joins.
  for (bool joined = true; joined;) {
    joined = false;
    for (Process& candidate : candidates) {
      const pid_t parent = candidate.stat.parent_pid;
      if (candidate.pid == 0 || (parent != top_ && !contains(parent))) continue;
      processes_.push_back(candidate);
      candidate.pid = 0;
      joined = true;
    }
  }
  for (const Process& candidate : candidates) {
    if (candidate.pid != 0) others_.insert(candidate.pid);
  }
}

/// True if every member was there to the end of the pass.
bool ProcessTree::read_all() {
  const std::size_t before = processes_.size();
  for (Process& process : processes_) {
    auto stat = reader_.stat(process.pid);
    const bool gone = !stat || stat->start_ticks != process.stat.start_ticks;
    if (gone) {
      process.pid = 0;
      continue;
    }
    process.stat = std::move(*stat);
    process.cpu_ns = std::max(process.cpu_ns, reader_.cpu_ns(process.pid, process.stat.own_cpu_ns));
  }
  std::erase_if(processes_, [](const Process& process) { return process.pid == 0; });
  return processes_.size() == before;
}

void ProcessTree::measure_cpu() {
  for (int pass = 0; pass < k_most_passes; ++pass) {
    if (read_all()) break;
  }
  std::uint64_t sum = reaped_cpu_ns_;
  for (const Process& process : processes_) sum += process.cpu_ns + process.stat.children_cpu_ns;
  cpu_ns_ = std::max(cpu_ns_, sum);
}

void ProcessTree::measure_details(bool proportional) {
  without_io_ = 0;
  std::uint64_t sum = reaped_read_bytes_;
  for (Process& process : processes_) {
    process.io = reader_.io(process.pid);
    process.run_delay_ns = reader_.run_delay_ns(process.pid);
    process.anonymous_bytes = reader_.anonymous_bytes(process.pid);
    process.status = reader_.status(process.pid);
    process.proportional = proportional ? reader_.proportional(process.pid) : std::nullopt;
    if (process.io) {
      sum += process.io->read_bytes;
    } else if (reader_.stat(process.pid)) {
      ++without_io_;
    }
  }
  most_read_bytes_ = std::max(most_read_bytes_, sum);
  // A sum that lacks a process would be too small and later jump: absent is better than wrong.
  read_bytes_ = without_io_ == 0 ? std::optional<std::uint64_t>(most_read_bytes_) : std::nullopt;
}

void ProcessTree::add_reaped(pid_t pid, std::uint64_t cpu_ns, const std::optional<IoCounters>& io) {
  std::erase_if(processes_, [&](const Process& process) { return process.pid == pid; });
  others_.erase(pid);
  reaped_cpu_ns_ += cpu_ns;
  if (io) reaped_read_bytes_ += io->read_bytes;
}

}  // namespace stallcast::collect
