/// Where the time inside a sample goes: operators (transforms, decoders) marked by the shim or through the C API, on a
/// stack whose bottom is the whole that they divide, a timed sample or a collate. Each call gives one record with its
/// own time: the parts inside it, reads, and the cost of marking are taken out.
///
/// Worked example, marking for free. A sample begins at 0 us, `crop` lasts from 10 to 40 us, inside it `resize` from 15
/// to 35 us, of which a read takes 5 us; the sample ends at 50 us. Own times: resize 20 - 5 = 15, crop 30 - 20 = 10,
/// the sample 50 - 30 = 20 us; with the read's 5 us they are 50.
///
/// Cost: two clocks at each end of a call, one of them a system call; nothing but a test of the stack where the sample
/// is not divided, and a system call before each whole. What one marked call costs is measured once per thread, before
/// its first whole. Of the timed samples (timing.hpp) as many are divided as cost below 0.2 % of making all.
#pragma once

#include <cstdint>

#include "probes/capture/thread.hpp"

namespace stallcast::capture {

/// Both clocks of a thread, and its time inside reads, opens and stats so far.
struct Moment {
  std::uint64_t wall_ns;
  std::uint64_t cpu_ns;
  std::uint64_t read_ns;
};

struct PartFrame {
  std::uint32_t number;
  const void* object;  ///< that is called; nullptr where none is known
  Moment begin;
  Moment inside;  ///< of the parts in it, all that their marking costs included
  Moment last;    ///< when the latest of them ended; `begin` until then
};

inline constexpr std::uint32_t k_deepest_part = 8;
/// Of one whole; the time of further ones stays with what they are part of.
inline constexpr std::uint32_t k_most_parts = 128;

/// Not in Thread: static TLS is scarce where the library came by dlopen.
struct PartStack {
  std::atomic<std::uint32_t> taken;
  std::uint32_t depth;  ///< 0: nothing is timed now
  std::uint32_t records;
  std::uint32_t undivided;
  std::uint32_t skipped;  ///< marks of the C API that were refused and are still open
  std::uint16_t flags;
  std::uint16_t period;         ///< one sample in so many is divided; 0 or 1: every timed one
  std::uint32_t without_index;  ///< samples that had none
  std::uint32_t calls;          ///< in the latest sample that was divided, its own included
  std::uint32_t dry;            ///< 1 while the cost of marking is measured
  std::uint64_t whole_ns;
  Moment cost_inside;   ///< of marking one call: what falls between its two marks
  Moment cost_outside;  ///< and what falls outside of them
  PartFrame frames[k_deepest_part];
};

/// What the shim knows of an operator.
struct Part {
  std::uint32_t number;
  std::uint32_t before;  ///< the part made of what its chain calls between the operator before and it; 0: nothing
  std::uint32_t chain;   ///< number of that chain, 0 with `before` 0
  std::uint32_t after;   ///< of a chain: the part made of what it calls behind its last marked operator; 0: nothing
};

/// Whether marks do anything on this thread now.
inline bool divides(const Thread& thread) {
  return thread.parts != nullptr && thread.parts->depth != 0;
}

/// Gives the thread a stack, and measures what marking costs, unless it has been done. Only with the thread busy.
void prepare_parts(Thread& thread);

/// Chooses how many samples of the batch that begins are divided: set_period() has chosen which are timed.
void set_part_period(Thread& thread);

/// Whether the timed sample that begins is one of them.
bool is_divided(Thread& thread, std::int64_t index);

/// CLOCK_MONOTONIC, for a whole that begins. Who asks for its CPU clock, as each part does, has the kernel look at
/// whether its turn is over, and loses its core when the call returns; else that is seen at a tick. So a due core is
/// given up before. Waiting for it would gather in the wholes: of samples of 50 us on crowded cores, one in 14 took 1
/// to 7 ms.
std::uint64_t begin_of_whole();

/// A whole begins, unless one is open: `number` is what is left of it in the end. Only with the thread busy.
void open_whole(Thread& thread, std::uint32_t number, std::uint64_t begin_ns, std::uint16_t flags);

/// The whole `number` ends: writes its record and returns when (CLOCK_MONOTONIC); 0 if it was not open. Only with the
/// thread busy.
std::uint64_t close_whole(Thread& thread, std::uint32_t number);

/// An operator begins. False: it is not timed, and end_part() must not be called for it.
bool begin_part(Thread& thread, const Part& part, const void* object);

/// The operator that began last ends. `after` as in Part.
void end_part(Thread& thread, std::uint32_t after);

/// The thread ends: its stack is free for another.
void leave_parts(Thread& thread);

}  // namespace stallcast::capture
