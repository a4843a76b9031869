/// The blocks of a phased run gathered by what they measured, round by round: what the estimates are made of. Internal
/// to the analyzer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/blocks/blocks.hpp"
#include "analyzer/statistics/statistics.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {

/// What identifies one kind of measurement.
struct Setting {
  record::Phase phase = record::Phase::as_is;
  std::uint64_t workers = 0;  ///< that make its batches, as it were: of a block of n at a time, n
  std::uint64_t argument = 0;
  std::uint64_t at_once = 0;  ///< batches that may be under way; 0: as many as the loader likes
  auto operator<=>(const Setting&) const = default;
};

/// One round's blocks of one setting over all ranks.
struct RoundCell {
  double samples = 0.0;
  double seconds = 0.0;       ///< mean over ranks
  double wait_seconds = 0.0;  ///< of them, likewise
  double late_seconds = 0.0;  ///< of the waiting, until batches were made, likewise
  double cpu_seconds = 0.0;   ///< of the consumers, summed; negative: not known
  double made_cpu_s = 0.0;    ///< of making the batches, likewise
  double made_wall_s = 0.0;   ///< time that it took, from begin to handing over, likewise
  BlockContent content{};
  int ranks = 0;
  int last_rank = -1;  ///< whose block was counted last; a round may have several of a kind
};

using Rounds = std::map<std::uint32_t, RoundCell>;
using Settings = std::map<Setting, Rounds>;

struct PhaseRounds {
  Settings settings{};
  std::vector<PhaseBlock> blocks{};
  std::map<record::Phase, std::string> rejected{};  ///< last reason per phase
  std::map<record::Phase, std::vector<Premise>> premises{};
  std::string stream{};        ///< why the files of its samples cannot be chosen; empty where they can
  bool without_files = false;  ///< batches are made of no file: cold blocks are cached ones
  bool in_batches = false;     ///< samples are counted in batches: no rate can be given
  std::uint64_t all_workers = 0;
  double correlation = 0.0;  ///< of neighbouring rounds: the machine's speed wanders
  MeanContent content{};     ///< of the samples that the run has read
  /// By how much the times of a setting follow what its samples are made of (blocks/content.hpp); the cells hold times
  /// of samples of mean content.
  std::map<Setting, double> elasticities{};
};

/// Every block of every rank of every launch, its premise checked. Ranks run at the same time: their samples add up,
/// their times are averaged, and a round that a rank lacks is dropped.
[[nodiscard]] PhaseRounds phase_rounds(const std::vector<Launch>& launches);

/// The rounds of a phase with all workers and nothing added; nullptr if there are none.
[[nodiscard]] const Rounds* rounds_of(const PhaseRounds& data, record::Phase phase);

/// Logarithms of the rates in samples/s, by round.
[[nodiscard]] std::vector<double> log_rates(const Rounds& rounds);

/// Pooled rate with the interval of the log rates over rounds, widened by `correlation` of neighbouring rounds, and by
/// `content_sd`: what is not known of the mean content of the data set, as a share of the rate. `others`: how far the
/// log rates of other blocks of this run lie apart.
[[nodiscard]] MeasuredEstimate<SamplesPerSecond> rate_of(const Rounds& rounds, double correlation,
                                                         double content_sd = 0.0, const Scatter& others = {});

/// For blocks of which a run has only one or two rounds: how far cold or cached ones lie apart from round to round,
/// whichever do more. Those of `setting` itself are not others.
[[nodiscard]] Scatter scatter_beside(const PhaseRounds& data, const Setting& setting);

/// `content_sd` of a setting.
[[nodiscard]] double content_sd(const PhaseRounds& data, const Setting& setting);

/// The same of a phase, or why there is none.
[[nodiscard]] MeasuredEstimate<SamplesPerSecond> phase_rate(const PhaseRounds& data, record::Phase phase);

/// Of a stream's cold blocks those that lie within shards are left out, where in two rounds or more each rank has one
/// that holds whole shards and whose premise holds: these need no correction for what is read ahead.
void leave_to_whole_shards(std::vector<std::vector<PhaseBlock>>& ranks);

/// Whether a state was proven in more than half of its blocks: else those few may be chance.
[[nodiscard]] bool mostly_holds(const std::vector<Premise>& premises);

[[nodiscard]] std::string why_absent(const PhaseRounds& data, record::Phase phase);

/// What storage gives of a cold sample; where that is more than the sample reads, because the kernel reads ahead, also
/// how much of it came from storage as found.
void fill_stored(const RunData& run, const PhaseRounds& data, Profile& profile);

/// Of data that are read through maps of files: what storage gives of a cold sample, what of it came from there as
/// found, and how large the files are. True if the run as found had nothing in memory.
bool fill_mapped(const std::vector<Launch>& launches, const PhaseRounds& data, Profile& profile);

/// How the time of a step of the state `whole` divides: fetch, prep, receive, interference.
void fill_split(const PhaseRounds& data, record::Phase whole, Stalls& stalls);

/// Rates and stalls of a stream, whose blocks are as found and synthetic. `profile` holds the attributed ones.
void fill_stream(const PhaseRounds& data, Profile& profile);

/// Adds what a reader should know of the rounds: outliers, blocks that count for nothing, pages that stayed.
void add_phase_issues(const PhaseRounds& data, Profile& profile);

}  // namespace stallcast::sections
