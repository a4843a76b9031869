#include "analyzer/dataset_bytes.hpp"

#include <cmath>

namespace stallcast {

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
  return bytes > file && bytes < 2.0 * file ? BytesPerSample(file) : *read;
}

std::optional<double> read_ahead_factor(const Dataset& dataset, const Measured<std::int64_t>& dataset_samples) {
  constexpr double k_clearly = 1.25;  // beyond whole pages, and what all samples share
  if (!dataset.stored_bytes_per_sample) return std::nullopt;
  double needed = 0.0;
  if (dataset.bytes_per_sample) {
    const auto once = distinct_bytes_per_sample(dataset, dataset_samples);
    needed = once ? once->value() : 0.0;
  } else if (dataset.bytes_total && dataset_samples && *dataset_samples > 0) {
    needed = dataset.bytes_total->value() / static_cast<double>(*dataset_samples);
  }
  const double factor = needed > 0.0 ? dataset.stored_bytes_per_sample->value() / needed : 0.0;
  return std::isfinite(factor) && factor >= k_clearly ? std::optional<double>(factor) : std::nullopt;
}

}  // namespace stallcast
