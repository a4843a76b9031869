/// Operators (transforms) of the script's, timed where their class is called. See python_operators.cpp.
#pragma once

#include "probes/capture/bridge/python_api.hpp"

namespace stallcast::capture::python {

/// Adds "timed_operator", "know_operator" and "forget_operators" to the dict `names`; false with an exception set if
/// one could not be made.
bool add_operators(Object* names);

}  // namespace stallcast::capture::python
