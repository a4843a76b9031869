/// Shares of CPU time from samples, with intervals that know that samples come in clusters.
///
/// Worked example. 200 samples of the workers, 120 of them in libjpeg: 60 %. Were they independent, the interval would
/// be that of a binomial (Wilson, J. Am. Stat. Assoc. 1927): 53 % to 67 %. But a batch of large photos gives many in a
/// row. Where the share varies between batches twice as much as a binomial does (its variance; Kish, Survey Sampling,
/// 1965: the design effect), 200 samples say as much as 100 independent ones: 50 % to 69 %.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analyzer/profile/profile.hpp"
#include "probes/record/cpu_recording.hpp"

namespace stallcast {

/// Hits and samples of one cluster (a batch, a second).
struct CpuCluster {
  double hits = 0.0;
  double samples = 0.0;
};

/// Sum of hits over sum of samples (at least one), with its 95 % interval; n: samples.
[[nodiscard]] Estimate<Fraction> share_of_samples(std::span<const CpuCluster> clusters);

/// Counts samples by the work that they show.
class CpuTally {
 public:
  /// `cluster`: any number that tells batches apart.
  void add(std::uint64_t cluster, const record::CpuSymbol& symbol);

  [[nodiscard]] std::int64_t samples() const { return samples_; }

  /// Largest share first; the least of them together as "other".
  [[nodiscard]] std::vector<CpuFunctions> functions() const;

 private:
  struct Work {
    std::map<std::uint64_t, std::int64_t> by_cluster{};
    std::map<std::string, std::int64_t> libraries{};
    std::map<std::string, std::int64_t> functions{};
    std::int64_t samples = 0;

    void absorb(const Work& other);
  };

  [[nodiscard]] CpuFunctions row(const std::string& name, const Work& work) const;

  std::map<std::string, Work> works_{};
  std::map<std::uint64_t, std::int64_t> clusters_{};
  std::int64_t samples_ = 0;
};

}  // namespace stallcast
