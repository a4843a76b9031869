/// Times generators that a loop goes through already, which no function of Python's can be put in front of.
///
/// A `for` loop and next() ask the type of generators for its iternext, up to Python 3.11 (later ones go on with the
/// generator's frame, and have sys.monitoring). That slot is replaced for as long as a generator is watched: all others
/// cost one comparison more. It is found by its place in the type's structure, which is told from the slot before it.
#pragma once

#include "probes/capture/bridge/python_api.hpp"

namespace stallcast::capture::python {

/// Adds watch_generator(generator, run, code) and forget_generator(id). run(generator) is called for each item in the
/// place of the generator's own step, and takes it by next(generator). With code (instead of None), all generators of
/// that code are watched, the given one only shows how they are laid out, and the id to forget is the code's. The first
/// returns whether that is possible here.
bool add_generators(Object* names);

}  // namespace stallcast::capture::python
