#include "analyzer/dataset_bytes.hpp"

#include <cmath>

namespace stallcast {

Measured<BytesPerSample> distinct_bytes_per_sample(const Dataset& dataset) {
  const Measured<BytesPerSample>& read = dataset.bytes_per_sample;
  if (!read) return read;
  const double bytes = read->value();
  if (!std::isfinite(bytes) || !(bytes > 0.0)) return Measured<BytesPerSample>::absent("no bytes were read");
  if (dataset.layout != "files" || !dataset.file_size_bytes || !(dataset.file_size_bytes->mean > 0.0)) return read;
  const double file = dataset.file_size_bytes->mean;
  return bytes > file && bytes < 2.0 * file ? BytesPerSample(file) : *read;
}

}  // namespace stallcast
