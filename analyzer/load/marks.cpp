#include "analyzer/load/marks.hpp"

namespace stallcast {

using nlohmann::json;

std::vector<json> marks_of(const RunData& run, const Consumer& consumer, std::string_view what) {
  std::vector<json> marks;
  for (const record::ProcessRecording& process : run.processes) {
    if (process.info.pid != consumer.pid) continue;
    for (const record::TextEntry& entry : process.texts) {
      if (entry.kind != record::TextKind::mark) continue;
      json text = json::parse(entry.json, nullptr, /*allow_exceptions=*/false);
      if (text.is_object() && word(text, "what") == what) marks.push_back(std::move(text));
    }
  }
  return marks;
}

}  // namespace stallcast
