/// What can be told of a command from outside: will the capture library and the Python part get into it?
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/data_issue.hpp"

namespace stallcast::collect {

/// What the first bytes of an executable say.
enum class ExecutableKind {
  missing,     ///< cannot be read
  dynamic,     ///< ELF of our word size with an interpreter: LD_PRELOAD works
  static_elf,  ///< ELF without an interpreter: LD_PRELOAD is not looked at
  foreign,     ///< ELF of another word size
  script,      ///< starts with #!
  other,
};

struct Executable {
  std::filesystem::path path{};  ///< as found on PATH
  ExecutableKind kind = ExecutableKind::missing;
  bool set_id = false;        ///< set-user-ID or set-group-ID: the loader ignores LD_PRELOAD
  std::string interpreter{};  ///< of a script: the words behind #!
};

/// Looks `name` up as execvp does (`search_path`: a PATH list) and reads the start of the file.
[[nodiscard]] Executable examine_executable(const std::string& name, std::string_view search_path);

/// The flag that keeps the Python part out ("-I", "-E", "-S"; empty: none), if `arguments` start a Python interpreter.
/// Flags stop at the script, at -c and at -m: "python -u train.py -S" has none.
[[nodiscard]] std::string isolating_python_flag(const std::vector<std::string>& arguments);

/// True for "python", "python3", "/usr/bin/python3.11" and the like.
[[nodiscard]] bool is_python(std::string_view program);

/// Why a recording of `command` may stay empty, found before it starts. Each issue names the way out.
[[nodiscard]] std::vector<DataIssue> command_obstacles(const std::vector<std::string>& command,
                                                       std::string_view search_path);

/// The issue of a Python process that was started with `flag`.
[[nodiscard]] DataIssue python_isolated_issue(const std::string& flag);

/// The value of "--name=value" or "--name value" in `command`, '_' in its words read as '-'; empty if it is not there.
[[nodiscard]] std::string option_text(const std::vector<std::string>& command, std::string_view name);

/// Whether `command` starts torchrun, torch.distributed.run or torch.distributed.launch.
[[nodiscard]] bool starts_torchrun(const std::vector<std::string>& command);

/// How many consuming processes the job has over all nodes: what the launcher around us says in `environment`
/// (WORLD_SIZE and its like), else what the launcher in `command` is told (torchrun, mpirun, srun, accelerate), else 1.
[[nodiscard]] int expected_ranks(const std::vector<std::string>& command, const std::vector<std::string>& environment);

}  // namespace stallcast::collect
