/// doctor: do the parts that go into the job's processes get into them?
#include <fmt/format.h>

#include <gnu/libc-version.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "probes/collect/doctor/constants.hpp"
#include "probes/collect/doctor/doctor.hpp"
#include "probes/collect/launch/child_environment.hpp"
#include "probes/collect/launch/command_facts.hpp"
#include "probes/collect/launch/installation.hpp"
#include "probes/collect/launch/run_folder.hpp"
#include "probes/collect/system/run_program.hpp"
#include "probes/collect/system/text_file.hpp"
#include "probes/record/control.hpp"

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;

/// What a Python says of itself; torch is found, not imported, which would take seconds. With a run's variable set, the
/// shim arms itself if it is loaded at all; the folder that the variable names need not exist for that.
constexpr char k_ask_python[] = R"py(
import importlib.util, json, os, re, sys
found = {"python": sys.version.split()[0], "executable": sys.executable, "shim": "stallcast_shim" in sys.modules,
         "torch": None}
try:
    spec = importlib.util.find_spec("torch")
    if spec is not None and spec.origin:
        text = open(os.path.join(os.path.dirname(spec.origin), "version.py")).read()
        said = re.search(r"__version__\s*=\s*['\"]([^'\"]+)", text)
        found["torch"] = said.group(1) if said else "of unknown version"
except Exception:
    pass
print(json.dumps(found))
)py";

struct PythonFound {
  std::string name{};
  std::string version{};
  std::string executable{};
  std::string torch{};  ///< empty: none
  bool shim = false;
};

std::vector<std::string> environment_with(const Variables& added) {
  return merged_environment(own_environment(), added);
}

std::optional<PythonFound> ask_python(const std::string& path, const Installation& installation) {
  const fs::path nowhere = temporary_folder() / "stallcast-doctor-no-run";
  const auto said =
      run_program({path, "-c", k_ask_python}, environment_with({{"PYTHONPATH", installation.python_folder.string()},
                                                                {record::k_env_run_dir, nowhere.string()}}));
  if (!said || said->exit_code != 0) return std::nullopt;
  const auto lines = split_lines(said->output);  // warnings of the environment come before ours
  const auto text = nlohmann::json::parse(lines.empty() ? "" : lines.back(), nullptr, /*allow_exceptions=*/false);
  if (!text.is_object()) return std::nullopt;
  const auto word = [&](const char* key) {
    const auto field = text.find(key);
    return field != text.end() && field->is_string() ? field->get<std::string>() : std::string();
  };
  const auto shim = text.find("shim");
  const bool is_there = shim != text.end() && shim->is_boolean() && shim->get<bool>();
  return PythonFound{path, word("python"), word("executable"), word("torch"), is_there};
}

/// The interpreters on PATH, each once: /bin may be a link to /usr/bin.
std::vector<std::string> pythons_on(const std::string& search_path) {
  std::vector<std::string> found;
  std::vector<fs::path> seen;
  for (const std::string_view folder : split_fields(search_path, ':')) {
    for (const char* name : {"python", "python3"}) {
      const Executable python = examine_executable(name, folder);
      std::error_code failed;
      const fs::path real = fs::canonical(python.path, failed);
      if (python.kind == ExecutableKind::missing || failed) continue;
      // A virtual environment's interpreter is a link to another's: its folder tells them apart.
      const fs::path place = fs::canonical(python.path.parent_path(), failed) / real.filename();
      if (std::find(seen.begin(), seen.end(), place) != seen.end() || found.size() >= k_most_pythons) continue;
      seen.push_back(place);
      found.push_back(python.path.string());
    }
  }
  return found;
}

/// The first that has torch, else the first that runs.
std::optional<PythonFound> find_python(const std::string& search_path, const Installation& installation) {
  std::optional<PythonFound> first;
  for (const std::string& path : pythons_on(search_path)) {
    auto found = ask_python(path, installation);
    if (!found) continue;
    if (!found->torch.empty()) return found;
    if (!first) first = std::move(found);
  }
  return first;
}

DoctorCheck shim_check(const std::optional<PythonFound>& python, const Installation& installation) {
  DoctorCheck check{.id = "python_shim", .required = true};
  if (!python) {
    check.state = CheckState::limited;
    check.seen = "installed, not tried: no Python on PATH answers";
    check.consequence = "whether Python loaders are recorded shows only in a run";
    check.hint = "activate the environment that you train in, and ask again";
  } else if (python->shim) {
    check.seen = "gets into " + python->executable;
  } else {
    check.state = CheckState::missing;
    check.seen = fmt::format("{} did not load it from {}", python->executable, installation.python_folder.string());
    check.consequence = "Python loaders are not recorded";
    check.hint = "look for a wrapper around Python that drops PYTHONPATH or starts it with -I, -E or -S";
  }
  return check;
}

DoctorCheck torch_check(const std::optional<PythonFound>& python) {
  DoctorCheck check{.id = "python_torch"};
  if (python && !python->torch.empty()) {
    check.seen = fmt::format("torch {}, Python {} ({})", python->torch, python->version, python->executable);
    return check;
  }
  check.state = CheckState::missing;
  check.seen =
      python ? fmt::format("no torch in any Python on PATH, the first is {} ({})", python->version, python->executable)
             : std::string("no Python on PATH answers");
  check.consequence = "PyTorch jobs need the Python of another environment; C++ jobs with marks need none";
  check.hint = "activate the environment that you train in, and ask again";
  return check;
}

}  // namespace

DoctorCheck check_capture_library() {
  DoctorCheck check{.id = "capture_library", .required = true};
  const auto installation = find_installation();
  if (!installation) {
    check.state = CheckState::missing;
    check.seen = installation.error().what;
    check.consequence = "nothing can be recorded";
    check.hint = installation.error().hint;
    return check;
  }
  const std::string library = installation.value().capture_library.string();
  const auto maps = run_program({"cat", "/proc/self/maps"}, environment_with({{"LD_PRELOAD", library}}));
  if (maps && maps->output.find(library) != std::string::npos) {
    check.seen = fmt::format("preloads into programs of this system (glibc {})", gnu_get_libc_version());
    return check;
  }
  check.state = CheckState::missing;
  check.seen = maps ? "a program that it was preloaded into did not load it" : "no program could be run to try it";
  check.consequence = "file reads and waits of a job are not recorded";
  check.hint = "build stallcast on this system: its C library must be glibc, not older than where it was built";
  return check;
}

std::vector<DoctorCheck> check_python(const std::string& search_path) {
  const auto installation = find_installation();
  if (!installation) {
    DoctorCheck check{"python_shim",
                      CheckState::missing,
                      installation.error().what,
                      "Python loaders are not recorded",
                      installation.error().hint,
                      true};
    return {std::move(check)};
  }
  const auto python = find_python(search_path, installation.value());
  return {shim_check(python, installation.value()), torch_check(python)};
}

}  // namespace stallcast::collect
