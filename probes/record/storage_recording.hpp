/// What a storage probe saw (probes/collect/storage/probe), as it was seen: the analyzer makes points and fits of it.
///
/// Worked example. 0.5 s of whole files, four at once, is one StorageWindow {whole_file, cold, in_flight 4}: the time
/// of the last moment at which all four streams were busy (stop_s), the bytes and reads that had ended by then as a
/// curve over time, and some of the reads one by one with their size and duration. Windows of one point repeat in
/// rounds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/data_issue.hpp"

namespace stallcast::record {

/// What one read is.
enum class StorageRead : std::uint8_t {
  whole_file,   ///< a file opened, read to its end and closed
  small_block,  ///< 4 KiB at a random place of an open file
  large_block,  ///< 1 MiB at a random place of an open file
  sequential,   ///< 1 MiB behind the one before, each stream in a file of its own
  metadata,     ///< nothing is read: a file opened, its size asked for, closed
};

/// Where the bytes were when they were asked for.
enum class StorageState : std::uint8_t { cold, resident };

/// What had ended at `t_s`, seconds since the begin of the window.
struct StorageProgress {
  double t_s = 0.0;
  double reads = 0.0;
  double bytes = 0.0;
};

/// One read: when it ended, what it brought, how long it took without the open.
struct StorageSampledRead {
  double end_s = 0.0;
  double bytes = 0.0;
  double seconds = 0.0;
};

/// The evidence for a window's state.
struct StorageEvidence {
  std::string method{};             ///< evicted | direct | resident
  std::int64_t pages_checked = -1;  ///< before the window; -1: nobody may ask here
  std::int64_t pages_resident = -1;
  double storage_bytes = -1.0;  ///< that the kernel counted for this process meanwhile; -1: it does not count
};

/// A stretch of reading of one kind, with so many reads in flight.
struct StorageWindow {
  StorageRead read = StorageRead::whole_file;
  StorageState state = StorageState::cold;
  int in_flight = 1;
  int round = 0;
  double pause_s = 0.0;  ///< reads for so long, pauses for so long, and again; 0: reads all the time
  double begin_s = 0.0;  ///< since the begin of the probe
  double stop_s = 0.0;   ///< within the window: from here on fewer were in flight
  double end_s = 0.0;    ///< within the window: the last read has ended
  double reads = 0.0;
  double bytes = 0.0;
  double cpu_s = 0.0;  ///< of this process, meanwhile
  std::int64_t failed_reads = 0;
  StorageEvidence evidence{};
  std::vector<StorageProgress> progress{};
  std::vector<StorageSampledRead> sampled{};
};

/// How the kernel reads ahead of one reader that goes through files in order (probes/collect/storage/in_order).
struct StorageInOrder {
  double window_bytes = -1.0;   ///< that it reads ahead at most; -1: it does not say
  double at_once_bytes = -1.0;  ///< the most that becomes readable at once; -1: not measured
  std::string reason{};         ///< why not, where it was not
};

/// A point that was not measured, and why.
struct StorageGap {
  StorageRead read = StorageRead::whole_file;
  StorageState state = StorageState::cold;
  int in_flight = 0;  ///< 0: none of that kind and state
  std::string reason{};
};

/// The files below the path that was given.
struct StorageFiles {
  std::string path{};        ///< as resolved
  std::string filesystem{};  ///< "ext4", "nfs4", ...; empty if the kernel does not say
  std::string device{};      ///< "/dev/vda", "server:/export", ...
  std::int64_t seen = 0;     ///< regular files that are not empty
  bool complete = true;      ///< false: the walk was cut short, `seen` is a lower bound
  std::int64_t folders = 0;
  std::int64_t empty = 0;           ///< among those sampled
  std::int64_t unreadable = 0;      ///< among those sampled
  std::int64_t not_files = 0;       ///< pipes, sockets, devices
  std::int64_t dangling_links = 0;  ///< links to nothing
  std::int64_t unreadable_folders = 0;
  std::vector<double> sizes_bytes{};  ///< of a random sample
  std::vector<double> stat_s{};       ///< the first stat of each sampled file, metadata cached or not as found
  std::vector<double> open_s{};       ///< its first open, after the stat
  double resident_share = -1.0;       ///< of the sampled bytes, as found; -1: nobody may ask here
};

/// All that one probe saw.
struct StorageRecording {
  StorageFiles files{};
  std::string evict = "own";
  std::string engine = "threads";  ///< that kept cold reads in flight: threads | io_uring
  double budget_s = 0.0;
  double elapsed_s = 0.0;
  double usable_cpus = 0.0;
  double cold_pool_bytes = 0.0;  ///< distinct bytes that the cold windows read from
  std::vector<StorageWindow> windows{};
  StorageInOrder in_order{};
  std::vector<StorageGap> gaps{};
  std::vector<DataIssue> issues{};
};

}  // namespace stallcast::record
