#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "analyzer/profile/json.hpp"

/// Whatever parses is a profile: written and read again it says the same. Whatever does not is the file's fault, by
/// name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto profile = stallcast::parse_profile(text, "fuzz.json");
  if (!profile.ok()) {
    const bool named = profile.error().what.find("fuzz.json") != std::string::npos;
    if (profile.error().code != stallcast::ErrorCode::bad_input || !named) std::abort();
    return 0;
  }
  const std::string once = stallcast::profile_text(stallcast::to_json(profile.value()));
  const auto again = stallcast::parse_profile(once, "again.json");
  if (!again.ok() || stallcast::profile_text(stallcast::to_json(again.value())) != once) std::abort();
  return 0;
}
