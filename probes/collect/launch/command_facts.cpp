#include "probes/collect/launch/command_facts.hpp"

#include <fmt/format.h>

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "probes/collect/launch/child_environment.hpp"
#include "probes/collect/launch/constants.hpp"
#include "probes/collect/system/text_file.hpp"
#include "probes/record/launcher.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;

const char* const k_c_api_hint =
    "mark batches and steps with the C API (stallcast/capture.h: stallcast_wait_begin, stallcast_wait_end, "
    "stallcast_step)";

/// Program headers follow the ELF header in every executable that linkers write.
ExecutableKind elf_kind(const std::string& head) {
  if (head.size() < sizeof(Elf64_Ehdr) || head[EI_CLASS] != ELFCLASS64) return ExecutableKind::foreign;
  Elf64_Ehdr header{};
  std::memcpy(&header, head.data(), sizeof header);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const std::size_t offset = header.e_phoff + i * sizeof(Elf64_Phdr);
    if (offset + sizeof(Elf64_Phdr) > head.size()) break;
    Elf64_Phdr part{};
    std::memcpy(&part, head.data() + offset, sizeof part);
    if (part.p_type == PT_INTERP) return ExecutableKind::dynamic;
  }
  return ExecutableKind::static_elf;
}

fs::path find_on_path(const std::string& name, std::string_view search_path) {
  if (name.find('/') != std::string::npos) return name;
  for (const std::string_view folder : split_fields(search_path, ':')) {
    fs::path candidate = fs::path(folder) / name;
    std::error_code ignored;
    if (access(candidate.c_str(), X_OK) == 0 && !fs::is_directory(candidate, ignored)) return candidate;
  }
  return {};
}

DataIssue static_binary_issue(const fs::path& path) {
  return {"static-binary", Severity::warning, 1,
          path.string() +
              " is statically linked: the capture library cannot be loaded into it, so its reads were not "
              "recorded",
          std::string("link it dynamically, or link the capture library and ") + k_c_api_hint};
}

/// An interpreter line may go through env: "/usr/bin/env -S python3 -I".
std::vector<std::string> interpreter_words(const std::string& line) {
  std::vector<std::string> words;
  for (const std::string_view word : split_fields(line)) words.emplace_back(word);
  if (words.empty() || fs::path(words[0]).filename() != "env") return words;
  words.erase(words.begin());
  while (!words.empty() && words[0].front() == '-') words.erase(words.begin());
  return words;
}

/// Of the first of these options that stands in `command`: what follows the launched program is not the launcher's.
std::optional<int> option_number(const std::vector<std::string>& command,
                                 std::initializer_list<std::string_view> names) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    std::vector<std::string> option{command[i]};
    if (i + 1 < command.size()) option.push_back(command[i + 1]);
    for (const std::string_view name : names) {
      const auto number = parse_u64(option_text(option, name));
      if (number && *number > 0 && *number < 10'000'000) return static_cast<int>(*number);
    }
  }
  return std::nullopt;
}

/// Ranks that MPI's or Slurm's launcher is told to start; Slurm's may also take it from the batch job.
std::optional<int> tasks_of(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  const std::string program = fs::path(command.front()).filename().string();
  if (program == "mpirun" || program == "mpiexec" || program == "orterun" || program == "prterun") {
    return option_number(command, {"-n", "-np", "--n", "--np", "-c"});
  }
  if (program != "srun") return std::nullopt;
  const auto said = option_number(command, {"-n", "--ntasks"});
  const auto job = parse_u64(variable(environment, "SLURM_NTASKS"));
  return said || !job || *job >= 10'000'000 ? said : std::optional<int>(static_cast<int>(*job));
}

}  // namespace

std::string option_text(const std::vector<std::string>& command, std::string_view name) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    std::string word = command[i];
    std::replace(word.begin(), word.end(), '_', '-');
    if (word == name) return i + 1 < command.size() ? command[i + 1] : std::string();
    if (word.size() > name.size() && word.compare(0, name.size(), name) == 0 && word[name.size()] == '=') {
      return command[i].substr(name.size() + 1);
    }
  }
  return {};
}

bool starts_torchrun(const std::vector<std::string>& command) {
  return std::any_of(command.begin(), command.end(), [](const std::string& word) {
    return fs::path(word).filename() == "torchrun" || word == "torch.distributed.run" ||
           word == "torch.distributed.launch";
  });
}

