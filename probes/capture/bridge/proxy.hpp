/// Objects of ours that stand in front of one of the script's: what they share. Whatever is not measured goes to the
/// real object.
#pragma once

#include <algorithm>
#include <cstddef>

#include "probes/capture/bridge/python_api.hpp"

namespace stallcast::capture::python {

/// The one reference that each of them holds to its real object, behind the header.
inline Object*& real_of(Object* self) {
  return *reinterpret_cast<Object**>(reinterpret_cast<char*>(self) + g_api.base_size);
}

/// The real object, or null with an exception set once the garbage collector has taken it.
inline Object* checked_real(Object* self) {
  Object* real = real_of(self);
  if (real == nullptr) g_api.err_set(g_api.type_error, "the object behind this stallcast proxy is gone");
  return real;
}

inline Object* forward_get_attr(Object* self, Object* name) {
  Object* real = checked_real(self);
  return real == nullptr ? nullptr : g_api.get_attr(real, name);
}

inline int forward_set_attr(Object* self, Object* name, Object* value) {
  Object* real = checked_real(self);
  return real == nullptr ? -1 : g_api.set_attr(real, name, value);  // value null: delete
}

inline Object* forward_repr(Object* self) {
  Object* real = checked_real(self);
  return real == nullptr ? nullptr : g_api.repr(real);
}

inline Object* refuse_new(Object*, Object*, Object*) {
  g_api.err_set(g_api.type_error, "stallcast makes these objects itself");
  return nullptr;
}

/// The type itself is not visited: it lives as long as the process, and Python 3.8 must not see it here.
inline int traverse(Object* self, Visit visit, void* argument) {
  Object* real = real_of(self);
  return real == nullptr ? 0 : visit(real, argument);
}

inline int clear(Object* self) {
  Object* real = real_of(self);
  real_of(self) = nullptr;
  if (real != nullptr) g_api.dec_ref(real);
  return 0;
}

inline void deallocate(Object* self) {
  g_api.gc_untrack(self);
  clear(self);
  Object* type = type_of(g_api, self);
  g_api.gc_delete(self);
  g_api.dec_ref(type);  // an instance of a heap type holds one reference to it
}

/// Makes an object of `type` (the function's self) around `real`.
inline Object* make_proxy(Object* type, Object* real) {
  Object* proxy = g_api.generic_alloc(type, 0);
  if (proxy == nullptr) return nullptr;
  g_api.inc_ref(real);
  real_of(proxy) = real;
  return proxy;
}

/// A new type of such objects, with the slots that are its own; null with an exception set.
template <std::size_t N>
Object* make_proxy_type(const char* name, const TypeSlot (&own)[N], unsigned flags = 0,
                        Object* (*get_attr)(Object*, Object*) = forward_get_attr) {
  constexpr std::size_t k_shared = 8;
  TypeSlot slots[N + k_shared] = {{k_tp_getattro, pointer(get_attr)}, {k_tp_setattro, pointer(forward_set_attr)},
                                  {k_tp_repr, pointer(forward_repr)}, {k_tp_traverse, pointer(traverse)},
                                  {k_tp_clear, pointer(clear)},       {k_tp_dealloc, pointer(deallocate)},
                                  {k_tp_new, pointer(refuse_new)}};
  std::copy(own, own + N, slots + k_shared - 1);  // what is left is the zero that ends them
  TypeSpec spec{name, static_cast<int>(g_api.base_size + sizeof(void*)), 0, k_flag_have_gc | flags, slots};
  return g_api.type_from_spec(&spec);  // copies the slots
}

}  // namespace stallcast::capture::python
