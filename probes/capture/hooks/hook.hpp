/// How a hook is written. It must change nothing that its caller can see: result, errno, cancellation, allocation.
#pragma once

#include "core/clock.hpp"
#include "probes/capture/account.hpp"
#include "probes/capture/emulation/emulate.hpp"
#include "probes/capture/hooks/next.hpp"
#include "probes/capture/phases/phase.hpp"
#include "probes/capture/sampled_timing.hpp"
#include "probes/record/raw.hpp"

/// Defines the hook for `symbol`. The assembler name keeps it apart from libc's own declarations, whose attributes
/// (nonnull, noexcept, fortified inlines) would otherwise bind us.
#define STALLCAST_HOOK(result, name, symbol, parameters)                                      \
  result hook_##name parameters __asm__(symbol) __attribute__((visibility("default"), used)); \
  result hook_##name parameters

namespace stallcast::capture {

/// Calls `call`, which reads from `fd`; then waits as the phase or the emulated storage says.
template <class Call>
__attribute__((noinline)) ssize_t read_altered(int fd, const ReadPlan& plan, Call call) {
  const EmulatedRead emulated = emulating() ? before_emulated(fd, plan.offset, plan.bytes) : k_not_emulated;
  const ssize_t bytes = call();
  if (emulated.fd >= 0 && bytes > 0) after_emulated(emulated, bytes);
  if (in_phase()) after_read();
  return bytes;
}

/// Calls `call` and counts what it read from `fd`.
template <class Call>
inline ssize_t read_through(int fd, ReadPlan plan, Call call) {
  if (!awake() || t_thread.busy != 0) return call();
  const FdKind kind = kind_of(fd);
  if (kind != FdKind::regular && kind != FdKind::stream && kind != FdKind::socket) return call();
  const bool phased = in_phase() && kind == FdKind::regular;
  const bool altered = phased || (emulating() && kind == FdKind::regular);
  if (phased) before_read(fd, plan);
  Thread* thread = recording_thread();
  if (thread == nullptr) {
    const ssize_t bytes = altered ? read_altered(fd, plan, call) : call();
    if (bytes > 0 && kind == FdKind::regular) count_unrecorded(static_cast<std::uint64_t>(bytes));
    return bytes;
  }
  const std::uint64_t begin_ns = is_timed(*thread, kind) ? monotonic_ns() : 0;
  const ssize_t bytes = altered ? read_altered(fd, plan, call) : call();
  const std::uint64_t ns = begin_ns != 0 ? monotonic_ns() - begin_ns : 0;
  if (bytes >= 0) count_read(*thread, {fd, kind, begin_ns, ns, static_cast<std::uint64_t>(bytes), 1});
  return bytes;
}

}  // namespace stallcast::capture
