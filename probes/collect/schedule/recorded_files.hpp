/// FilesAhead of a real job: what its recordings told of its samples, what its ranks answer when they are asked what
/// comes next, and a holder that keeps these files in memory.
///
///   asked -> control block -> ranks write their index lists into their recordings -> files of these samples -> held
///
/// Of samples that were never read, ranks tell the names that their data set holds (NamesOfSamples); those that lie in
/// files together are looked for between others (PlacesOfSamples).
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "probes/collect/pages/files_of_samples.hpp"
#include "probes/collect/pages/names_of_samples.hpp"
#include "probes/collect/pages/page_holder.hpp"
#include "probes/collect/pages/places_of_samples.hpp"
#include "probes/collect/pages/read_lumps.hpp"
#include "probes/collect/pages/recording_follower.hpp"
#include "probes/collect/pages/stream_positions.hpp"
#include "probes/collect/schedule/files_ahead.hpp"
#include "probes/record/control.hpp"

namespace stallcast::collect {

/// One thread's; poll() is to be called now and then.
class RecordedFiles : public FilesAhead {
 public:
  RecordedFiles(const std::filesystem::path& run_folder, record::ControlBlock& control);

  /// Takes over what was recorded since the last call.
  void poll();

  /// In memory for what was asked for last, or read so far.
  [[nodiscard]] std::uint64_t held_bytes() const { return now_->holder.state().bytes; }

  void ask(std::uint64_t first, std::uint32_t batches) override;
  void ask_next(std::uint64_t first, std::uint32_t batches) override;
  [[nodiscard]] bool is_next_held() const override;
  void ask_all() override;
  bool ask_from_here(std::uint64_t skipped, std::uint64_t turns) override;
  [[nodiscard]] std::uint64_t turns_read_ahead() const override;
  [[nodiscard]] std::uint64_t batches_between_reads() const override { return lumps_.between_reads(); }
  [[nodiscard]] std::uint64_t batches_between_opens() const override { return lumps_.between_opens(); }
  [[nodiscard]] bool only_maps() const override;
  [[nodiscard]] bool are_shared() const override;
  [[nodiscard]] State state() const override;
  [[nodiscard]] std::string why_not() const override;
  void release() override;
  void release_next() override;
  void release_all() override;

 private:
  /// What one request holds.
  struct Held {
    PageHolder holder{};
    bool holding = false;
    std::string why_not{};  ///< not empty: the request has failed
  };

  void ask_ranks(Held& held, std::uint64_t first, std::uint32_t batches);
  void hold(Held& held, std::vector<FileStretch> parts, std::size_t readers = PageHolder::k_fewest_readers);
  void let_go(Held& held);
  void take_answer(const AheadText& text);
  void take_names(const nlohmann::json& answer);
  void hold_what_was_told();
  [[nodiscard]] bool samples_repeat() const;
  [[nodiscard]] std::size_t readers() const;
  /// What the samples that were told read, completed by what is guessed of those that nobody has read.
  struct ToldFiles {
    FoundFiles found{};
    std::vector<FileStretch> guessed{};
    std::size_t guessed_samples = 0;
  };
  [[nodiscard]] ToldFiles files_of_told() const;
  bool find_unread(std::int64_t index, std::vector<FileStretch>& parts, bool& anywhere) const;
  void fail(Held& held, std::string why);
  void look_at_positions();
  [[nodiscard]] std::uint64_t turns_passed() const;
  /// Bytes that all readers of a stream take for a turn; 0: not known.
  [[nodiscard]] double bytes_of_turn() const;

  record::ControlBlock& control_;
  RecordingFollower follower_;
  FilesOfSamples samples_{};
  std::map<std::string, std::uint32_t> name_tables_{};   ///< their numbers
  std::map<std::string, std::uint32_t> place_tables_{};  ///< likewise
  NamesOfSamples names_{};
  PlacesOfSamples places_{};
  StreamPositions positions_{};
  ReadLumps lumps_{};
  std::unordered_map<std::string, std::uint64_t> stream_files_{};  ///< sizes, by path
  std::size_t listed_files_ = 0;                                   ///< when these were taken over
  std::uint64_t looked_ns_ = 0;                                    ///< at positions
  std::uint64_t first_looked_turns_ = 0;
  std::array<Held, 2> sets_{};
  Held* now_ = &sets_[0];
  Held* next_ = &sets_[1];  ///< takes its place
  Held* asking_ = nullptr;  ///< whose files ranks are asked for
  std::uint32_t serial_ = 0;
  std::unordered_set<std::int32_t> answered_{};  ///< ranks, by pid
  std::vector<std::int64_t> indices_{};
  std::unordered_map<std::int32_t, std::unordered_set<std::int64_t>> told_{};  ///< the same, by rank
  bool repeated_ = false;  ///< a rank has told one more than once, as where samples are drawn with replacement
};

}  // namespace stallcast::collect
