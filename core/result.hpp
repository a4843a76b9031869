/// Errors as values: what could not be delivered, why, and what to do about it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace stallcast {

/// Why something could not be delivered. `cli` maps each to one exit status (DESIGN contracts).
enum class ErrorCode {
  usage,            ///< the arguments are wrong (exit 2)
  environment,      ///< this machine or these permissions do not allow it (exit 3)
  bad_input,        ///< a file or a value given to us is malformed (exit 4)
  not_enough_data,  ///< well-formed, but too little was measured (exit 5)
  internal,         ///< our own fault (exit 70)
};

/// A failure: `what` happened in one sentence, `hint` is what the user can do next (may be empty).
struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string what{};
  std::string hint{};
};

/// The arguments are wrong.
[[nodiscard]] inline Error usage_error(std::string what, std::string hint) {
  return Error{ErrorCode::usage, std::move(what), std::move(hint)};
}

/// A value of type T or the Error that kept it from being delivered.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }

  /// The value; only after ok() was seen.
  [[nodiscard]] T& value() & { return *std::get_if<T>(&state_); }
  [[nodiscard]] const T& value() const& { return *std::get_if<T>(&state_); }
  [[nodiscard]] T&& value() && { return std::move(*std::get_if<T>(&state_)); }

  /// The error; only when ok() is false.
  [[nodiscard]] const Error& error() const { return *std::get_if<Error>(&state_); }

 private:
  std::variant<T, Error> state_;
};

/// Success or an Error, for actions that deliver nothing else.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_{};
};

using Status = Result<void>;

}  // namespace stallcast

/// Returns the error of a Status-like expression from the enclosing function.
#define STALLCAST_RETURN_IF_ERROR(expression)                                                          \
  do {                                                                                                 \
    if (auto stallcast_status = (expression); !stallcast_status.ok()) return stallcast_status.error(); \
  } while (false)
