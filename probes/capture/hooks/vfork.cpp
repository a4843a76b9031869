/// vfork: its child runs on our memory, thread state included, with descriptors of its own. The hook leaves a mark on
/// the thread, and whoever finds the mark asks the kernel once which of the two it is.
#include "probes/capture/hooks/hook.hpp"

namespace stallcast::capture {

bool is_past_vfork(Thread& thread) {
  const record::raw::ErrnoKeeper keeper;
  // A fork since then has wiped its own page: that child's memory is its own.
  if (process().vfork_seen != 0 && record::raw::process_id() != thread.vfork_parent) return false;
  thread.vfork_parent = 0;
  return true;
}

}  // namespace stallcast::capture

#if defined(__x86_64__) || defined(__aarch64__)

using VforkFn = int();

/// Marks the thread and returns what to continue with: libc's vfork.
extern "C" __attribute__((used, visibility("hidden"))) VforkFn* stallcast_prepare_vfork() {
  using namespace stallcast::capture;  // NOLINT(google-build-using-namespace)
  Thread& thread = t_thread;
  if (awake() && owns_memory(thread)) {
    thread.vfork_parent = stallcast::record::raw::process_id();
    process().vfork_seen = 1;
  }
  return next<VforkFn>(Symbol::vfork);
}

// vfork returns twice into its caller's frame, so nothing may stand in between: the hook ends in a jump.
#if defined(__x86_64__)
__asm__(R"(
  .pushsection .text
  .globl vfork
  .type vfork, @function
vfork:
  .cfi_startproc
  endbr64
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call stallcast_prepare_vfork
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  jmp *%rax
  .cfi_endproc
  .size vfork, .-vfork
  .popsection
)");
#else
__asm__(R"(
  .pushsection .text
  .globl vfork
  .type vfork, %function
vfork:
  .cfi_startproc
  stp x29, x30, [sp, -16]!
  bl stallcast_prepare_vfork
  ldp x29, x30, [sp], 16
  mov x16, x0
  br x16
  .cfi_endproc
  .size vfork, .-vfork
  .popsection
)");
#endif
#endif
