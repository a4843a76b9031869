/// stallcast verify: is the prediction right? Runs the command with the scenario applied.
#include "cli/verify.hpp"

#include <memory>
#include <nlohmann/json.hpp>

#include "analyzer/profile/json.hpp"
#include "cli/answers.hpp"
#include "cli/command.hpp"
#include "cli/exit_status.hpp"
#include "cli/terminal.hpp"
#include "core/units.hpp"

namespace stallcast::cli {
namespace {

struct VerifyOptions {
  std::string profile{};
  std::vector<std::string> settings{};
  std::string output{};
  std::string budget{};
  std::string emulate_with = "interposer";
  bool force = false;
  bool json = false;
};

Result<Verified> verify_and_print(const VerifyOptions& options, const Session& session) {
  VerifyRequest request;
  request.command = session.command;
  request.output = options.output;
  request.force = options.force;
  request.output_to_stderr = options.json;
  request.emulate_with = options.emulate_with;
  if (!options.budget.empty()) {
    const auto budget = parse_seconds(options.budget);
    if (!budget) return budget.error();
    request.budget = budget.value();
  }
  const auto scenario = parse_scenario(options.settings);
  if (!scenario) return scenario.error();
  const auto profile = load_profile(options.profile);
  if (!profile) return profile.error();
  auto verified = run_verification(profile.value(), scenario.value(), request);
  if (!verified || !verified.value().verification) return verified;
  const Verification& verification = *verified.value().verification;
  const Status printed =
      print_result(options.json ? to_json(verification).dump(2) + "\n" : verification_text(verification));
  if (!printed.ok()) print_error(printed.error());
  if (!printed.ok() && verified.value().status == k_exit_ok) verified.value().status = k_exit_wrapper;
  return verified;
}

}  // namespace

void add_verify(CLI::App& app, Session& session) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command =
      app.add_subcommand("verify", "Apply a change, run the command, and compare the rate with the prediction");
  command
      ->add_option("PROFILE", options->profile, "Output folder of a run, or the profile.json in it; it is not changed")
      ->required()
      ->type_name("");
  command->add_option("--set", options->settings, "What changes; what is not set stays as profiled")->type_name("K=V");
  command
      ->add_option("-o,--output", options->output,
                   "Keep the run's own profile in this folder (default: it is not kept)")
      ->type_name("DIR");
  command
      ->add_option("--budget", options->budget,
                   "Measure for at most this long, then end the command as Ctrl-C would (default: 5min)")
      ->type_name("TIME");
  command
      ->add_option("--emulate-with", options->emulate_with,
                   "What emulates the storage: interposer (default), or kernel: by control groups, needs root")
      ->check(CLI::IsMember({"interposer", "kernel"}))
      ->type_name("WHAT");
  command->add_flag("--force", options->force, "Replace the results of an earlier run in DIR");
  command->add_flag("--json", options->json, "Print JSON; what the command writes to stdout goes to stderr");
  command->footer(
      "Keys: workers prefetch cpus storage_bandwidth storage_iops cache cache_policy\n"
      "The last four are emulated. A cache needs a storage_bandwidth behind it, and cache_policy=minio.\n"
      "With --emulate-with kernel: no cache; cpus may be a fraction (cpus=1.5).\n"
      "Exit status: the command's own if it failed by itself, 0 if prediction and run agree, 1 if they do not,\n"
      "2 for a change that cannot be applied here, 5 if there is no verdict (not applied, not comparable),\n"
      "125 if stallcast failed, 126 if the command cannot be executed, 127 if it was not found.");
  command->callback([options, &session] {
    const auto verified = verify_and_print(*options, session);
    if (!verified) print_error(verified.error());
    session.exit_status = verified ? verified.value().status : exit_status(verified.error().code);
  });
}

}  // namespace stallcast::cli
