/// Signals as events: while a command runs, what would end us becomes something to read, and to pass on.
#pragma once

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/types.h>

#include <optional>

namespace stallcast::collect {

/// Blocks SIGCHLD and the forwarded signals (HUP, INT, QUIT, TERM, USR1, USR2; not those that were ignored when we
/// started, as under nohup) and offers them through a descriptor. Restores the mask at the end.
class SignalGate {
 public:
  SignalGate();
  SignalGate(const SignalGate&) = delete;
  SignalGate& operator=(const SignalGate&) = delete;
  ~SignalGate();

  /// Readable when a signal waits; -1 if signals cannot be had this way.
  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// The mask before; the command starts with it.
  [[nodiscard]] const sigset_t& original_mask() const { return original_; }

  /// The next waiting signal.
  [[nodiscard]] std::optional<signalfd_siginfo> next();

 private:
  sigset_t original_{};
  int descriptor_ = -1;
};

/// True if the command cannot have got this signal by itself: somebody sent it to us. The terminal's Ctrl-C and hangup
/// come from the kernel and go to the whole foreground group, so passing them on would deliver them twice.
[[nodiscard]] bool sent_to_us_alone(const signalfd_siginfo& signal);

/// True for the signals by which a person or a batch system ends a run.
[[nodiscard]] bool asks_to_end(int signal);

}  // namespace stallcast::collect
