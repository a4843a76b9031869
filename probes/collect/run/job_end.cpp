#include "probes/collect/run/job_end.hpp"

#include <signal.h>
#include <unistd.h>

namespace stallcast::collect {
namespace {

/// Members that live: the pid of one that has ended may be somebody else's by now.
void refresh(ProcessTree& tree) {
  tree.forget_others();  // that of one that was none of the job's may be one of its own
  tree.discover();
  tree.measure_cpu();
}

}  // namespace

void JobEnd::begin(std::uint64_t now_ns, pid_t command, const std::vector<pid_t>& ranks, ProcessTree& tree) {
  begun_ns_ = now_ns;
  const pid_t group = getpgid(command);
  sessions_.insert(getsid(command));
  refresh(tree);
  for (const pid_t rank : ranks) {
    if (tree.contains(rank)) sessions_.insert(getsid(rank));
  }
  sessions_.erase(-1);  // of one that ended just now
  for (const Process& process : tree.processes()) {
    if (getpgid(process.pid) == group) kill(process.pid, SIGINT);
  }
}

bool JobEnd::pursue(std::uint64_t now_ns, bool command_lives, ProcessTree& tree) {
  const std::uint64_t graces = (now_ns - begun_ns_) / grace_ns_;
  if (command_lives && (graces == 0 || (graces == 1 && terminated_))) return true;
  refresh(tree);
  bool somebody = false;
  for (const Process& process : tree.processes()) {
    if (process.stat.state == 'Z') continue;
    if (!command_lives && sessions_.count(getsid(process.pid)) == 0) continue;
    somebody = true;
    if (graces >= 2) kill(process.pid, SIGKILL);
    if (graces == 1 && !terminated_) kill(process.pid, SIGTERM);
  }
  terminated_ = terminated_ || graces >= 1;
  return somebody && graces <= 2;
}

}  // namespace stallcast::collect
