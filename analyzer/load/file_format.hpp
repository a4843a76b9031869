/// What a file of a data set is, by its name: it need not be opened, and analysis may run on another machine.
#pragma once

#include <string>
#include <string_view>

namespace stallcast {

/// "jpeg", "tar", "hdf5", "lmdb", "tfrecord", ...: the field's word for the last part of `path` after a dot, whatever
/// its case. Two endings count where the last is a compression ("x.tar.gz": "tar, compressed"). Empty where the ending
/// says nothing.
[[nodiscard]] std::string format_of(std::string_view path);

}  // namespace stallcast
