/// stallcast plan: what to buy, from one profile and a list of machines.
#include "model/plan/plan.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "analyzer/profile/json.hpp"
#include "cli/command.hpp"
#include "cli/exit_status.hpp"
#include "cli/terminal.hpp"
#include "core/units.hpp"
#include "core/utf8.hpp"
#include "core/write_file.hpp"
#include "model/plan/json.hpp"
#include "reports/findings/report_data.hpp"
#include "reports/plan/plan.hpp"
#include "reports/text/text_layout.hpp"
#include "reports/words/escape.hpp"

namespace stallcast::cli {
namespace {

constexpr std::uintmax_t k_largest_catalog = 16U << 20U;
constexpr double k_most_epochs = 1e9;

struct PlanOptions {
  std::string profile{};
  std::string catalog{};
  std::string time{};
  std::optional<double> cost{};
  std::string throughput{};
  double epochs = 1.0;
  std::string format = "text";
  std::string output{};
  bool json = false;
};

Result<std::string> read_catalog(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::bad_input, "cannot read the catalogue " + path, "samples/catalog has an example"};
  std::string text;
  char block[65536];
  while (file.read(block, sizeof block) || file.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(file.gcount()));
    if (text.size() > k_largest_catalog) {
      return Error{ErrorCode::bad_input, "the catalogue " + path + " is larger than 16 MiB", ""};
    }
  }
  return text;
}

Result<PlanTarget> target_of(const PlanOptions& options) {
  PlanTarget target;
  target.epochs = options.epochs;
  if (!(options.epochs > 0.0) || options.epochs > k_most_epochs) {
    return Error{ErrorCode::usage, "--epochs must be above 0", "write for example --epochs 90"};
  }
  if (!options.time.empty()) {
    const auto time = parse_seconds(options.time);
    if (!time) return time.error();
    target.time = time.value();
  }
  if (options.cost && (!(*options.cost > 0.0) || !std::isfinite(*options.cost))) {
    return Error{ErrorCode::usage, "--target-cost must be above 0", "write for example --target-cost 250"};
  }
  target.cost = options.cost;
  if (!options.throughput.empty()) {
    const auto rate = parse_rate(options.throughput);
    if (!rate) return rate.error();
    target.throughput = SamplesPerSecond(rate.value().value());
  }
  return target;
}

std::string row_of(const PlanOption& option, bool chosen) {
  const auto& rate = option.prediction.throughput;
  return fmt::format("{} {:<16.16} {:>4}x {:>3} {:<14.14} {:>9} {:>7} {:>9}  {}\n", chosen ? '>' : ' ',
                     reports::one_line(option.machine), option.nodes, option.workers, option.data,
                     reports::duration(option.time.mean), fmt::format("{:.4g}", option.cost.mean),
                     fmt::format("{:.4g}", rate.mean.value()), option.prediction.bound);
}

std::string details_of(const PlanOption& option) {
  const auto& rate = option.prediction.throughput;
  return fmt::format(
      "  {} x {}, {} workers a rank, data in: {}\n"
      "  {:.4g} samples/s ({:.4g} to {:.4g}), {} ({} to {}), {:.4g} ({:.4g} to {:.4g}){}\n",
      option.nodes, reports::one_line(option.machine), option.workers, option.data, rate.mean.value(),
      rate.ci90_low.value(), rate.ci90_high.value(), reports::duration(option.time.mean),
      reports::duration(option.time.ci90_low), reports::duration(option.time.ci90_high), option.cost.mean,
      option.cost.ci90_low, option.cost.ci90_high,
      option.prediction.extrapolated ? "\n  extrapolated: more than twice or less than half of what was measured" : "");
}

/// Where each machine stops to scale, weak before strong.
void print_scaling(const Plan& plan, reports::TextPage& page) {
  if (plan.curves.empty()) return;
  page.heading("How the machines scale");
  for (const PlanCurve& curve : plan.curves) {
    page.item("  -", 4, curve.machine);
    const auto say = [&](const char* batch, const ScalingLine& line) {
      if (!line.stops.empty()) page.item("", 6, std::string(batch) + ": " + line.stops);
    };
    say("with each rank's batch kept (weak scaling)", curve.weak);
    say("with the batch of all ranks kept (strong scaling)", curve.strong);
  }
  if (plan.curves_left_out > 0) page.item("  -", 4, fmt::format("and {} more", plan.curves_left_out));
}

