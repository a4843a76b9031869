#include "analyzer/blocks/interruptions.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analyzer/profile/json_fields.hpp"
#include "analyzer/steps/steady.hpp"

namespace stallcast {
namespace {

using nlohmann::json;

void add_checkpoints(const record::ProcessRecording& process, std::vector<std::uint64_t>& found) {
  for (const record::TextEntry& entry : process.texts) {
    if (entry.kind != record::TextKind::mark) continue;
    const json text = json::parse(entry.json, nullptr, /*allow_exceptions=*/false);
    if (text.is_object() && word(text, "what") == "checkpoint") found.push_back(natural(text, "begin_ns"));
  }
}

}  // namespace

std::vector<std::uint64_t> interruptions_of(const Consumer& consumer,
                                            const std::vector<record::ProcessRecording>& processes) {
  std::vector<std::uint64_t> found = waits_beside_training(consumer);
  for (const record::ProcessRecording& process : processes) {
    if (process.info.pid == consumer.pid) add_checkpoints(process, found);
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool interrupted_between(const std::vector<std::uint64_t>& interruptions, std::uint64_t from_ns, std::uint64_t to_ns) {
  const auto next = std::lower_bound(interruptions.begin(), interruptions.end(), from_ns);
  return next != interruptions.end() && *next < to_ns;
}

bool in_most_steps(std::span<const Delivery> deliveries, const std::vector<std::uint64_t>& interruptions) {
  std::size_t interrupted = 0;
  for (std::size_t i = 1; i < deliveries.size(); ++i) {
    const bool is = interrupted_between(interruptions, deliveries[i - 1].wait.end_ns, deliveries[i].wait.end_ns);
    interrupted += is ? 1 : 0;
  }
  return 2 * interrupted + 1 > deliveries.size();
}

std::vector<std::size_t> interrupted_steps(std::span<const Delivery> deliveries, const BlockWindow& window,
                                           const std::vector<std::uint64_t>& interruptions) {
  std::vector<std::size_t> interrupted;
  for (std::size_t i = window.first + 1; i <= window.last; ++i) {
    const bool is = interrupted_between(interruptions, deliveries[i - 1].wait.end_ns, deliveries[i].wait.end_ns);
    if (is) interrupted.push_back(i);
  }
  if (2 * interrupted.size() > window.last - window.first) interrupted.clear();
  return interrupted;
}

std::vector<BlockWindow> pieces_of(std::span<const Delivery> deliveries, const BlockWindow& window,
                                   const std::vector<std::size_t>& interrupted) {
  std::vector<BlockWindow> pieces;
  std::size_t first = window.first;
  for (std::size_t n = 0; n <= interrupted.size(); ++n) {
    const bool is_last = n == interrupted.size();
    const std::size_t last = is_last ? window.last : interrupted[n] - 1;
    if (first <= last) pieces.push_back({first, last, false});
    if (is_last) break;
    const std::uint64_t back_ns = deliveries[interrupted[n]].wait.begin_ns;
    first = interrupted[n];
    while (first <= window.last && !(deliveries[first].made_known && deliveries[first].made.begin_ns >= back_ns))
      ++first;
  }
  return pieces;
}

}  // namespace stallcast
