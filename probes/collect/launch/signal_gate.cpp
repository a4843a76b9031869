#include "probes/collect/launch/signal_gate.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>

namespace stallcast::collect {
namespace {

constexpr std::array<int, 6> k_forwarded = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

SignalGate::SignalGate() {
  sigset_t caught;
  sigemptyset(&caught);
  for (const int signal : k_forwarded) {
    if (!is_ignored(signal)) sigaddset(&caught, signal);
  }
  // An inherited "ignore" of SIGCHLD would let children vanish without a status.
  if (is_ignored(SIGCHLD)) signal(SIGCHLD, SIG_DFL);
  sigaddset(&caught, SIGCHLD);
  sigprocmask(SIG_BLOCK, &caught, &original_);
  descriptor_ = signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK);
}

SignalGate::~SignalGate() {
  // A second Ctrl-C that still waits would end us between the recording and its report.
  while (next()) {
  }
  if (descriptor_ >= 0) close(descriptor_);
  sigprocmask(SIG_SETMASK, &original_, nullptr);
}

std::optional<signalfd_siginfo> SignalGate::next() {
  signalfd_siginfo info{};
  ssize_t got = -1;
  do {
    got = read(descriptor_, &info, sizeof info);
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof info)) return std::nullopt;
  return info;
}

bool sent_to_us_alone(const signalfd_siginfo& signal) {
  return signal.ssi_code != SI_KERNEL;
}

bool asks_to_end(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

}  // namespace stallcast::collect