std::string plan_text(const Plan& plan, const Catalog& catalog, const PlanTarget& target) {
  std::string text = (plan.choice ? "The target is " : "") + plan.verdict + "\n";
  if (plan.choice) text += details_of(*plan.choice);
  if (plan.nearest) text += details_of(*plan.nearest);
  text += fmt::format("\nBest machines for {:g} epoch{}: none is both faster and cheaper (cost in {})\n", target.epochs,
                      target.epochs == 1.0 ? "" : "s",
                      catalog.currency.empty() ? "the catalogue's currency" : reports::one_line(catalog.currency));
  text += fmt::format("  {:<16} {:>5} {:>3} {:<14} {:>9} {:>7} {:>9}  {}\n", "machine", "nodes", "W", "data in", "time",
                      "cost", "samples/s", "limit");
  const auto is_choice = [&](const PlanOption& option) {
    return plan.choice && same_configuration(option, *plan.choice);
  };
  for (const PlanOption& option : plan.front) text += row_of(option, is_choice(option));
  if (plan.choice && std::none_of(plan.front.begin(), plan.front.end(), is_choice)) {
    text += row_of(*plan.choice, true) +
            "  The choice is not among the best: by its mean, another is both faster and cheaper.\n";
  }
  reports::TextPage page(false);
  page.blank();
  page.item("", 0, "What to buy next: " + plan.buy_next);
  if (!plan.hangs_on.empty()) page.item("", 0, "Least certain: " + plan.hangs_on);
  print_scaling(plan, page);
  const auto list = [&](const char* title, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    page.heading(title);
    for (const std::string& line : lines) page.item("  -", 4, line);
  };
  list("Left out", plan.left_out);
  list("Notes", plan.notes);
  return valid_utf8(text + page.take());
}

/// When the profile was last written, by its file; empty where the system does not say.
std::string written_at(const std::string& profile) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(profile, ignored);
  struct stat facts {};
  if (stat((folder ? profile + "/profile.json" : profile).c_str(), &facts) != 0) return "";
  std::tm utc{};
  char words[64];
  if (gmtime_r(&facts.st_mtime, &utc) == nullptr) return "";
  return {words, std::strftime(words, sizeof words, "%Y-%m-%d %H:%M UTC", &utc)};
}

std::vector<std::string> command_of(const PlanOptions& options) {
  std::vector<std::string> words{"stallcast", "plan", options.profile, "--catalog", options.catalog};
  const auto add = [&](const char* option, const std::string& value) {
    if (value.empty()) return;
    words.emplace_back(option);
    words.push_back(value);
  };
  if (options.epochs != 1.0) add("--epochs", fmt::format("{}", options.epochs));
  add("--target-time", options.time);
  if (options.cost) add("--target-cost", fmt::format("{}", *options.cost));
  add("--target-throughput", options.throughput);
  add("--format", options.format);
  add("--output", options.output);
  return words;
}

Result<std::string> render_plan(const Plan& plan, const Catalog& catalog, const PlanTarget& target,
                                const Profile& profile, const PlanOptions& options) {
  if (options.format == "json") return plan_to_json(plan, catalog).dump(2) + "\n";
  if (options.format == "text") return plan_text(plan, catalog, target);
  return render_plan_html(plan, catalog, target, profile,
                          {options.profile, options.catalog, written_at(options.profile), command_of(options)});
}

Status plan_and_print(PlanOptions options) {
  if (options.json) options.format = "json";
  if (options.format != "text" && options.format != "json" && options.format != "html") {
    return Error{ErrorCode::usage, "a plan has no format '" + options.format + "'", "write text, json or html"};
  }
  const auto target = target_of(options);
  if (!target) return target.error();
  const auto text = read_catalog(options.catalog);
  if (!text) return text.error();
  const auto catalog = parse_catalog(text.value());
  if (!catalog) return catalog.error();
  const auto profile = load_profile(options.profile);
  if (!profile) return profile.error();
  const auto plan = make_plan(profile.value(), catalog.value(), target.value());
  if (!plan) return plan.error();
  const auto result = render_plan(plan.value(), catalog.value(), target.value(), profile.value(), options);
  if (!result) return result.error();
  const bool to_stdout = options.output.empty() || options.output == "-";
  return to_stdout ? print_result(result.value()) : write_named_file(options.output, result.value());
}

}  // namespace

void add_plan(CLI::App& app, Session& session) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* command = app.add_subcommand("plan", "Say which machines of a catalogue to buy, from one profile");
  command->add_option("PROFILE", options->profile, "Output folder of a run, or the profile.json in it")
      ->required()
      ->type_name("");
  command
      ->add_option("--catalog", options->catalog, "Machines, storage and prices (JSON; samples/catalog/example.json)")
      ->required()
      ->type_name("FILE");
  command->add_option("--epochs", options->epochs, "Epochs to train: what times and costs are for (default: 1)")
      ->type_name("N");
  command->add_option("--target-time", options->time, "Done within this time, for example 8h")->type_name("TIME");
  command->add_option("--target-cost", options->cost, "At most this cost, in the catalogue's currency")
      ->type_name("AMOUNT");
  command
      ->add_option("--target-throughput", options->throughput,
                   "At least this many samples a second, for example 5000/s")
      ->type_name("RATE");
  auto* json = command->add_flag("--json", options->json, "Print JSON (as -f json)");
  command->add_option("-f,--format", options->format, "text, json or html")->type_name("FORMAT")->excludes(json);
  command->add_option("-o,--output", options->output, "Write to this file (default: stdout)")->type_name("FILE");
  command->footer("Scaling is predicted from formulas, which no run on several real nodes has confirmed yet.");
  command->callback([options, &session] {
    const Status done = plan_and_print(*options);
    if (!done.ok()) print_error(done.error());
    session.exit_status = done.ok() ? k_exit_ok : exit_status(done.error().code);
  });
}

}  // namespace stallcast::cli
