/// stallcast doctor: what can be measured here, and why not.
#include "probes/collect/doctor/doctor.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/exit_status.hpp"
#include "cli/terminal.hpp"
#include "core/utf8.hpp"
#include "probes/collect/launch/child_environment.hpp"

namespace stallcast::cli {
namespace {

using collect::CheckState;
using collect::DoctorCheck;

constexpr int k_doctor_schema_version = 1;

struct DoctorCommand {
  std::string path{};
  bool json = false;
};

std::string text_of(const std::vector<DoctorCheck>& checks, bool able) {
  std::size_t width = 0;
  for (const DoctorCheck& check : checks) width = std::max(width, check.id.size());
  std::string text;
  for (const DoctorCheck& check : checks) {
    std::string title = check.id;
    std::replace(title.begin(), title.end(), '_', ' ');
    text += fmt::format("{:<8} {:<{}}  {}", collect::check_state_name(check.state), title, width, check.seen);
    if (!check.consequence.empty()) text += ": " + check.consequence;
    text += "\n";
    if (!check.hint.empty()) text += fmt::format("{:<8} {:<{}}  hint: {}\n", "", "", width, check.hint);
  }
  text += able ? "\nJobs can be profiled here.\n" : "\nNothing can be profiled here until what is missing is there.\n";
  return valid_utf8(text);
}

nlohmann::json json_of(const std::vector<DoctorCheck>& checks, bool able) {
  nlohmann::json list = nlohmann::json::array();
  for (const DoctorCheck& check : checks) {
    list.push_back({{"id", check.id},
                    {"state", collect::check_state_name(check.state)},
                    {"seen", valid_utf8(check.seen)},
                    {"consequence", valid_utf8(check.consequence)},
                    {"hint", valid_utf8(check.hint)},
                    {"required", check.required}});
  }
  return {{"schema_version", k_doctor_schema_version}, {"can_profile", able}, {"checks", std::move(list)}};
}

Result<int> examine_and_print(const DoctorCommand& command) {
  std::error_code failed;
  if (!command.path.empty() && !std::filesystem::is_directory(command.path, failed)) {
    return Error{ErrorCode::bad_input, command.path + " is not a folder", "name the folder of the data set"};
  }
  const auto checks = collect::examine_machine(
      {.root = "/", .data = command.path, .search_path = collect::variable(collect::own_environment(), "PATH")});
  const bool able = collect::can_profile(checks);
  STALLCAST_RETURN_IF_ERROR(print_result(command.json ? json_of(checks, able).dump(2) + "\n" : text_of(checks, able)));
  return able ? k_exit_ok : exit_status(ErrorCode::environment);
}

}  // namespace

void add_doctor(CLI::App& app, Session& session) {
  auto options = std::make_shared<DoctorCommand>();
  CLI::App* command =
      app.add_subcommand("doctor", "Say what can be measured on this machine, and why something cannot");
  command
      ->add_option("PATH", options->path,
                   "Folder of a data set in which to try the page cache (default: $TMPDIR);\n"
                   "a small file is created in it and removed")
      ->type_name("");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer("Exit status: 0 if jobs can be profiled here at all, 3 if not.");
  command->callback([options, &session] {
    const auto done = examine_and_print(*options);
    if (!done.ok()) print_error(done.error());
    session.exit_status = done.ok() ? done.value() : exit_status(done.error().code);
  });
}

}  // namespace stallcast::cli
