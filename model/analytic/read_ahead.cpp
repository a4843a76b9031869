#include "model/analytic/read_ahead.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/check.hpp"
#include "core/read_ahead.hpp"
#include "model/analytic/constants.hpp"

namespace stallcast::read_ahead {
namespace {

struct Window {
  double begin = 0.0;
  double end = 0.0;
  double served_from_s = -1.0;  ///< when storage began with it; negative: it was not asked for yet
};

std::vector<Window> windows_of(double shard_bytes, double most_bytes) {
  const auto most = static_cast<std::uint64_t>(std::max(most_bytes, 4096.0));
  std::vector<Window> windows;
  std::uint64_t size = first_window(k_first_read_bytes, most);
  for (double at = 0.0; at < shard_bytes; size = next_window(size, most)) {
    const double end = std::min(shard_bytes, at + static_cast<double>(size));
    windows.push_back({at, end});
    at = end;
  }
  return windows;
}

/// A reader on its way through one shard after the other.
class Walk {
 public:
  Walk(const Reader& reader, double samples)
      : reader_(reader), byte_s_(samples * reader.storage_s / reader.shard_bytes) {}

  /// Goes through a shard in `pieces` equal parts, `samples` samples in each. Returns when it has.
  double shard(int pieces, double samples) {
    std::vector<Window> windows = windows_of(reader_.shard_bytes, reader_.read_ahead_bytes);
    std::size_t asked = 0;
    std::size_t at = 0;
    for (int piece = 1; piece <= pieces; ++piece) {
      const double end = reader_.shard_bytes * piece / pieces;
      for (;; ++at) {
        while (asked < std::min(windows.size(), at + 2)) ask(windows[asked++]);  // this one, and the next
        now_s_ = std::max(now_s_, readable_s(windows[at], std::min(end, windows[at].end)));
        if (end <= windows[at].end || at + 1 == windows.size()) break;
      }
      now_s_ += samples * reader_.own_s;
      made_ += samples;
      while (made_ >= reader_.batch) {
        now_s_ += reader_.pause_s;
        made_ -= reader_.batch;
      }
    }
    return now_s_;
  }

 private:
  void ask(Window& window) {
    const double pause_s = std::max(0.0, now_s_ - free_s_);
    const double saving = reader_.saving_pause_s;
    const double saved = saving > 0.0 ? std::clamp(2.0 - pause_s / saving, 0.0, 1.0) : 0.0;
    window.served_from_s = std::max(free_s_, now_s_) - saved * pause_s;
    free_s_ = window.served_from_s + (window.end - window.begin) * byte_s_;
  }

  [[nodiscard]] double readable_s(const Window& window, double end) const {
    const double pieces = std::ceil((end - window.begin) / reader_.at_once_bytes);
    return window.served_from_s + std::min(window.end - window.begin, pieces * reader_.at_once_bytes) * byte_s_;
  }

  const Reader& reader_;
  double byte_s_;  ///< of the storage
  double now_s_ = 0.0;
  double free_s_ = 0.0;  ///< when storage has served what it was asked for
  double made_ = 0.0;    ///< samples since the last pause
};

}  // namespace

double sample_s(const Reader& reader) {
  STALLCAST_CHECK(reader.shard_bytes > 0.0 && reader.sample_bytes > 0.0 && reader.at_once_bytes > 0.0);
  const double samples = std::max(1.0, std::round(reader.shard_bytes / reader.sample_bytes));
  const int pieces = static_cast<int>(std::min(samples, k_most_pieces_of_shard));
  Walk walk(reader, samples);
  // The first shards find a storage that has nothing saved up, and a batch that has just begun.
  double begin_s = 0.0;
  for (int i = 0; i < k_shards_before; ++i) begin_s = walk.shard(pieces, samples / pieces);
  double end_s = begin_s;
  for (int i = 0; i < k_shards_walked; ++i) end_s = walk.shard(pieces, samples / pieces);
  return (end_s - begin_s) / (k_shards_walked * samples);
}

double storage_s_of(const Reader& reader, double measured_s) {
  double low = 0.0;
  double high = measured_s;
  for (int i = 0; i < k_halvings; ++i) {
    Reader guess = reader;
    guess.storage_s = 0.5 * (low + high);
    (sample_s(guess) < measured_s ? low : high) = guess.storage_s;
  }
  // A reader that hides its storage wholly says nothing of it.
  Reader least = reader;
  least.storage_s = 0.0;
  return sample_s(least) < measured_s ? 0.5 * (low + high) : 0.0;
}

}  // namespace stallcast::read_ahead
