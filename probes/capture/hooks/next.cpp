#include "probes/capture/hooks/next.hpp"

#include <dlfcn.h>

#include "probes/record/raw.hpp"

namespace stallcast::capture {
namespace {

constexpr const char* k_names[] = {
#define STALLCAST_SYMBOL(name, text) text,
    STALLCAST_SYMBOLS(STALLCAST_SYMBOL)
#undef STALLCAST_SYMBOL
};

/// A lookup that allocates may come back through a hook, which then goes to the kernel directly.
thread_local constinit bool t_looking_up __attribute__((tls_model("initial-exec"))) = false;

}  // namespace

constinit std::atomic<void*> g_next[static_cast<int>(Symbol::count)] = {};

void* look_up(Symbol symbol) {
  if (t_looking_up) return nullptr;
  const record::raw::ErrnoKeeper keeper;
  t_looking_up = true;
  const int index = static_cast<int>(symbol);
  void* address = dlsym(RTLD_NEXT, k_names[index]);
  g_next[index].store(address, std::memory_order_relaxed);
  t_looking_up = false;
  return address;
}

void look_up_all() {
  for (int symbol = 0; symbol < static_cast<int>(Symbol::count); ++symbol) look_up(static_cast<Symbol>(symbol));
}

}  // namespace stallcast::capture
