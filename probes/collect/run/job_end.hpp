/// Ending a command as Ctrl-C on its terminal does, and by force where that is not enough.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <vector>

#include "probes/collect/system/process_tree.hpp"

namespace stallcast::collect {

/// SIGINT, once; a grace later SIGTERM, once; a grace after that SIGKILL, for as long again.
class JobEnd {
 public:
  explicit JobEnd(std::uint64_t grace_ns) : grace_ns_(grace_ns) {}

  /// Sends SIGINT to those processes of `tree` that are in the process group of `command` (which lives), as its
  /// terminal would. `ranks`: consuming processes of the job, wherever in the tree.
  void begin(std::uint64_t now_ns, pid_t command, const std::vector<pid_t>& ranks, ProcessTree& tree);

  /// Sends what is due. While the command lives that goes to all of `tree`; afterwards to the sessions of the command
  /// and of the ranks only: who has left them is to outlive the command. True while somebody who is to end has not.
  bool pursue(std::uint64_t now_ns, bool command_lives, ProcessTree& tree);

 private:
  std::uint64_t grace_ns_;
  std::uint64_t begun_ns_ = 0;
  bool terminated_ = false;  ///< SIGTERM was sent
  std::set<pid_t> sessions_{};
};

}  // namespace stallcast::collect
