#include "analyzer/load/batch_parts.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

namespace stallcast {
namespace {

std::uint64_t earlier(std::uint64_t begin_ns, std::uint64_t part_begin_ns, std::uint64_t part_end_ns) {
  return begin_ns - std::min(begin_ns, std::max(part_end_ns, part_begin_ns) - part_begin_ns);
}

void add(const record::IoTotals& part, record::IoTotals& whole) {
  whole.read_ns += part.read_ns;
  whole.read_bytes += part.read_bytes;
  whole.meta_ns += part.meta_ns;
  whole.reads += part.reads;
  whole.opens += part.opens;
  whole.stats += part.stats;
  whole.major_faults += part.major_faults;
}

void add_part(const Delivery& part, Delivery& whole) {
  whole.wait.begin_ns = earlier(whole.wait.begin_ns, part.wait.begin_ns, part.wait.end_ns);
  whole.received_bytes += part.received_bytes;
  whole.made_known = whole.made_known && part.made_known;
  if (!whole.made_known) return;
  constexpr std::uint64_t k_unknown = std::numeric_limits<std::uint64_t>::max();
  record::BatchRecord& made = whole.made;
  made.begin_ns = earlier(made.begin_ns, part.made.begin_ns, part.made.end_ns);
  made.cpu_ns += part.made.cpu_ns;
  made.system_ns += part.made.system_ns;
  const bool delays_known = made.run_delay_ns != k_unknown && part.made.run_delay_ns != k_unknown;
  made.run_delay_ns = delays_known ? made.run_delay_ns + part.made.run_delay_ns : k_unknown;
  add(part.made.io, made.io);
}

/// The first delivery that ended after that time; null where none did.
Delivery* first_after(const std::vector<Delivery*>& deliveries, std::uint64_t time_ns) {
  const auto found = std::upper_bound(deliveries.begin(), deliveries.end(), time_ns,
                                      [](std::uint64_t t, const Delivery* one) { return t < one->wait.end_ns; });
  return found == deliveries.end() ? nullptr : *found;
}

/// Of all passes over one loader, in order of time.
std::vector<Delivery*> deliveries_of(std::uint64_t loader_id, Consumer& consumer) {
  std::vector<Delivery*> deliveries;
  for (Pass& pass : consumer.passes) {
    if (pass.loader_id != loader_id) continue;
    for (Delivery& delivery : pass.deliveries) deliveries.push_back(&delivery);
  }
  std::sort(deliveries.begin(), deliveries.end(),
            [](const Delivery* a, const Delivery* b) { return a->wait.end_ns < b->wait.end_ns; });
  return deliveries;
}

}  // namespace

void join_parts(Consumer& consumer) {
  const auto part_of = [&consumer](const Pass& pass) -> std::optional<std::uint64_t> {
    const auto loader = consumer.loaders.find(pass.loader_id);
    return loader == consumer.loaders.end() ? std::nullopt : loader->second.part_of;
  };
  for (const Pass& pass : consumer.passes) {
    const std::optional<std::uint64_t> whole = part_of(pass);
    if (!whole) continue;
    const std::vector<Delivery*> wholes = deliveries_of(*whole, consumer);
    for (const Delivery& part : pass.deliveries) {
      if (Delivery* const next = first_after(wholes, part.wait.end_ns)) add_part(part, *next);
    }
  }
  std::erase_if(consumer.passes, [&part_of](const Pass& pass) { return part_of(pass).has_value(); });
  std::erase_if(consumer.loaders, [](const auto& loader) { return loader.second.part_of.has_value(); });
}

}  // namespace stallcast
