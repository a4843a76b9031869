/// Times operators without a frame of ours and without touching what calls them: a class's `__call__` is replaced by
/// an object that marks, and calls the real one. Seen from the script nothing changes: the class attribute reads as
/// the real function, elements stay in their lists, exceptions and their tracebacks pass as they are.
///
/// Which operator an object is, the shim tells beforehand (stallcast_shim/torch_loader/operators.py): by the object's
/// address and type, so that nothing lives longer because of us, or by its type alone.
#include "probes/capture/bridge/operators.hpp"

#include <atomic>
#include <cstdint>

#include "probes/capture/bridge/calls.hpp"
#include "probes/capture/bridge/proxy.hpp"
#include "probes/capture/parts.hpp"

namespace stallcast::capture::python {
namespace {

constexpr std::uint32_t k_slots = 1024;  ///< a power of two
constexpr std::uint32_t k_most_known = 640;

/// An operator, or a class whose objects are one operator wherever they are used.
struct Known {
  std::atomic<const void*> object;
  const void* type;  ///< of the object: another one that took its address is not it
  Part part;
};

// Written with the GIL held, or by the one thread that makes a loader's fetcher.
constinit Known g_known[k_slots] = {};
constinit std::uint32_t g_known_count = 0;

std::uint32_t slot_of(const void* object) {
  return static_cast<std::uint32_t>((reinterpret_cast<std::uintptr_t>(object) * 0x9e3779b97f4a7c15ULL) >> 54);
}
static_assert(k_slots == 1U << (64 - 54));

/// Where `object` is known, or the empty place where it would be.
Known& place_of(const void* object) {
  std::uint32_t slot = slot_of(object);
  for (;; slot = (slot + 1) % k_slots) {
    const void* there = g_known[slot].object.load(std::memory_order_acquire);
    if (there == object || there == nullptr) return g_known[slot];
  }
}

const Part* part_of(Object* object) {
  const Object* type = type_of(g_api, object);
  const Known& own = place_of(object);
  if (own.object.load(std::memory_order_relaxed) != nullptr && own.type == type) return &own.part;
  const Known& of_type = place_of(type);
  return of_type.object.load(std::memory_order_relaxed) != nullptr ? &of_type.part : nullptr;
}

Object* call_operator(Object* self, Object* positional, Object* named) {
  Object* real = checked_real(self);
  if (real == nullptr) return nullptr;
  Thread& thread = t_thread;
  if (__builtin_expect(!divides(thread), 1)) return g_api.call(real, positional, named);
  Object* target = g_api.tuple_item(positional, 0);
  if (target == nullptr) {
    g_api.err_clear();
    return g_api.call(real, positional, named);
  }
  const Part* part = part_of(target);
  if (part == nullptr) return g_api.call(real, positional, named);
  const Part known = *part;  // the table may be written anew meanwhile
  const bool timed = begin_part(thread, known, target);
  Object* result = g_api.call(real, positional, named);
  if (timed) end_part(thread, known.after);
  return result;
}

/// Of the class: the real function. Of an object: the real method; the interpreter's own calls do not come this way.
Object* get_operator(Object* self, Object* object, Object* type) {
  Object* real = checked_real(self);
  if (real == nullptr) return nullptr;
  if (object == nullptr || object == g_api.none) {
    g_api.inc_ref(real);
    return real;
  }
  Object* get = g_api.get_attr_string(real, "__get__");
  if (get == nullptr) return nullptr;
  Object* method = g_api.call_with(get, object, type, nullptr);
  g_api.dec_ref(get);
  return method;
}

Object* timed_operator_type() {
  const TypeSlot own[] = {{k_tp_call, pointer(call_operator)}, {k_tp_descr_get, pointer(get_operator)}};
  return make_proxy_type("stallcast_shim.TimedOperator", own, k_flag_method_descriptor);
}

/// know_operator(object, number, before, chain, after): True if there was room for it.
Object* know_operator(Object*, Object* const* arguments, Size count) {
  long long v[4];
  if (count != 5) {
    g_api.err_set(g_api.type_error, "wrong number of arguments");
    return nullptr;
  }
  for (Size i = 0; i < 4; ++i) {
    v[i] = g_api.long_value(arguments[i + 1]);
    if (v[i] == -1 && g_api.err_occurred() != nullptr) return nullptr;
  }
  Known& known = place_of(arguments[0]);
  const bool is_new = known.object.load(std::memory_order_relaxed) == nullptr;
  if (is_new && g_known_count == k_most_known) return g_api.long_new(0);
  g_known_count += is_new ? 1 : 0;
  known.type = type_of(g_api, arguments[0]);
  known.part = {static_cast<std::uint32_t>(v[0]), static_cast<std::uint32_t>(v[1]), static_cast<std::uint32_t>(v[2]),
                static_cast<std::uint32_t>(v[3])};
  known.object.store(arguments[0], std::memory_order_release);
  return g_api.long_new(1);
}

Object* forget_operators(Object*, Object*) {
  for (Known& known : g_known) known.object.store(nullptr, std::memory_order_release);
  g_known_count = 0;
  g_api.inc_ref(g_api.none);
  return g_api.none;
}

/// Must outlive the functions made of them.
MethodDef g_functions[3];

}  // namespace

bool add_operators(Object* names) {
  Object* type = timed_operator_type();
  if (type == nullptr) return false;
  g_functions[0] = {"timed_operator", pointer(make_proxy), k_method_one_arg, nullptr};
  g_functions[1] = {"know_operator", pointer(know_operator), k_method_fast, nullptr};
  g_functions[2] = {"forget_operators", pointer(forget_operators), k_method_no_args, nullptr};
  const bool added = add_function(names, g_functions[0], type) && add_function(names, g_functions[1], nullptr) &&
                     add_function(names, g_functions[2], nullptr);
  g_api.dec_ref(type);
  return added;
}

}  // namespace stallcast::capture::python
