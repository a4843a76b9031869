/// A process beside the tool that does what must be done after it, however it dies.
#pragma once

#include <functional>

#include "core/result.hpp"

namespace stallcast::collect {

/// A small process, in a session of its own, that waits for the tool's end of a line between them to close: with a word
/// (the tool is done) or without one (it died). It is no child of the tool, holds none of its files, and what the
/// terminal sends to the job does not reach it. Movable.
class Sentinel {
 public:
  /// Forks it. `then` runs in it once the line is closed; `told` is false where the tool died. It must not rely on
  /// threads of the tool. environment error if there are no processes or descriptors left.
  [[nodiscard]] static Result<Sentinel> post(const std::function<void(bool told)>& then);

  Sentinel(Sentinel&& other) noexcept;
  Sentinel& operator=(Sentinel&&) = delete;
  Sentinel(const Sentinel&) = delete;
  Sentinel& operator=(const Sentinel&) = delete;

  /// Sends the word.
  ~Sentinel();

 private:
  explicit Sentinel(int line) : line_(line) {}
  int line_ = -1;
};

}  // namespace stallcast::collect
