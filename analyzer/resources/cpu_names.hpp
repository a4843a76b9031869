/// What people call the work that a function does: one table for all reports.
#pragma once

#include <string>

namespace stallcast {

/// "JPEG decode" of libjpeg.so.62, "memory copy" of libc.so.6 and memmove; the library's own name where the table does
/// not know it. `library`, `function`: as record::CpuSymbol.
[[nodiscard]] std::string cpu_work_name(const std::string& library, const std::string& function);

/// A library's name without its version: "libfoo" of "libfoo-1.2.so.3", "_multiarray" of "_multiarray.cpython-311.so".
[[nodiscard]] std::string bare_library_name(const std::string& library);

}  // namespace stallcast
