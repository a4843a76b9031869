#include "probes/collect/launch/launcher.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>

#include "probes/collect/launch/child_environment.hpp"
#include "probes/collect/launch/command_facts.hpp"
#include "probes/collect/system/text_file.hpp"
#include "probes/record/launcher.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;

std::optional<int> number_of(const std::string& text) {
  const auto value = parse_u64(text);
  return value && *value < 10'000'000 ? std::optional<int>(static_cast<int>(*value)) : std::nullopt;
}

bool starts(const std::vector<std::string>& command, const char* program) {
  return std::any_of(command.begin(), command.end(),
                     [&](const std::string& word) { return fs::path(word).filename() == program; });
}

/// "2" -> 2; "1:4" (as few as one node, as many as four) -> 4.
int most_nodes(const std::string& text) {
  const std::size_t colon = text.find(':');
  return number_of(colon == std::string::npos ? text : text.substr(colon + 1)).value_or(1);
}

/// What the launcher in `command` is told about nodes, where it is told so by an option or by its environment.
std::optional<LauncherTask> launcher_of_nodes(const std::vector<std::string>& environment,
                                              const std::vector<std::string>& command, const char* nodes_option,
                                              const char* number_option, const char* nodes_variable,
                                              const char* number_variable) {
  const std::string said = option_text(command, nodes_option);
  const std::string nodes = said.empty() ? variable(environment, nodes_variable) : said;
  if (most_nodes(nodes) < 2) return std::nullopt;
  const std::string own = option_text(command, number_option);
  LauncherTask task;
  task.reason = (said.empty() ? std::string(nodes_variable) + "=" : std::string(nodes_option) + " ") + nodes;
  task.task = number_of(own.empty() ? variable(environment, number_variable) : own);
  return task;
}

std::string without_surprises(const std::string& text) {
  std::string plain;
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    plain += std::isalnum(code) != 0 || letter == '.' || letter == '_' || letter == '-' ? letter : '-';
  }
  return plain;
}

}  // namespace

std::optional<LauncherTask> one_of_several(const std::vector<std::string>& environment,
                                           const std::vector<std::string>& command) {
  for (const record::RankVariables& names : record::k_rank_variables) {
    const auto rank = number_of(variable(environment, names.rank));
    const auto world = number_of(variable(environment, names.world));
    if (rank && world && *world > 1) return LauncherTask{std::string(names.world) + "=" + std::to_string(*world), rank};
  }
  if (starts_torchrun(command)) {
    return launcher_of_nodes(environment, command, "--nnodes", "--node-rank", "PET_NNODES", "PET_NODE_RANK");
  }
  if (!starts(command, "accelerate")) return std::nullopt;
  return launcher_of_nodes(environment, command, "--num-machines", "--machine-rank", "", "");
}

std::string job_name(const std::vector<std::string>& environment) {
  for (const char* name : record::k_job_variables) {
    const std::string value = variable(environment, name);
    if (!value.empty() && value != record::k_no_job) {
      return (std::string(name) + "=" + value).substr(0, record::k_job_bytes - 1);
    }
  }
  return {};
}

std::string part_name(const std::string& host, const LauncherTask& task) {
  std::string name = without_surprises(host);
  if (name.empty() || name.front() == '.') name = "node" + name;
  return task.task ? name + "-" + std::to_string(*task.task) : name;
}

std::string shared_folder_name(const std::vector<std::string>& environment) {
  const std::string job = job_name(environment);
  return "stallcast-profile-" + (job.empty() ? "nodes" : without_surprises(job.substr(job.find('=') + 1)));
}

}  // namespace stallcast::collect
