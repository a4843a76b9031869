#include "probes/capture/bridge/generators.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <cstring>

#include "probes/capture/bridge/calls.hpp"

namespace stallcast::capture::python {
namespace {

using IterNext = Object* (*)(Object*);

/// Of a type's structure, in words behind its header and size.
constexpr std::size_t k_iter_word = 24;
constexpr std::size_t k_iternext_word = 25;

struct Watched {
  Object* generator = nullptr;  ///< not held: it shall live no longer because of us
  Object* run = nullptr;
};

constexpr int k_most_watched = 4;  // Chosen: a loop goes through one, and its evaluation through another

// All of it is changed and read with the GIL.
constinit Watched g_watched[k_most_watched];
constinit int g_watched_count = 0;
constinit IterNext g_real_next = nullptr;

/// The generator whose own step this thread is in.
thread_local Object* t_inside __attribute__((tls_model("initial-exec"))) = nullptr;

void* word_of(Object* type, std::size_t word) {
  return reinterpret_cast<char*>(type) + g_api.base_size + sizeof(Size) + word * sizeof(void*);
}

/// Where the type of generators keeps its iternext; null where the structure is not as expected.
void* slot() {
  Object* type = static_cast<Object*>(dlsym(RTLD_DEFAULT, "PyGen_Type"));
  void* iter = dlsym(RTLD_DEFAULT, "PyObject_SelfIter");
  if (type == nullptr || iter == nullptr) return nullptr;
  if (std::memcmp(word_of(type, k_iter_word), &iter, sizeof iter) != 0) return nullptr;
  return word_of(type, k_iternext_word);
}

Object* timed_next(const Watched& watched) {
  Object* generator = watched.generator;
  Object* run = watched.run;  // may be forgotten meanwhile
  Object* const outer = t_inside;
  t_inside = generator;
  g_api.inc_ref(run);
  Object* item = g_api.call_with(run, generator, nullptr);
  g_api.dec_ref(run);
  t_inside = outer;
  return item;
}

Object* next_of_generator(Object* self) {
  if (self != t_inside) {
    for (int i = 0; i < g_watched_count; ++i) {
      if (g_watched[i].generator == self) return timed_next(g_watched[i]);
    }
  }
  return g_real_next(self);
}

Object* watch_generator(Object*, Object* const* arguments, Size count) {
  if (count != 2) {
    g_api.err_set(g_api.type_error, "watch_generator() takes a generator and a function");
    return nullptr;
  }
  void* const place = slot();
  if (place == nullptr || g_watched_count == k_most_watched) return g_api.long_new(0);
  g_api.inc_ref(arguments[1]);
  g_watched[g_watched_count] = {arguments[0], arguments[1]};
  if (g_watched_count++ == 0) {
    std::memcpy(&g_real_next, place, sizeof g_real_next);
    const IterNext ours = next_of_generator;
    std::memcpy(place, &ours, sizeof ours);
  }
  return g_api.long_new(1);
}

Object* forget_generator(Object*, Object* id) {
  const auto address = static_cast<std::uintptr_t>(g_api.long_value(id));
  for (int i = 0; i < g_watched_count; ++i) {
    if (reinterpret_cast<std::uintptr_t>(g_watched[i].generator) != address) continue;
    Object* run = g_watched[i].run;
    g_watched[i] = g_watched[--g_watched_count];
    if (g_watched_count == 0) std::memcpy(slot(), &g_real_next, sizeof g_real_next);
    g_api.dec_ref(run);
    break;
  }
  g_api.inc_ref(g_api.none);
  return g_api.none;
}

/// Must outlive the functions made of them.
MethodDef g_watch;
MethodDef g_forget;

}  // namespace

bool add_generators(Object* names) {
  g_watch = {"watch_generator", pointer(watch_generator), k_method_fast, nullptr};
  g_forget = {"forget_generator", pointer(forget_generator), k_method_one_arg, nullptr};
  return add_function(names, g_watch, nullptr) && add_function(names, g_forget, nullptr);
}

}  // namespace stallcast::capture::python
