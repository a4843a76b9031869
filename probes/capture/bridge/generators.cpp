#include "probes/capture/bridge/generators.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <cstring>

#include "probes/capture/bridge/calls.hpp"

namespace stallcast::capture::python {
namespace {

using IterNext = Object* (*)(Object*);

/// By word_of().
constexpr std::size_t k_iter_word = 24;
constexpr std::size_t k_iternext_word = 25;

struct Watched {
  Object* generator = nullptr;  ///< not held: it shall live no longer because of us. Null: all generators of `code`
  Object* code = nullptr;
  Object* run = nullptr;

  [[nodiscard]] bool is_of(Object* one) const;
};

constexpr int k_most_watched = 4;  // Chosen: a loop goes through one, and its evaluation through another

// All of it is changed and read with the GIL.
constinit Watched g_watched[k_most_watched];
constinit int g_watched_count = 0;
constinit IterNext g_real_next = nullptr;

/// Bytes from a generator's beginning to the pointer to its code; 0: not known yet.
constinit std::size_t g_code_offset = 0;
constexpr std::size_t k_most_code_words = 8;

/// The generator whose own step this thread is in.
thread_local Object* t_inside __attribute__((tls_model("initial-exec"))) = nullptr;

/// Where the type of generators keeps its iternext; null where the structure is not as expected.
void* slot() {
  Object* type = static_cast<Object*>(dlsym(RTLD_DEFAULT, "PyGen_Type"));
  void* iter = dlsym(RTLD_DEFAULT, "PyObject_SelfIter");
  if (type == nullptr || iter == nullptr) return nullptr;
  if (std::memcmp(word_of(g_api, type, k_iter_word), &iter, sizeof iter) != 0) return nullptr;
  return word_of(g_api, type, k_iternext_word);
}

Object* code_of(Object* generator) {
  Object* code = nullptr;
  std::memcpy(&code, reinterpret_cast<char*>(generator) + g_code_offset, sizeof(void*));
  return code;
}

bool Watched::is_of(Object* one) const {
  return code != nullptr ? code_of(one) == code : generator == one;
}

/// Where generators keep their code, as this one shows: it differs between versions of Python.
bool find_code_offset(Object* generator) {
  if (g_code_offset != 0) return true;
  Object* const code = g_api.get_attr_string(generator, "gi_code");
  if (code == nullptr) {
    g_api.err_clear();
    return false;
  }
  for (std::size_t i = 0; i < k_most_code_words && g_code_offset == 0; ++i) {
    const std::size_t offset = g_api.base_size + i * sizeof(void*);
    Object* word = nullptr;
    std::memcpy(&word, reinterpret_cast<char*>(generator) + offset, sizeof(void*));
    if (word == code) g_code_offset = offset;
  }
  g_api.dec_ref(code);
  return g_code_offset != 0;
}

Object* timed_next(Object* run, Object* generator) {
  Object* const outer = t_inside;
  t_inside = generator;
  g_api.inc_ref(run);  // may be forgotten meanwhile
  Object* item = g_api.call_with(run, generator, nullptr);
  g_api.dec_ref(run);
  t_inside = outer;
  return item;
}

Object* next_of_generator(Object* self) {
  if (self != t_inside) {
    for (int i = 0; i < g_watched_count; ++i) {
      if (g_watched[i].is_of(self)) return timed_next(g_watched[i].run, self);
    }
  }
  return g_real_next(self);
}

Object* watch_generator(Object*, Object* const* arguments, Size count) {
  if (count != 3) {
    g_api.err_set(g_api.type_error, "watch_generator() takes a generator, a function and code or None");
    return nullptr;
  }
  void* const place = slot();
  if (place == nullptr || g_watched_count == k_most_watched) return g_api.long_new(0);
  Object* const code = arguments[2] == g_api.none ? nullptr : arguments[2];
  if (code != nullptr && !find_code_offset(arguments[0])) return g_api.long_new(0);
  if (code != nullptr) g_api.inc_ref(code);
  g_api.inc_ref(arguments[1]);
  g_watched[g_watched_count] = {code == nullptr ? arguments[0] : nullptr, code, arguments[1]};
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
    Object* const code = g_watched[i].code;
    Object* const key = code != nullptr ? code : g_watched[i].generator;
    if (reinterpret_cast<std::uintptr_t>(key) != address) continue;
    Object* run = g_watched[i].run;
    g_watched[i] = g_watched[--g_watched_count];
    if (g_watched_count == 0) std::memcpy(slot(), &g_real_next, sizeof g_real_next);
    g_api.dec_ref(run);
    if (code != nullptr) g_api.dec_ref(code);
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
