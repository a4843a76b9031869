/// Names for places in files and in the kernel, asked for when the run has ended.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stallcast::collect {

/// For each of `offsets` (bytes from the begin of the ELF file `file`, ascending) the function that holds it,
/// demangled; empty where no symbol covers it. All are empty where the file is no ELF file or is gone. Symbols without
/// a size (assembler) cover nothing: a neighbour's name would be a guess.
[[nodiscard]] std::vector<std::string> function_names(const std::filesystem::path& file,
                                                      std::span<const std::uint64_t> offsets);

/// As function_names, of kernel addresses (ascending), from the text of /proc/kallsyms. Where addresses are hidden
/// (kptr_restrict), all are empty.
[[nodiscard]] std::vector<std::string> kernel_names(std::string_view kallsyms,
                                                    std::span<const std::uint64_t> addresses);

/// As demangled, without template and call arguments: "void at::native::copy<float>(int)" -> "at::native::copy".
[[nodiscard]] std::string short_function_name(const char* symbol);

/// Functions of the C library that move and compare memory and strings, as this processor has them: their code has no
/// symbol in a stripped C library. Pairs of address in the file (as symbols have it) and name, ascending; `file` is
/// where they lie.
struct LibcFunctions {
  std::filesystem::path file{};
  std::vector<std::pair<std::uint64_t, std::string>> entries{};
};

/// Of the C library of this process; empty where that is not to be had.
[[nodiscard]] const LibcFunctions& libc_functions();

}  // namespace stallcast::collect
