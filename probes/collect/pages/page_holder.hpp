/// Keeps files in the page cache while batches are made of them: what `cached` means.
///
/// Memory may be taken back at any time, also where there is plenty (DAMON, control groups). So what is read is mapped
/// too, and locked where this process may lock; what it may not lock it touches twice a second, and brings back what is
/// gone. When it lets go, the page cache is as it was found: what this holder brought in goes, what was there stays.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "probes/collect/pages/files_of_samples.hpp"

namespace stallcast::collect {

enum class HoldPhase {
  idle,     ///< nothing is held
  reading,  ///< on its way
  held,     ///< all of it is in memory, and stays
  failed,   ///< for the reason given; nothing is held
};

struct HoldState {
  HoldPhase phase = HoldPhase::idle;
  std::uint64_t bytes = 0;         ///< read so far, or held
  std::uint64_t locked_bytes = 0;  ///< of these, locked
  std::uint64_t gone_bytes = 0;    ///< that had left memory since and were brought back, summed
  std::int64_t parts = 0;          ///< asked for
  std::int64_t skipped_parts = 0;  ///< that are gone, changed or unreadable
  std::string reason{};            ///< why it failed
};

/// What becomes of pages that this holder brought in, when it lets go of them.
enum class HeldPages { drop, stay };

/// Reads and holds on threads of its own; no call waits for storage. It opens regular files to read, and nothing else.
class PageHolder {
 public:
  PageHolder() = default;
  PageHolder(const PageHolder&) = delete;
  PageHolder& operator=(const PageHolder&) = delete;

  /// Lets go, and waits until that is done.
  ~PageHolder();

  /// Chosen: storage gives more to some than to one.
  static constexpr std::size_t k_fewest_readers = 4;

  /// Most parts at once: the kernel allows 65,530 maps.
  static constexpr std::size_t k_most_parts = 20'000;

  /// Holds these parts from now on, in the place of what it held. At most `limit_bytes` of them (0: no limit of the
  /// caller's) and at most a quarter of the memory that is free, else it fails. Of parts that are gone, changed or
  /// unreadable it makes do without up to 2 % of the parts and 2 % of the bytes. `readers`: threads that read them.
  void hold(std::vector<FileStretch> parts, std::uint64_t limit_bytes = 0, std::size_t readers = k_fewest_readers);

  /// Lets go, soon: reading stops within the call that storage is busy with.
  void release(HeldPages pages = HeldPages::drop);

  [[nodiscard]] HoldState state() const;

  /// Waits until it is neither reading nor letting go; for tests and the end of a run.
  HoldState wait();

 private:
  struct Work;
  enum class Kind { hold, release, end };
  struct Request {
    Kind kind = Kind::release;
    HeldPages pages = HeldPages::drop;
    std::shared_ptr<Work> work{};
  };

  void ask(Request request);
  void run();
  void serve(Request request, std::unique_lock<std::mutex>& lock);
  void hold_on(std::unique_lock<std::mutex>& lock);
  static void let_go(Work& work, HeldPages pages);
  void fill(HoldState& state) const;

  mutable std::mutex mutex_{};
  std::condition_variable asked_{};
  std::condition_variable served_{};
  std::optional<Request> request_{};
  bool serving_ = false;
  std::shared_ptr<Work> work_{};  ///< what is held or being read
  HoldPhase phase_ = HoldPhase::idle;
  std::string reason_{};
  std::thread thread_{};
};

}  // namespace stallcast::collect
