#include "analyzer/profile/dataset_bytes.hpp"

#include <cmath>

#include "analyzer/profile/constants.hpp"

namespace stallcast {
namespace {

/// 0 where it is not known.
double needed_bytes(const Dataset& dataset, const Measured<std::int64_t>& dataset_samples) {
  if (dataset.bytes_per_sample) {
    const auto once = distinct_bytes_per_sample(dataset, dataset_samples);
    return once ? once->value() : 0.0;
  }
  const bool known = dataset.bytes_total && dataset_samples && *dataset_samples > 0;
  return known ? dataset.bytes_total->value() / static_cast<double>(*dataset_samples) : 0.0;
}

}  // namespace

Measured<BytesPerSample> distinct_bytes_per_sample(const Dataset& dataset,
                                                   const Measured<std::int64_t>& dataset_samples) {
  const Measured<BytesPerSample>& read = dataset.bytes_per_sample;
  if (!read) return read;
  const double bytes = read->value();
  if (!std::isfinite(bytes) || !(bytes > 0.0)) return Measured<BytesPerSample>::absent("no bytes were read");
  if (dataset.bytes_total && dataset_samples && *dataset_samples > 0) {
    const double share = dataset.bytes_total->value() / static_cast<double>(*dataset_samples);
    if (share > 0.0 && share < bytes) return BytesPerSample(share);
  }
  if (dataset.layout != "files" || !dataset.file_size_bytes || !(dataset.file_size_bytes->mean > 0.0)) return read;
  const double file = dataset.file_size_bytes->mean;
  return bytes > file && bytes < k_least_files_of_a_sample * file ? BytesPerSample(file) : *read;
}

std::optional<BytesPerSample> more_than_needed(const Dataset& dataset, const Measured<std::int64_t>& dataset_samples) {
  const double needed = needed_bytes(dataset, dataset_samples);
  const auto& stored = dataset.stored_bytes_per_sample;
  if (!stored || !(needed > 0.0) || !(stored->value() >= k_clearly_more_than_needed * needed)) return std::nullopt;
  return *stored;
}

std::optional<double> read_ahead_factor(const Dataset& dataset, const Measured<std::int64_t>& dataset_samples) {
  constexpr double k_page = 4096.0;  // a read that begins anywhere touches one page more than it has bytes for
  const auto stored = more_than_needed(dataset, dataset_samples);
  if (!stored) return std::nullopt;
  const double factor = stored->value() / (needed_bytes(dataset, dataset_samples) + k_page);
  return factor >= k_clearly_more_than_needed ? std::optional<double>(factor) : std::nullopt;
}

}  // namespace stallcast
