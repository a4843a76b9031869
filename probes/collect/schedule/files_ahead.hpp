/// The files of what comes next, brought into memory and kept there: what cached blocks need.
#pragma once

#include <cstdint>
#include <string>

namespace stallcast::collect {

/// One request at a time, and beside what is held one for what comes after it.
class FilesAhead {
 public:
  enum class State {
    idle,     ///< nothing is asked for, nothing is held any more
    asked,    ///< which files it takes is being found out
    reading,  ///< they are being read, or let go of
    held,     ///< they are in memory, and stay there
    failed,   ///< they cannot be: why_not()
  };

  virtual ~FilesAhead() = default;

  /// The files of the samples of turns `first` .. + `batches`, by what has been read for these samples before.
  virtual void ask(std::uint64_t first, std::uint32_t batches) = 0;

  /// Likewise, while others are held: these take their place when they are let go of. Nothing else is asked for until
  /// then.
  virtual void ask_next(std::uint64_t first, std::uint32_t batches) = 0;
  [[nodiscard]] virtual bool is_next_held() const = 0;

  /// All files that the job has read so far.
  virtual void ask_all() = 0;

  /// Of a stream: what each reader will read of the file that it is in, from `skipped` turns from now on until `turns`
  /// turns from now. False: not now, as one of them comes to the end of its file before; nothing is asked for then.
  virtual bool ask_from_here(std::uint64_t skipped, std::uint64_t turns) = 0;

  /// Of a stream: the turns that the kernel has read ahead of its readers, one window each; 0 where that is not known.
  /// A cold block begins and ends in the midst of them.
  [[nodiscard]] virtual std::uint64_t turns_read_ahead() const = 0;

  /// Batches of a worker from one that reads to its next one, and from one that opens a file to the next that does
  /// (pages/read_lumps.hpp); 0: not known.
  [[nodiscard]] virtual std::uint64_t batches_between_reads() const = 0;
  [[nodiscard]] virtual std::uint64_t batches_between_opens() const = 0;

  /// Batches are made of maps of files, and no sample is seen to read anything: of which parts, nobody knows.
  [[nodiscard]] virtual bool only_maps() const = 0;

  /// Samples lie in files together: what is held for some of them is there for others.
  [[nodiscard]] virtual bool are_shared() const = 0;

  [[nodiscard]] virtual State state() const = 0;
  [[nodiscard]] virtual std::string why_not() const = 0;

  /// Lets go of them; their pages are as they were found. What was asked for after them takes their place.
  virtual void release() = 0;

  /// Lets go of what was asked for beside them.
  virtual void release_next() = 0;

  /// Lets go of all that is held or asked for.
  virtual void release_all() = 0;
};

}  // namespace stallcast::collect
