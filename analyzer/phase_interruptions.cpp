#include "analyzer/phase_interruptions.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analyzer/json_fields.hpp"
#include "analyzer/steady.hpp"

namespace stallcast {
namespace {

using nlohmann::json;

constexpr double k_least_pause = 0.1;  ///< of a step: a shorter one fills no queue

void add_marks(const record::ProcessRecording& process, std::vector<Interruption>& found) {
  for (const record::TextEntry& entry : process.texts) {
    if (entry.kind != record::TextKind::mark) continue;
    const json text = json::parse(entry.json, nullptr, /*allow_exceptions=*/false);
    if (!text.is_object()) continue;
    const json what = text.value("what", json());
    const std::uint64_t begin_ns = natural(text, "begin_ns");
    if (what == "checkpoint") found.push_back({begin_ns});
    if (what == "epoch") found.push_back({begin_ns, std::max(natural(text, "end_ns"), begin_ns) - begin_ns});
  }
}

}  // namespace

std::vector<Interruption> interruptions_of(const Consumer& consumer,
                                           const std::vector<record::ProcessRecording>& processes) {
  std::vector<Interruption> found;
  for (const std::uint64_t asked_ns : waits_beside_training(consumer)) found.push_back({asked_ns});
  for (const record::ProcessRecording& process : processes) {
    if (process.info.pid == consumer.pid) add_marks(process, found);
  }
  std::sort(found.begin(), found.end(),
            [](const Interruption& a, const Interruption& b) { return a.begin_ns < b.begin_ns; });
  return found;
}

std::vector<std::size_t> interrupted_steps(std::span<const Delivery> deliveries, const BlockWindow& window,
                                           const std::vector<Interruption>& interruptions) {
  std::vector<std::size_t> interrupted;
  const std::uint64_t all_ns = deliveries[window.last].wait.end_ns - deliveries[window.first].wait.end_ns;
  const double least_ns = k_least_pause * static_cast<double>(all_ns) / static_cast<double>(window.last - window.first);
  for (std::size_t i = window.first + 1; i <= window.last; ++i) {
    auto next = std::lower_bound(
        interruptions.begin(), interruptions.end(), deliveries[i - 1].wait.end_ns,
        [](const Interruption& interruption, std::uint64_t time_ns) { return interruption.begin_ns < time_ns; });
    const auto counts = [&](const Interruption& one) { return static_cast<double>(one.pause_ns) >= least_ns; };
    while (next != interruptions.end() && next->begin_ns < deliveries[i].wait.end_ns && !counts(*next)) ++next;
    if (next != interruptions.end() && next->begin_ns < deliveries[i].wait.end_ns) interrupted.push_back(i);
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
