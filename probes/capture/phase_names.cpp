#include "probes/capture/phase_names.hpp"

#include "probes/record/hash.hpp"

namespace stallcast::capture {
namespace {

constexpr int k_round_digits = 8;
constexpr int k_identity_digits = 16;

/// The value of a lower-case hexadecimal digit; negative: none.
int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/// Reads exactly `digits` hexadecimal digits. nullptr if there are fewer, else where they end.
const char* read_hex(const char* text, int digits, std::uint64_t& value) {
  value = 0;
  for (; digits > 0; --digits, ++text) {
    const int digit = hex_value(*text);
    if (digit < 0) return nullptr;
    value = value << 4U | static_cast<std::uint64_t>(digit);
  }
  return text;
}

}  // namespace

StageName& StageName::add(const char* text) {
  while (*text != '\0' && used_ + 1 < room_) out_[used_++] = *text++;
  complete_ = complete_ && *text == '\0';
  out_[used_] = '\0';
  return *this;
}

StageName& StageName::add_hex(std::uint64_t number, int digits) {
  char text[k_identity_digits + 1] = {};
  for (int i = digits; i-- > 0; number >>= 4U) text[i] = "0123456789abcdef"[number & 15U];
  return add(text);
}

StageName& StageName::add_decimal(std::uint64_t number) {
  char digits[24];
  char* at = digits + sizeof(digits);
  *--at = '\0';
  do *--at = static_cast<char>('0' + number % 10);
  while ((number /= 10) != 0);
  return add(at);
}

StageName& StageName::add_round(std::uint32_t round) {
  return add("/").add_hex(round, k_round_digits);
}

StageName& StageName::add_copy(const FileIdentity& file) {
  const std::uint64_t words[] = {file.device, file.inode, file.modified_ns};
  const std::uint64_t hash = record::hash_words(words, 3);
  return add("/").add_hex(hash, k_identity_digits).add(".").add_decimal(file.size);
}

bool parse_round(const char* name, std::uint32_t& round) {
  std::uint64_t value = 0;
  const char* end = read_hex(name, k_round_digits, value);
  if (end == nullptr || *end != '\0') return false;
  round = static_cast<std::uint32_t>(value);
  return true;
}

bool parse_size(const char* name, std::uint64_t& size) {
  std::uint64_t hash = 0;
  const char* at = read_hex(name, k_identity_digits, hash);
  if (at == nullptr || *at != '.') return false;
  size = 0;
  for (++at; *at >= '0' && *at <= '9'; ++at) size = size * 10 + static_cast<std::uint64_t>(*at - '0');
  return *at == '\0' || *at == '.';
}

}  // namespace stallcast::capture
