/// --emulate KEY=VALUE: the hardware that a run is to be given instead of its own.
#pragma once

#include <span>
#include <string>

#include "core/result.hpp"
#include "probes/collect/emulation/emulation.hpp"

namespace stallcast::cli {

/// What "KEY=VALUE" texts ask for. Usage errors, which say what to write: a key that is not known (the nearest is
/// suggested) or given twice, a value without its unit, settings that contradict each other, what is not built.
/// `with` is "interposer" or "kernel"; the kernel can give less, of which each refusal says why.
[[nodiscard]] Result<collect::EmulationOptions> parse_emulation(std::span<const std::string> settings,
                                                                const std::string& with);

}  // namespace stallcast::cli
