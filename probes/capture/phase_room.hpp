/// How much memory the stage takes: room is taken before a copy is made and comes back when its name is removed.
#pragma once

#include <cstdint>

#include "probes/record/control.hpp"

namespace stallcast::capture {

/// False, and nothing taken, if a copy of `bytes` bytes does not fit into the stage's budget.
bool take_room(record::ControlBlock& control, std::uint64_t bytes);

void give_room_back(record::ControlBlock& control, std::uint64_t bytes);

/// Removes what was staged two rounds before `round` or earlier, by this process or by workers that are gone.
void remove_old_rounds(record::ControlBlock& control, std::uint32_t round);

}  // namespace stallcast::capture
