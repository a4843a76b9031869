#include "probes/capture/bridge/callables.hpp"

#include <dlfcn.h>

#include <cstring>

#include "probes/capture/bridge/calls.hpp"

namespace stallcast::capture::python {
namespace {

using Vectorcall = Object* (*)(Object*, Object* const*, std::size_t, Object*);

/// By word_of().
constexpr std::size_t k_basic_size_word = 1;
constexpr std::size_t k_vectorcall_offset_word = 4;
constexpr std::size_t k_call_word = 13;
constexpr std::size_t k_flags_word = 18;
constexpr std::uintptr_t k_flag_have_vectorcall = 1U << 11;
constexpr std::size_t k_arguments_offset = std::size_t{1} << (8 * sizeof(std::size_t) - 1);  ///< a flag within a count

/// All of it is changed and read with the GIL.
constinit Vectorcall g_real = nullptr;  ///< of the objects that are watched
constinit Object* g_before = nullptr;
constinit Vectorcall g_call_before = nullptr;  ///< its own
constinit Object* g_after = nullptr;

std::uintptr_t value_of(Object* type, std::size_t word) {
  std::uintptr_t value = 0;
  std::memcpy(&value, word_of(g_api, type, word), sizeof value);
  return value;
}

/// Where the object keeps what it does when it is called; null where the structures are not as expected.
void* field_of(Object* callable) {
  Object* const type = type_of(g_api, callable);
  void* const call = dlsym(RTLD_DEFAULT, "PyVectorcall_Call");
  if (call == nullptr || value_of(type, k_call_word) != reinterpret_cast<std::uintptr_t>(call)) return nullptr;
  if ((value_of(type, k_flags_word) & k_flag_have_vectorcall) == 0) return nullptr;
  const std::uintptr_t offset = value_of(type, k_vectorcall_offset_word);
  const std::uintptr_t size = value_of(type, k_basic_size_word);
  if (offset < g_api.base_size || offset % sizeof(void*) != 0 || offset + sizeof(void*) > size) return nullptr;
  return reinterpret_cast<char*>(callable) + offset;
}

/// Whether the call of ours returned. It raises what handlers of signals do, that came during the call that is watched.
bool returned(Object* function, Object* result) {
  g_api.dec_ref(function);
  if (result == nullptr) return false;
  g_api.dec_ref(result);
  return true;
}

Object* seen_call(Object* callable, Object* const* arguments, std::size_t count, Object* names) {
  if (Object* const before = g_before; before != nullptr) {
    g_api.inc_ref(before);  // may be forgotten meanwhile
    if (!returned(before, g_call_before(before, arguments, count & ~k_arguments_offset, names))) return nullptr;
  }
  Object* const result = g_real(callable, arguments, count, names);
  Object* const after = g_after;
  if (result == nullptr || after == nullptr) return result;
  g_api.inc_ref(after);
  if (returned(after, g_api.call_with(after, callable, result, nullptr))) return result;
  g_api.dec_ref(result);
  return nullptr;
}

bool is_code_of_a_library(Vectorcall function) {
  Dl_info info;
  return dladdr(pointer(function), &info) != 0 && info.dli_fname != nullptr;
}

bool watch(Object* callable, Object* before, Object* after) {
  if (g_before != nullptr && (g_before != before || g_after != after)) return false;
  void* const field = field_of(callable);
  void* const field_before = field_of(before);
  if (field == nullptr || field_before == nullptr) return false;
  Vectorcall real = nullptr;
  std::memcpy(&real, field, sizeof real);
  if (real != seen_call) {
    if (real == nullptr || (g_real != nullptr && g_real != real) || !is_code_of_a_library(real)) return false;
    g_real = real;
    const Vectorcall ours = seen_call;
    std::memcpy(field, &ours, sizeof ours);
  }
  if (g_before == nullptr) {
    g_api.inc_ref(before);
    g_api.inc_ref(after);
    std::memcpy(&g_call_before, field_before, sizeof g_call_before);
    g_before = before;
    g_after = after;
  }
  return true;
}

Object* watch_calls(Object*, Object* const* arguments, Size count) {
  if (count != 3) {
    g_api.err_set(g_api.type_error, "watch_calls() takes a callable and two functions");
    return nullptr;
  }
  return g_api.long_new(watch(arguments[0], arguments[1], arguments[2]) ? 1 : 0);
}

/// Objects that were watched go on as they are: what they call does nothing else any more.
Object* forget_calls(Object*, Object*) {
  Object* const before = g_before;
  Object* const after = g_after;
  g_before = g_after = nullptr;
  if (before != nullptr) {
    g_api.dec_ref(before);
    g_api.dec_ref(after);
  }
  g_api.inc_ref(g_api.none);
  return g_api.none;
}

/// Must outlive the functions made of them.
MethodDef g_watch;
MethodDef g_forget;

}  // namespace

bool add_callables(Object* names) {
  g_watch = {"watch_calls", pointer(watch_calls), k_method_fast, nullptr};
  g_forget = {"forget_calls", pointer(forget_calls), k_method_no_args, nullptr};
  return add_function(names, g_watch, nullptr) && add_function(names, g_forget, nullptr);
}

}  // namespace stallcast::capture::python
