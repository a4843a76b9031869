#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {

std::vector<const record::ProcessRecording*> processes_of(Nodes nodes) {
  std::vector<const record::ProcessRecording*> processes;
  for (const Launch& node : nodes) {
    for (const record::ProcessRecording& process : node.run->processes) processes.push_back(&process);
  }
  return processes;
}

}  // namespace stallcast::sections
