/// Where a job's CPU time went, in words.
#pragma once

#include <string>

#include "analyzer/profile/profile.hpp"

namespace stallcast::reports {

/// "61 % (59 to 63) JPEG decode (libjpeg), 14 % (13 to 15) image operations (Pillow), ...; 8,204 samples": the
/// largest shares of the workers' CPU time; empty where none was sampled.
[[nodiscard]] std::string cpu_words(const Cpu& cpu);

}  // namespace stallcast::reports
