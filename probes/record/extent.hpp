/// A stretch of a recording file: paid for from the node's budget, allocated on the disk, then mapped.
#pragma once

#include <sys/types.h>

#include "probes/record/writer.hpp"

namespace stallcast::record {

/// Takes `bytes` of the budget, allocates [offset, offset + bytes) of the open file `fd` and maps it. nullptr with
/// `reason` set: beyond the budget (counted in refused_blocks), no space, or failed; nothing stays taken then.
void* map_extent(ControlBlock& control, int fd, off_t offset, std::uint32_t bytes, DisableReason& reason);

/// Ends the recording of this process for good; the first reason stays.
void end_recording(Writer& writer, DisableReason reason);

}  // namespace stallcast::record
