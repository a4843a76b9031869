#include "probes/capture/bridge/calls.hpp"

#include <stallcast/capture.h>

#include <cstdint>

#include "probes/capture/phases/phase.h"

namespace stallcast::capture::python {
namespace {

Object* none() {
  g_api.inc_ref(g_api.none);
  return g_api.none;
}

/// Reads `count` integers; false with an exception set if there are not as many.
bool read_integers(Object* const* arguments, Size given, long long* values, Size count) {
  if (given != count) {
    g_api.err_set(g_api.type_error, "wrong number of arguments");
    return false;
  }
  for (Size i = 0; i < count; ++i) {
    values[i] = g_api.long_value(arguments[i]);
    if (values[i] == -1 && g_api.err_occurred() != nullptr) return false;
  }
  return true;
}

template <void (*call)()>
Object* plain_call(Object*, Object*) {
  call();
  return none();
}

Object* wait_end(Object*, Object* const* arguments, Size count) {
  long long v[5];
  if (!read_integers(arguments, count, v, 5)) return nullptr;
  stallcast_wait_end(static_cast<std::uint64_t>(v[0]), static_cast<std::uint64_t>(v[1]),
                     static_cast<std::uint32_t>(v[2]), static_cast<std::uint32_t>(v[3]),
                     static_cast<std::uint32_t>(v[4]));
  return none();
}

Object* batch_begin(Object*, Object* const* arguments, Size count) {
  long long v[3];
  if (!read_integers(arguments, count, v, 3)) return nullptr;
  stallcast_batch_begin(static_cast<std::uint64_t>(v[0]), static_cast<std::uint64_t>(v[1]),
                        static_cast<std::uint32_t>(v[2]));
  return none();
}

Object* batch_end(Object*, Object* const* arguments, Size count) {
  long long v[1];
  if (!read_integers(arguments, count, v, 1)) return nullptr;
  stallcast_batch_end(static_cast<std::uint32_t>(v[0]));
  return none();
}

Object* phase_turn(Object*, Object* const* arguments, Size count) {
  long long v[1];
  if (!read_integers(arguments, count, v, 1)) return nullptr;
  stallcast_phase_turn(static_cast<std::uint64_t>(v[0]));
  return none();
}

Object* segments(Object*, Object*) {
  return g_api.long_new(stallcast_segments());
}

/// Filled at run time: a static of function addresses would need libstdc++. Must outlive the functions made of them.
MethodDef g_methods[9];

}  // namespace

bool add_function(Object* names, MethodDef& method, Object* self) {
  Object* function = g_api.function_new(&method, self, nullptr);
  if (function == nullptr) return false;
  const bool added = g_api.dict_set(names, method.name, function) == 0;
  g_api.dec_ref(function);
  return added;
}

bool add_calls(Object* names) {
  const MethodDef methods[] = {
      {"wait_begin", pointer(plain_call<stallcast_wait_begin>), k_method_no_args, nullptr},
      {"wait_end", pointer(wait_end), k_method_fast, nullptr},
      {"step", pointer(plain_call<stallcast_step>), k_method_no_args, nullptr},
      {"batch_asked", pointer(plain_call<stallcast_batch_asked>), k_method_no_args, nullptr},
      {"batch_begin", pointer(batch_begin), k_method_fast, nullptr},
      {"batch_end", pointer(batch_end), k_method_fast, nullptr},
      {"batch_put", pointer(plain_call<stallcast_batch_put>), k_method_no_args, nullptr},
      {"phase_turn", pointer(phase_turn), k_method_fast, nullptr},
      {"segments", pointer(segments), k_method_no_args, nullptr},
  };
  static_assert(sizeof methods == sizeof g_methods);
  int number = 0;
  for (const MethodDef& method : methods) {
    g_methods[number] = method;
    if (!add_function(names, g_methods[number++], nullptr)) return false;
  }
  return true;
}

}  // namespace stallcast::capture::python
