#include "cli/terminal.hpp"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "core/utf8.hpp"

namespace stallcast::cli {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

bool moves_cursor(int descriptor) {
  return isatty(descriptor) == 1 && variable("TERM") != "dumb" && !variable("TERM").empty();
}

/// One writer at a time, and whether a line of progress stands where it would write.
struct Stderr {
  std::mutex lock{};
  bool progress = false;
};

Stderr& standard_error() {
  static Stderr instance;
  return instance;
}

void wipe_progress(Stderr& errors) {
  if (errors.progress) fmt::print(stderr, "\r\033[K");
  errors.progress = false;
}

}  // namespace

void print_error(const Error& error) {
  Stderr& errors = standard_error();
  const std::lock_guard guard(errors.lock);
  wipe_progress(errors);
  fmt::print(stderr, "stallcast: {}\n", valid_utf8(error.what));
  if (!error.hint.empty()) fmt::print(stderr, "  hint: {}\n", valid_utf8(error.hint));
}

void print_note(std::string_view message) {
  Stderr& errors = standard_error();
  const std::lock_guard guard(errors.lock);
  wipe_progress(errors);
  fmt::print(stderr, "stallcast: {}\n", valid_utf8(message));
}

void show_progress(std::string_view message) {
  if (!moves_cursor(STDERR_FILENO)) return;
  winsize window{};
  const std::size_t columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 ? window.ws_col : 80;
  constexpr std::size_t k_prefix = sizeof("stallcast: ");  // a line that wraps is not replaced by the next one
  message = message.substr(0, columns > k_prefix ? columns - k_prefix : 0);
  Stderr& errors = standard_error();
  const std::lock_guard guard(errors.lock);
  fmt::print(stderr, "\rstallcast: {}\033[K", message);
  errors.progress = true;
}

void clear_progress() {
  Stderr& errors = standard_error();
  const std::lock_guard guard(errors.lock);
  wipe_progress(errors);
}

Status print_result(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      return Error{ErrorCode::environment, fmt::format("cannot write to stdout: {}", std::strerror(errno)), ""};
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

bool stdout_has_color() {
  return moves_cursor(STDOUT_FILENO) && variable("NO_COLOR").empty();
}

bool stdout_has_unicode() {
  if (isatty(STDOUT_FILENO) != 1) return false;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view locale = variable(name);
    if (locale.empty()) continue;
    return locale.find("UTF-8") != std::string_view::npos || locale.find("utf8") != std::string_view::npos;
  }
  return false;
}

}  // namespace stallcast::cli