Executable examine_executable(const std::string& name, std::string_view search_path) {
  Executable result;
  result.path = find_on_path(name, search_path);
  struct stat info {};
  if (result.path.empty() || stat(result.path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return result;
  const auto head = read_text(result.path, k_head_bytes);
  if (!head) return result;
  result.set_id = (info.st_mode & (S_ISUID | S_ISGID)) != 0;
  result.kind = ExecutableKind::other;
  if (head->compare(0, SELFMAG, ELFMAG) == 0) result.kind = elf_kind(*head);
  if (head->compare(0, 2, "#!") == 0) {
    result.kind = ExecutableKind::script;
    result.interpreter = std::string(trim(std::string_view(*head).substr(2, head->find('\n') - 2)));
  }
  return result;
}

bool is_python(std::string_view program) {
  const std::string name = fs::path(program).filename().string();
  if (name.compare(0, 6, "python") != 0) return false;
  return name.find_first_not_of("0123456789.dt", 6) == std::string::npos;
}

std::string isolating_python_flag(const std::vector<std::string>& arguments) {
  if (arguments.empty() || !is_python(arguments[0])) return {};
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word.size() < 2 || word[0] != '-' || word == "--") return {};
    if (word[1] == '-') continue;
    for (std::size_t at = 1; at < word.size(); ++at) {
      const char flag = word[at];
      if (flag == 'I' || flag == 'E' || flag == 'S') return std::string("-") + flag;
      if (flag == 'c' || flag == 'm') return {};
      const bool takes_value = flag == 'W' || flag == 'X';
      if (takes_value && at + 1 == word.size()) ++i;
      if (takes_value) break;
    }
  }
  return {};
}

DataIssue python_isolated_issue(const std::string& flag) {
  return {"python-isolated", Severity::warning, 1,
          "Python was started with " + flag + ", which keeps PYTHONPATH or site out: its loaders were not recorded",
          std::string("run it without ") + flag + " while measuring, or " + k_c_api_hint};
}

std::vector<DataIssue> command_obstacles(const std::vector<std::string>& command, std::string_view search_path) {
  std::vector<DataIssue> issues;
  if (command.empty()) return issues;
  Executable executable = examine_executable(command[0], search_path);
  std::vector<std::string> arguments = command;
  if (executable.kind == ExecutableKind::script) {
    std::vector<std::string> words = interpreter_words(executable.interpreter);
    if (words.empty()) return issues;
    executable = examine_executable(words[0], search_path);
    words.push_back(command[0]);
    arguments = std::move(words);
  }
  if (executable.kind == ExecutableKind::static_elf) issues.push_back(static_binary_issue(executable.path));
  if (executable.kind == ExecutableKind::foreign) {
    issues.push_back(
        {"foreign-binary", Severity::warning, 1,
         executable.path.string() + " is not a 64-bit program of this machine: its reads were not recorded",
         "use a build of the program for this machine"});
  }
  if (executable.set_id) {
    issues.push_back({"set-id-binary", Severity::warning, 1,
                      executable.path.string() + " runs with another user's rights, so the loader ignores LD_PRELOAD",
                      "profile the training command itself, behind sudo and the like"});
  }
  const std::string flag = isolating_python_flag(arguments);
  if (!flag.empty()) issues.push_back(python_isolated_issue(flag));
  return issues;
}

int expected_ranks(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  if (starts_torchrun(command)) {
    const int local = option_number(command, {"--nproc-per-node"}).value_or(1);
    const int nodes = option_number(command, {"--nnodes"}).value_or(1);
    return local * nodes;
  }
  for (const record::RankVariables& names : record::k_rank_variables) {
    const auto world = parse_u64(variable(environment, names.world));
    if (world && *world > 0 && *world < 10'000'000) return static_cast<int>(*world);
  }
  if (const auto tasks = command.empty() ? std::nullopt : tasks_of(command, environment)) return *tasks;
  const bool accelerate = std::any_of(command.begin(), command.end(), [](const std::string& word) {
    return fs::path(word).filename() == "accelerate";
  });
  return accelerate ? option_number(command, {"--num-processes"}).value_or(1) : 1;
}

}  // namespace stallcast::collect
