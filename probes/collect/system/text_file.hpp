/// Small text files of the kernel (/proc, /sys), read whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stallcast::collect {

/// The content of `path`, at most `limit` bytes of it; nothing if it cannot be opened or read.
[[nodiscard]] std::optional<std::string> read_text(const std::filesystem::path& path, std::size_t limit = 1U << 20U);

/// Lines without their newline; an empty last line is dropped.
[[nodiscard]] std::vector<std::string_view> split_lines(std::string_view text);
std::vector<std::string_view> split_lines(std::string&& text) = delete;  // the views would outlive it

/// Fields between runs of `separator`; empty fields are dropped.
[[nodiscard]] std::vector<std::string_view> split_fields(std::string_view text, char separator = ' ');

/// A whole decimal number, surrounding white space allowed; nothing for anything else.
[[nodiscard]] std::optional<std::uint64_t> parse_u64(std::string_view text);

/// Without white space at either end.
[[nodiscard]] std::string_view trim(std::string_view text);

}  // namespace stallcast::collect
