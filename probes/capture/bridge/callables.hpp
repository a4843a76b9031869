/// Sees the calls of objects of a C++ type that keep what they do in a field of their own (PEP 590), as jitted
/// functions of JAX: no function of Python's is called, and none can be put in front of them.
///
/// The field is changed in the one object. It stays what it is to the script: the same object, of the same type; no
/// frame of ours is on the stack while it runs, and what it raises is its own.
#pragma once

#include "probes/capture/bridge/python_api.hpp"

namespace stallcast::capture::python {

/// Adds watch_calls(callable, before, after) and forget_calls(). before(*args, **kwargs) is called before each call of
/// it with the same arguments, after(callable, result) once it has returned; what these raise, the call raises. The
/// first returns whether that is possible here: all objects that are watched have the same field, and the same two
/// functions.
bool add_callables(Object* names);

}  // namespace stallcast::capture::python
