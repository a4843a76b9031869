/// stallcast diff: what changed between two profiles, and whether it is more than noise.
#include "reports/diff/diff.hpp"

#include <memory>

#include "analyzer/compare/compare.hpp"
#include "analyzer/compare/fail_condition.hpp"
#include "analyzer/profile/json.hpp"
#include "cli/command.hpp"
#include "cli/exit_status.hpp"
#include "cli/terminal.hpp"
#include "core/write_file.hpp"
#include "reports/words/escape.hpp"

namespace stallcast::cli {
namespace {

struct DiffOptions {
  std::string before{};
  std::string after{};
  std::vector<std::string> fail_on{};
  std::string format = "text";
  std::string output{};
  bool json = false;
  bool same_workload = false;
};

Result<std::vector<FailCondition>> parse_conditions(const std::vector<std::string>& texts) {
  std::vector<FailCondition> conditions;
  for (const std::string& text : texts) {
    auto condition = parse_fail_condition(text);
    if (!condition) return condition.error();
    conditions.push_back(std::move(condition).value());
  }
  return conditions;
}

/// What a build server is told: one condition that holds decides; one that cannot be judged is no pass.
Result<int> verdict_of(const std::vector<JudgedCondition>& judged) {
  for (const JudgedCondition& one : judged) {
    if (one.state == ConditionState::holds) return k_exit_said_no;
  }
  for (const JudgedCondition& one : judged) {
    if (one.state == ConditionState::not_enough_data) {
      return Error{ErrorCode::not_enough_data, condition_words(one),
                   "profile for longer, or measure the states that this number needs (--phases)"};
    }
  }
  return k_exit_ok;
}

std::string named(const std::string& value) {
  return value.empty() ? "(none)" : reports::one_line(value);
}

/// Two jobs that do not do the same are not held against each other: what differs, one a line.
Status refuse_other_workload(const Comparison& comparison) {
  const std::vector<SettingChange> changes = workload_changes(comparison);
  if (changes.empty()) return {};
  std::string what = "the two profiles are not of the same workload:";
  for (const SettingChange& one : changes) {
    const std::string key = one.section.empty() ? one.key : one.section + "." + one.key;
    what += "\n  " + key + ": " + named(one.before) + " before, " + named(one.after) + " after";
  }
  return Error{ErrorCode::not_enough_data, what,
               "profile the same workload on both sides, or compare them anyway, without --same-workload"};
}

Result<int> compare_and_print(const DiffOptions& options) {
  const auto format = report_format_from_name(options.json ? "json" : options.format);
  if (!format) return format.error();
  const auto conditions = parse_conditions(options.fail_on);
  if (!conditions) return conditions.error();
  const auto before = load_profile(options.before);
  if (!before) return before.error();
  const auto after = load_profile(options.after);
  if (!after) return after.error();
  const Comparison comparison = compare(before.value(), after.value());
  const std::vector<JudgedCondition> judged = judge(comparison, conditions.value());
  RenderOptions rendering;
  const bool to_stdout = options.output.empty() || options.output == "-";
  rendering.color = to_stdout && stdout_has_color();
  const auto text = render_diff(comparison, judged, {options.before, options.after}, format.value(), rendering);
  if (!text) return text.error();
  STALLCAST_RETURN_IF_ERROR(to_stdout ? print_result(text.value()) : write_named_file(options.output, text.value()));
  if (options.same_workload) STALLCAST_RETURN_IF_ERROR(refuse_other_workload(comparison));
  return verdict_of(judged);
}

}  // namespace

void add_diff(CLI::App& app, Session& session) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App* command = app.add_subcommand("diff", "Compare two profiles: what changed beyond noise");
  command->add_option("A", options->before, "The profile before: output folder of a run, or its profile.json")
      ->required()
      ->type_name("");
  command->add_option("B", options->after, "The profile after")->required()->type_name("");
  command
      ->add_option("--fail-on", options->fail_on,
                   "Exit with 1 if this number changed by more than that, beyond noise; repeatable")
      ->allow_extra_args(false)
      ->type_name("'K>N%'");
  auto* json = command->add_flag("--json", options->json, "Print JSON (as -f json)");
  command->add_option("-f,--format", options->format, "text, json, md or html")->type_name("FORMAT")->excludes(json);
  command->add_option("-o,--output", options->output, "Write to this file (default: stdout)")->type_name("FILE");
  command->add_flag("--same-workload", options->same_workload,
                    "Refuse (exit 5) where command, data set, batches or workers differ");
  command->footer(
      "Conditions, in quotes: 'K>+N%' for a rise, 'K<-N%' for a fall. K names a number in profile.json.\n"
      "  --fail-on 'fetch_frac>+5%'             the fetch stall takes 5 points more of the step\n"
      "  --fail-on 'as_is_samples_per_s<-10%'   a tenth fewer samples a second\n"
      "Exit status: 0 if none holds, 1 if one holds beyond noise, 5 if one cannot be judged.");
  command->callback([options, &session] {
    const auto verdict = compare_and_print(*options);
    if (!verdict) print_error(verdict.error());
    session.exit_status = verdict ? verdict.value() : exit_status(verdict.error().code);
  });
}

}  // namespace stallcast::cli
