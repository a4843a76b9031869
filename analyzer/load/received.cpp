#include "analyzer/load/received.hpp"

#include <algorithm>

namespace stallcast {

void count_received(Delivery& delivery, std::uint64_t bytes) {
  record::BatchRecord& made = delivery.made;
  delivery.received_bytes = bytes;
  if (bytes < record::k_received_bytes * std::max<std::uint64_t>(1, made.samples)) return;
  const std::uint64_t wall_ns = made.end_ns > made.begin_ns ? made.end_ns - made.begin_ns : 0;
  const std::uint64_t running_ns = made.cpu_ns + (made.run_delay_ns == UINT64_MAX ? 0 : made.run_delay_ns);
  const std::uint64_t blocked_ns = wall_ns > running_ns ? wall_ns - running_ns : 0;
  const std::uint64_t reading_ns = made.io.read_ns + made.io.meta_ns;
  if (blocked_ns > reading_ns) made.io.read_ns += blocked_ns - reading_ns;
}

}  // namespace stallcast
