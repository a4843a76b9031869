#include "analyzer/warnings/sightings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "analyzer/profile/json_fields.hpp"
#include "analyzer/warnings/constants.hpp"

namespace stallcast {
namespace {

using nlohmann::json;
using record::ProcessRecording;

constexpr const char* k_looked_for =
    "loaders of PyTorch, TensorFlow, DALI, Grain and others; a function that makes batches between steps; marks of "
    "stallcast.wrap() and the C API";

std::string mebibytes(double bytes) {
  return fmt::format("{:.1f} MiB", bytes / 1048576.0);
}

/// The first mark of the shim's that says `what`; empty if none does.
json mark_of(std::span<const RunData> nodes, const char* what) {
  for (const RunData& run : nodes) {
    for (const ProcessRecording& process : run.processes) {
      for (const record::TextEntry& entry : process.texts) {
        if (entry.kind != record::TextKind::mark) continue;
        json text = json::parse(entry.json, nullptr, /*allow_exceptions=*/false);
        if (text.is_object() && word(text, "what") == what) return text;
      }
    }
  }
  return json::object();
}

std::string steps_seen(std::span<const RunData> nodes, const json& loop) {
  std::size_t steps = 0;
  double seconds = 0.0;
  for (const RunData& run : nodes) {
    for (const ProcessRecording& process : run.processes) {
      if (process.steps.size() <= steps) continue;
      steps = process.steps.size();
      seconds = static_cast<double>(process.steps.back().time_ns - process.steps.front().time_ns) * 1e-9;
    }
  }
  if (steps == 0) {
    const std::string at = word(mark_of(nodes, "jax gradient"), "at");
    return at.empty()
               ? k_no_steps_seen
               : "those of JAX are seen where a jitted function takes the gradient in each; one is first taken for " +
                     at;
  }
  std::string text = fmt::format("{} optimizer steps", steps);
  if (seconds > 0.0) text += fmt::format(", {:.3g} a second", static_cast<double>(steps - 1) / seconds);
  const std::string at = word(loop, "at");
  return at.empty() ? text : text + ", at " + at;
}

std::string processes_seen(std::span<const RunData> nodes) {
  std::size_t most = 0;
  std::set<std::string> names;
  for (const RunData& run : nodes) {
    for (const Tick& tick : run.log.ticks) {
      most = std::max(most, tick.processes.size());
      for (const ProcessTick& process : tick.processes) {
        if (!process.name.empty()) names.insert(process.name);
      }
    }
  }
  if (most == 0) return "none was seen: the run was too short";
  std::string text = fmt::format("{} at a time", most);
  std::size_t told = 0;
  for (const std::string& name : names) {
    if (told == 4) break;
    text += (told++ == 0 ? ": " : ", ") + name;
  }
  return names.size() > told ? text + ", ..." : text;
}

std::string files_seen(std::span<const RunData> nodes) {
  double bytes = 0.0;
  double mapped = 0.0;
  std::uint64_t reads = 0;
  std::map<std::string, double> by_path;
  for (const RunData& run : nodes) {
    for (const ProcessRecording& process : run.processes) {
      bytes += static_cast<double>(process.info.other_read_bytes);
      reads += process.info.other_reads;
      mapped += static_cast<double>(process.info.mapped_bytes);
      std::map<std::uint64_t, std::string> paths;
      for (const record::PathEntry& path : process.paths) paths[path.file_id] = path.path;
      for (const record::FileRecord& file : process.files) {
        by_path[paths[file.file_id]] += static_cast<double>(file.read_bytes);
      }
    }
  }
  std::string text = fmt::format("{} read in {} reads, {} of files mapped", mebibytes(bytes), reads, mebibytes(mapped));
  const auto largest = std::max_element(by_path.begin(), by_path.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  if (largest == by_path.end() || largest->first.empty() || largest->second < k_most_from_one_file * bytes) return text;
  return text + "; most of it from " + largest->first;
}

std::string streams_seen(std::span<const RunData> nodes) {
  double bytes = 0.0;
  std::uint64_t reads = 0;
  for (const RunData& run : nodes) {
    for (const ProcessRecording& process : run.processes) {
      bytes += static_cast<double>(process.info.stream_read_bytes);
      reads += process.info.stream_reads;
    }
  }
  return reads == 0 ? "none was read" : fmt::format("{} read in {} reads", mebibytes(bytes), reads);
}

struct TickEnds {
  const Tick* first = nullptr;
  const Tick* last = nullptr;
};

TickEnds ticks_of(const RunData& run) {
  TickEnds ticks;
  for (const Tick& tick : run.log.ticks) {
    if (tick.tree_cpu_ns < 0 || tick.tree_read_bytes < 0) continue;
    if (ticks.first == nullptr) ticks.first = &tick;
    ticks.last = &tick;
  }
  return ticks;
}

std::string cores_seen(const RunData& run) {
  const auto [first, last] = ticks_of(run);
  if (first == nullptr || last->t_ns <= first->t_ns) return "not known: the run was too short";
  const double busy =
      static_cast<double>(last->tree_cpu_ns - first->tree_cpu_ns) / static_cast<double>(last->t_ns - first->t_ns);
  std::string text = fmt::format("{:.1f} busy", busy);
  if (run.log.host && run.log.host->usable_cpus > 0.0) text += fmt::format(" of {:g}", run.log.host->usable_cpus);
  return text;
}

std::string storage_seen(const RunData& run) {
  const Tick* last = ticks_of(run).last;
  return last == nullptr ? "not known: the run was too short"
                         : mebibytes(static_cast<double>(last->tree_read_bytes)) + " came from there";
}

}  // namespace

std::vector<Sighting> sightings_of(std::span<const RunData> nodes) {
  if (nodes.empty()) return {};
  const json loop = mark_of(nodes, "no batch function");
  std::vector<Sighting> list{{"looked for", k_looked_for}, {"steps", steps_seen(nodes, loop)}};
  if (!word(loop, "reason").empty()) list.push_back({"batches", word(loop, "reason")});
  list.push_back({"processes", processes_seen(nodes)});
  list.push_back({"files", files_seen(nodes)});
  list.push_back({"sockets", streams_seen(nodes) + " (pipes counted)"});
  list.push_back({"cores", cores_seen(nodes.front())});
  list.push_back({"storage", storage_seen(nodes.front())});
  return list;
}

}  // namespace stallcast
