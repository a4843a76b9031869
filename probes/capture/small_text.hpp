/// Text put together without allocating.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stallcast::capture {

/// Text in a caller's buffer; cut, never overrun, and then not complete().
class SmallText {
 public:
  template <std::size_t Room>
  explicit SmallText(char (&out)[Room]) : out_(out), room_(Room) {
    out_[0] = '\0';
  }

  SmallText& add(const char* text) {
    while (*text != '\0' && used_ + 1 < room_) out_[used_++] = *text++;
    complete_ = complete_ && *text == '\0';
    out_[used_] = '\0';
    return *this;
  }

  SmallText& add(std::uint64_t number) {
    char digits[24];
    char* at = digits + sizeof(digits);
    *--at = '\0';
    do *--at = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
    return add(at);
  }

  [[nodiscard]] bool complete() const { return complete_; }

 private:
  char* out_;
  std::size_t room_;
  std::size_t used_ = 0;
  bool complete_ = true;
};

}  // namespace stallcast::capture
