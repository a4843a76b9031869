/// Strings from outside (paths, command lines) as valid UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace stallcast {

/// `text` with every byte that is not part of well-formed UTF-8 replaced by U+FFFD (overlong forms, surrogates and
/// code points above U+10FFFF are not well-formed).
[[nodiscard]] std::string valid_utf8(std::string_view text);

}  // namespace stallcast
