#include "probes/capture/thread.hpp"

#include <pthread.h>

#include <cstring>

#include "probes/capture/parts.hpp"
#include "probes/record/raw.hpp"

namespace stallcast::capture {

namespace raw = record::raw;

thread_local constinit Thread t_thread __attribute__((tls_model("initial-exec"))) = {};

namespace {

// libc stores values of the first 32 keys in the thread itself; a later one would make pthread_setspecific allocate.
constexpr pthread_key_t k_keys_without_allocation = 32;

constinit std::atomic<std::uint32_t> g_leave_key{0};  // key + 1; 0: not made yet

/// A thread ends. Only an optimisation: a thread that ends without this leaves a block that stays half empty.
void leave(void* /*value*/) {
  Thread& thread = t_thread;
  const raw::ErrnoKeeper keeper;
  const Busy busy(thread);
  if (thread.generation == 0 || thread.generation != process().generation.load(std::memory_order_acquire)) return;
  record::give_back(process().writer, thread.out);
  close_usage(thread);
  leave_parts(thread);
  thread.generation = 0;
}

void ask_for_leave() {
  std::uint32_t key = g_leave_key.load(std::memory_order_acquire);
  if (key == 0) {
    pthread_key_t made = 0;
    if (pthread_key_create(&made, leave) != 0) return;
    if (g_leave_key.compare_exchange_strong(key, made + 1, std::memory_order_acq_rel)) {
      key = made + 1;
    } else {
      pthread_key_delete(made);
    }
  }
  if (key - 1 < k_keys_without_allocation) pthread_setspecific(key - 1, &t_thread);
}

}  // namespace

bool attach(Thread& thread) {
  if (mode() == Mode::off || mode() == Mode::broken || !be_born()) return false;
  const raw::ErrnoKeeper keeper;
  // What a fork child's thread holds is its parent's: the map is dropped, the descriptor (of the parent's thread)
  // closed.
  if (thread.out.block != nullptr) raw::unmap(thread.out.block, record::k_block_bytes);
  close_usage(thread);
  const std::uint32_t busy = thread.busy;
  memset(static_cast<void*>(&thread), 0, sizeof(Thread));
  thread.busy = busy;
  thread.out.thread_id = raw::thread_id();
  thread.generation = process().generation.load(std::memory_order_acquire);
  ask_for_leave();
  return true;
}

}  // namespace stallcast::capture
