/// The C API as built-in functions: a tenth of what ctypes costs per call.
#pragma once

#include "probes/capture/bridge/python_api.hpp"

namespace stallcast::capture::python {

/// Adds a function to the dict `names`; `self` (borrowed, may be null) is what it gets first. `method` must outlive it.
/// False with an exception set if it could not be made.
bool add_function(Object* names, MethodDef& method, Object* self);

/// Adds "wait_begin", "wait_end", ... to `names`; false with an exception set if one could not be made.
bool add_calls(Object* names);

}  // namespace stallcast::capture::python
