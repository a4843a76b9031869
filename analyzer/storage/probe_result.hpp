/// What storage can do, as `stallcast storage --json` prints it (schema in analyzer/schema/storage.schema.json).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "analyzer/profile/profile.hpp"
#include "analyzer/statistics/distribution.hpp"
#include "core/data_issue.hpp"
#include "core/measured.hpp"
#include "core/quantity.hpp"
#include "probes/record/storage_recording.hpp"

namespace stallcast {

inline constexpr int k_storage_schema_version = 1;

/// One kind of read, in one state, with so many in flight.
struct StoragePoint {
  std::string read{};           ///< whole_file | small_block | large_block | sequential | metadata
  std::string state{};          ///< cold | resident
  std::string method{};         ///< evicted | direct | resident
  int in_flight = 0;            ///< 0: stands for every number of them
  Measured<Bytes> read_size{};  ///< mean of one read
  MeasuredEstimate<BytesPerSecond> bandwidth{};
  MeasuredEstimate<PerSecond> rate{};
  MeasuredEstimate<Seconds> latency{};  ///< of one read, without its open
  Measured<Seconds> latency_p99{};
  Measured<double> cpu_cores{};  ///< that the reading itself kept busy
  std::int64_t failed_reads = 0;
  std::vector<Premise> premises{};
};

/// Universal scalability law over reads in flight (Gunther, "Guerrilla Capacity Planning", 2007, eq. 4.31):
/// rate(n) = per_stream n / (1 + contention (n-1) + coherence n (n-1)).
struct StorageScaling {
  std::string read{};
  Measured<PerSecond> per_stream{};
  Measured<double> contention{};
  Measured<double> coherence{};
  Measured<double> residual_frac{};  ///< root mean square of (measured - law) / measured
};

/// The cost of reading s bytes cold, n at once: time per read = latency + s / stream_bandwidth, and
/// rate = min(n / (open + latency + s / stream_bandwidth), ceiling_files, ceiling_bytes / s).
struct StorageFit {
  MeasuredEstimate<Seconds> latency{};
  MeasuredEstimate<BytesPerSecond> stream_bandwidth{};
  MeasuredEstimate<BytesPerSecond> ceiling_bytes{};
  MeasuredEstimate<PerSecond> ceiling_files{};
  MeasuredEstimate<PerSecond> ceiling_reads{};     ///< of 4 KiB blocks
  MeasuredEstimate<PerSecond> ceiling_metadata{};  ///< files opened, looked at and closed that were opened before
  MeasuredEstimate<Seconds> open{};
  MeasuredEstimate<Seconds> stat{};
  MeasuredEstimate<Seconds> resident_latency{};
  MeasuredEstimate<BytesPerSecond> resident_stream_bandwidth{};
  MeasuredEstimate<BytesPerSecond> resident_ceiling_bytes{};
  Measured<double> residual_frac{};  ///< root mean square of (measured - fit) / measured over the cold points
  std::vector<StorageScaling> scaling{};
};

/// The files that were found.
struct StorageFilesFacts {
  std::string filesystem{};
  std::string device{};
  std::int64_t seen = 0;
  bool complete = true;  ///< false: there are more than `seen`
  std::int64_t sampled = 0;
  Measured<Bytes> total{};  ///< seen * mean size of the sample
  Measured<Distribution> sizes{};
  Measured<Bytes> size_p10{};
  Measured<Bytes> size_median{};
  Measured<Bytes> size_p90{};
  Measured<Fraction> small_files{};     ///< share of files below 128 KiB
  Measured<Fraction> resident_bytes{};  ///< share of the sampled bytes in memory as found
  std::int64_t empty = 0;
  std::int64_t unreadable = 0;
  std::int64_t not_files = 0;
  std::int64_t dangling_links = 0;
};

struct StorageProfile {
  int schema_version = k_storage_schema_version;
  std::string tool_version{};
  std::string path{};
  std::string evict{};
  std::string engine = "threads";  ///< that kept cold reads in flight: threads | io_uring
  double budget_s = 0.0;
  double elapsed_s = 0.0;
  StorageFilesFacts files{};
  StorageFit fit{};
  std::vector<StoragePoint> points{};
  std::vector<DataIssue> issues{};
};

/// Points and fits of what a probe saw. Never fails: what cannot be told is absent with its reason.
[[nodiscard]] StorageProfile analyze_storage(const record::StorageRecording& recording);

/// As `stallcast storage --json` prints it; absent values are null with their reason in "absent".
[[nodiscard]] nlohmann::json to_json(const StorageProfile& profile);

/// "whole_file", "small_block", "large_block", "sequential", "metadata".
[[nodiscard]] const char* storage_read_name(record::StorageRead read);

}  // namespace stallcast
