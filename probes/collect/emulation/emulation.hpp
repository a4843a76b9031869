/// Emulated hardware of a run: the storage that the interposer emulates in the job's processes, and its CPUs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/data_issue.hpp"
#include "core/quantity.hpp"
#include "core/result.hpp"
#include "probes/record/emulation.hpp"

namespace stallcast::collect {

/// What is to be emulated; what is not set stays as it is.
struct EmulationOptions {
  std::optional<BytesPerSecond> bandwidth{};  ///< ceiling for the whole job
  std::optional<PerSecond> requests{};        ///< likewise
  std::optional<Seconds> latency{};           ///< of each read that goes to storage
  record::EmulatedPolicy policy = record::EmulatedPolicy::none;
  std::optional<double> cache_share{};  ///< of the data set's bytes, as far as they have been seen
  std::optional<Bytes> cache_size{};    ///< instead of it
  /// Of what is read for the first time, so many count as cached: a cache that has seen the data before.
  double first_hit_share = 0.0;
  std::optional<Bytes> read_ahead{};  ///< of the page cache; as it is for the files' device
  std::optional<int> cpus{};
  bool by_kernel = false;             ///< control groups, not the interposer; then of storage the two ceilings alone
  std::optional<double> cpu_quota{};  ///< CPU seconds a second; of the kernel alone
  std::vector<std::pair<std::string, std::string>> items{};  ///< as written, in order

  [[nodiscard]] bool has_storage() const { return bandwidth || requests || latency; }
  [[nodiscard]] bool needs_groups() const { return by_kernel && (has_storage() || cpu_quota); }
};

/// The emulated storage of one run, mapped. Unmaps at the end; the file goes with the run folder.
class Emulation {
 public:
  /// Makes the file in `folder`, its space allocated. environment error if it does not fit there.
  [[nodiscard]] static Result<Emulation> create(const std::filesystem::path& folder, const EmulationOptions& options);

  Emulation(Emulation&& other) noexcept;
  Emulation& operator=(Emulation&& other) noexcept;
  Emulation(const Emulation&) = delete;
  Emulation& operator=(const Emulation&) = delete;
  ~Emulation();

  [[nodiscard]] record::EmulationBlock& block() const { return *block_; }

  /// Where the emulation does not hold: asked when the command has ended.
  [[nodiscard]] std::vector<DataIssue> issues() const;

 private:
  Emulation() = default;
  record::EmulationBlock* block_ = nullptr;
  std::uint64_t bytes_ = 0;
};

/// The line of tool.jsonl: what was emulated and, with `block`, what became of it.
[[nodiscard]] std::string to_line(const EmulationOptions& options, const record::EmulationBlock* block);

}  // namespace stallcast::collect
