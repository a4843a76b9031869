#include "model/analytic/shards.hpp"

#include <algorithm>

namespace stallcast::shards {

double file_s(double sample_bytes, const Stream& stream) {
  return stream.latency_s + sample_bytes / stream.bandwidth;
}

double shard_s(double sample_bytes, double shard_bytes, const Stream& stream) {
  return stream.latency_s * (sample_bytes / shard_bytes) + sample_bytes / stream.bandwidth;
}

double sure_ceiling(double file_ceiling, double sample_bytes, double shard_bytes, const Stream& stream) {
  const double alone = sample_bytes / shard_s(sample_bytes, shard_bytes, stream);
  const double counted = file_ceiling * std::max(1.0, shard_bytes / sample_bytes);
  return std::max(file_ceiling, std::min(counted, alone));
}

}  // namespace stallcast::shards
