/// What a profile knows of its data set's storage, in words.
#pragma once

#include <string>

#include "analyzer/profile/profile.hpp"

namespace stallcast::reports {

/// "at most 20.1 MB/s (19.8 to 20.4), 19.6 MB/s with one read at once; ..."; empty where it was not probed.
[[nodiscard]] std::string storage_words(const Storage& storage);
/// "20.1 MB/s (19.8 to 20.4)".
[[nodiscard]] std::string bandwidth_words(const Estimate<BytesPerSecond>& estimate);

}  // namespace stallcast::reports
