/// What a consumer's texts say of the segments that it ran.
#include <nlohmann/json.hpp>

#include "analyzer/blocks/blocks.hpp"
#include "analyzer/profile/json_fields.hpp"

namespace stallcast {
namespace {

using nlohmann::json;

SegmentRun segment_run(const json& text) {
  SegmentRun run;
  run.segment = static_cast<std::uint32_t>(natural(text, "segment"));
  run.phase = static_cast<record::Phase>(natural(text, "phase"));
  run.round = static_cast<std::uint32_t>(natural(text, "round"));
  run.iterator_id = natural(text, "iterator_id");
  run.first = natural(text, "first");
  run.batches = natural(text, "batches");
  run.workers = natural(text, "workers");
  run.at_once = natural(text, "at_once");
  run.made_as = static_cast<record::Phase>(natural(text, "made_as"));
  run.argument = natural(text, "argument");
  run.begin_ns = natural(text, "t_ns");
  run.iterable = natural(text, "iterable") != 0;
  run.stream = word(text, "stream");
  return run;
}

BurstRun burst_run(const json& text) {
  BurstRun run;
  run.segment = static_cast<std::uint32_t>(natural(text, "segment"));
  run.iterator_id = natural(text, "iterator_id");
  run.first = natural(text, "first");
  run.batches = natural(text, "batches");
  run.under_way = natural(text, "under_way");
  run.asked_ns = natural(text, "asked_ns");
  run.made_ns = natural(text, "made_ns");
  run.released_ns = natural(text, "released_ns");
  run.until_ns = natural(text, "until_ns");
  const auto cpu = text.find("workers_cpu_s");
  if (cpu != text.end() && cpu->is_number()) run.workers_cpu_s = cpu->get<double>();
  const auto device = text.find("device_s");
  run.on_device = device != text.end();
  if (run.on_device && device->is_number()) run.device_s = device->get<double>();
  run.refused = word(text, "refused");
  return run;
}

template <class Run>
std::vector<Run> runs_of(const record::ProcessRecording& process, record::TextKind kind, Run (*read)(const json&)) {
  std::vector<Run> runs;
  for (const record::TextEntry& entry : process.texts) {
    if (entry.kind != kind) continue;
    const json text = json::parse(entry.json, nullptr, /*allow_exceptions=*/false);
    if (text.is_object()) runs.push_back(read(text));
  }
  return runs;
}

}  // namespace

std::vector<SegmentRun> segments_of(const record::ProcessRecording& process) {
  std::vector<SegmentRun> runs = runs_of(process, record::TextKind::segment, segment_run);
  std::erase_if(runs, [](const SegmentRun& run) { return run.phase == record::Phase::end; });
  return runs;
}

std::vector<BurstRun> bursts_of(const record::ProcessRecording& process) {
  return runs_of(process, record::TextKind::burst, burst_run);
}

}  // namespace stallcast
