/// What a person sees: results on stdout, everything else on stderr. What goes to stderr may come from any thread.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"

namespace stallcast::cli {

/// "stallcast: what" and, where there is one, "hint: ..." on stderr.
void print_error(const Error& error);

/// "stallcast: message" on stderr; further lines of it as they are.
void print_note(std::string_view message);

/// A line on stderr that the next one (or clear_progress) replaces; nothing where stderr is no terminal.
void show_progress(std::string_view message);
void clear_progress();

/// Writes all of `text` to stdout. environment error if the reader is gone or the disk is full.
[[nodiscard]] Status print_result(std::string_view text);

/// True if stdout is a terminal that shows colours, and NO_COLOR is not set.
[[nodiscard]] bool stdout_has_color();

/// True if stdout is a terminal and the locale writes UTF-8.
[[nodiscard]] bool stdout_has_unicode();

}  // namespace stallcast::cli
