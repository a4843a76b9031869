/// One reader that goes through shards in order, alone at its storage, and computes between its reads: how far the
/// kernel's read-ahead lets the two overlap. An event calculation over the windows of mm/readahead.c
/// (core/read_ahead.hpp).
///
/// The next window is asked for when the reader comes to the begin of the one before, and at the end of a file nothing
/// is: a shard of a few windows leaves storage idle while its last are used up. Where a window becomes readable only
/// when all of it is there, the reader has nothing to go on with meanwhile.
///
/// Worked example. Shards of 10 MB, samples of 100 KB: 5 ms of storage and 5 ms of the reader each. Read ahead by up to
/// 8 MiB in one piece, a sample takes 7.1 ms: not 5, as if all overlapped, and not 10, as if nothing did. In pieces of
/// 64 KiB it takes 5.1.
#pragma once

namespace stallcast::read_ahead {

struct Reader {
  double shard_bytes = 0.0;
  double sample_bytes = 0.0;      ///< of a shard, for one sample
  double read_ahead_bytes = 0.0;  ///< the largest window
  double at_once_bytes = 0.0;     ///< of a window, what becomes readable together at the most
  double storage_s = 0.0;         ///< of a sample at the storage
  double own_s = 0.0;             ///< of the reader itself between two samples
  double batch = 1.0;             ///< after so many samples it pauses
  double pause_s = 0.0;           ///< for so long: a step, where the training process reads
  /// Of a storage that saves up what it could have delivered (a token bucket): the longest pause after which it has all
  /// of that ready. After one of twice that it has nothing, as Linux' throttle, which begins a new slice after 0.1 s
  /// (block/blk-throttle.c); linear between, as nobody knows the moment. 0: it saves up nothing.
  double saving_pause_s = 0.0;
};

/// Seconds of a sample, pauses included, in the steady state of one shard after the other.
[[nodiscard]] double sample_s(const Reader& reader);

/// The `storage_s` with which a sample takes `measured_s`, whatever `reader.storage_s` says; no more than `measured_s`,
/// 0 where the reader alone takes as long.
[[nodiscard]] double storage_s_of(const Reader& reader, double measured_s);

}  // namespace stallcast::read_ahead
