/// stallcast plan: what to buy, from one profile and a list of machines.
#include "model/plan.hpp"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "analyzer/profile_json.hpp"
#include "cli/command.hpp"
#include "cli/exit_status.hpp"
#include "cli/terminal.hpp"
#include "core/units.hpp"
#include "core/utf8.hpp"
#include "model/plan_json.hpp"
#include "reports/formats.hpp"

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
  return fmt::format("{} {:<16.16} {:>4}x {:>3} {:<14.14} {:>9} {:>7} {:>9}  {}\n", chosen ? '>' : ' ', option.machine,
                     option.nodes, option.workers, option.data, reports::duration(option.time.mean),
                     fmt::format("{:.4g}", option.cost.mean), fmt::format("{:.4g}", rate.mean.value()),
                     option.prediction.bound);
}

std::string details_of(const PlanOption& option) {
  const auto& rate = option.prediction.throughput;
  return fmt::format(
      "  {} x {}, {} workers a rank, data in: {}\n"
      "  {:.4g} samples/s ({:.4g} to {:.4g}), {} ({} to {}), {:.4g} ({:.4g} to {:.4g}){}\n",
      option.nodes, option.machine, option.workers, option.data, rate.mean.value(), rate.ci90_low.value(),
      rate.ci90_high.value(), reports::duration(option.time.mean), reports::duration(option.time.ci90_low),
      reports::duration(option.time.ci90_high), option.cost.mean, option.cost.ci90_low, option.cost.ci90_high,
      option.prediction.extrapolated ? "\n  extrapolated: further out than twice what was measured" : "");
}

std::string plan_text(const Plan& plan, const Catalog& catalog, const PlanTarget& target) {
  std::string text = plan.verdict + "\n";
  if (plan.choice) text += details_of(*plan.choice);
  if (plan.nearest) text += details_of(*plan.nearest);
  text += fmt::format("\nThe front for {:g} epoch{}: what is faster is dearer (cost in {})\n", target.epochs,
                      target.epochs == 1.0 ? "" : "s",
                      catalog.currency.empty() ? "the catalogue's currency" : catalog.currency);
  text += fmt::format("  {:<16} {:>5} {:>3} {:<14} {:>9} {:>7} {:>9}  {}\n", "machine", "nodes", "W", "data in", "time",
                      "cost", "samples/s", "bound");
  for (const PlanOption& option : plan.front) {
    const bool chosen = plan.choice && option.machine == plan.choice->machine && option.nodes == plan.choice->nodes &&
                        option.workers == plan.choice->workers && option.data == plan.choice->data;
    text += row_of(option, chosen);
  }
  text += fmt::format("\nWhat to buy next: {}\n", plan.buy_next);
  if (!plan.hangs_on.empty()) text += fmt::format("What it hangs on: {}\n", plan.hangs_on);
  const auto list = [&](const char* title, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    text += fmt::format("\n{}\n", title);
    for (const std::string& line : lines) text += fmt::format("  - {}\n", line);
  };
  list("Left out", plan.left_out);
  list("Notes", plan.notes);
  return valid_utf8(text);
}

Status plan_and_print(const PlanOptions& options) {
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
  return print_result(options.json ? plan_to_json(plan.value(), catalog.value()).dump(2) + "\n"
                                   : plan_text(plan.value(), catalog.value(), target.value()));
}

}  // namespace

void add_plan(CLI::App& app, Session& session) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* command = app.add_subcommand("plan", "Say what to buy: machines of a catalogue, by what a profile says");
  command->add_option("PROFILE", options->profile, "Output folder of a run, or the profile.json in it")
      ->required()
      ->type_name("");
  command
      ->add_option("--catalog", options->catalog, "Machines, storage and prices (JSON; samples/catalog/example.json)")
      ->required()
      ->type_name("FILE");
  command->add_option("--epochs", options->epochs, "Epochs that times and costs are for (default: 1)")->type_name("N");
  command->add_option("--target-time", options->time, "Done within this time: 8h")->type_name("TIME");
  command->add_option("--target-cost", options->cost, "At most this cost, in the catalogue's currency")
      ->type_name("AMOUNT");
  command->add_option("--target-throughput", options->throughput, "At least so many samples: 5000/s")
      ->type_name("RATE");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer("Scaling is predicted from closed forms; no run of several nodes stands behind it yet.");
  command->callback([options, &session] {
    const Status done = plan_and_print(*options);
    if (!done.ok()) print_error(done.error());
    session.exit_status = done.ok() ? k_exit_ok : exit_status(done.error().code);
  });
}

}  // namespace stallcast::cli
