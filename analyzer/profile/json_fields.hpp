/// Single fields of JSON that a process or the tool wrote while a run went on. It may be damaged: what is absent, or of
/// another kind, is the fallback.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace stallcast {

/// The text under `key`; empty where there is none.
[[nodiscard]] std::string word(const nlohmann::json& object, const char* key);

/// The whole number from 0 on under `key`; 0 where there is none.
[[nodiscard]] std::uint64_t natural(const nlohmann::json& object, const char* key);

/// The number under `key`, cut to a whole one; `fallback` where there is none, or none that 64 bits hold.
[[nodiscard]] std::int64_t integer(const nlohmann::json& object, const char* key, std::int64_t fallback = -1);

}  // namespace stallcast
