/// stallcast whatif: what a change would bring.
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "analyzer/profile/json.hpp"
#include "cli/answers.hpp"
#include "cli/command.hpp"
#include "cli/exit_status.hpp"
#include "cli/simulation_text.hpp"
#include "cli/terminal.hpp"
#include "core/units.hpp"
#include "model/predict/prediction_json.hpp"

namespace stallcast::cli {
namespace {

struct WhatifOptions {
  std::string profile{};
  std::vector<std::string> settings{};
  std::vector<std::string> sweeps{};
  std::string simulate{};  ///< epochs; empty: not asked for
  std::uint64_t seed = 1;
  bool lose_node = false;
  bool json = false;
  bool csv = false;
};

/// The scenario keys, those of one machine and those beyond it, in lines that fit a terminal.
std::string key_lines() {
  constexpr std::size_t k_line_columns = 78;
  std::string text;
  for (const bool beyond : {false, true}) {
    std::string line = beyond ? "Keys beyond this machine:" : "Keys:";
    for (const std::string_view key : scenario_keys()) {
      if (asks_beyond_machine(key) != beyond) continue;
      if (line.size() + 1 + key.size() > k_line_columns) {
        text += line + "\n";
        line = " ";
      }
      line += " " + std::string(key);
    }
    text += line + "\n";
  }
  return text;
}

Result<SimulationAsk> simulation_ask(const WhatifOptions& options) {
  constexpr int k_most_simulated = 1000;
  const auto epochs = parse_count(options.simulate);
  if (!epochs || epochs.value() < 1 || epochs.value() > k_most_simulated) {
    return Error{ErrorCode::usage, "'" + options.simulate + "' is not a number of epochs from 1 to 1000",
                 "write for example --simulate=3"};
  }
  return SimulationAsk{epochs.value(), options.seed, options.lose_node};
}

/// Questions are read before the profile: a mistyped key should not wait for it.
Result<std::vector<Prediction>> answer(const WhatifOptions& options) {
  auto scenarios = parse_grid(options.settings, options.sweeps);
  if (!scenarios) return scenarios.error();
  SimulationAsk ask;
  if (!options.simulate.empty()) {
    const auto asked = simulation_ask(options);
    if (!asked) return asked.error();
    ask = asked.value();
  }
  const auto profile = load_profile(options.profile);
  if (!profile) return profile.error();
  const bool for_people = !options.json && !options.csv;
  const bool asks = !options.settings.empty() || !options.sweeps.empty();
  const bool compares = for_people && asks;
  if (!options.simulate.empty()) {
    auto simulated = simulate_all(profile.value(), scenarios.value(), ask);
    if (!simulated || !compares) return simulated;
    auto found = predict(profile.value(), Scenario{});
    if (!found) return found.error();
    simulated.value().insert(simulated.value().begin(), std::move(found).value());
    return simulated;
  }
  if (compares) scenarios.value().insert(scenarios.value().begin(), Scenario{});
  return predict_all(profile.value(), scenarios.value());
}

Status answer_and_print(const WhatifOptions& options) {
  const auto predictions = answer(options);
  if (!predictions) return predictions.error();
  if (options.json) return print_result(predictions_to_json(predictions.value()).dump(2) + "\n");
  if (options.csv) return print_result(predictions_csv(predictions.value()));
  return print_result(predictions_text(predictions.value()) + simulations_text(predictions.value()));
}

}  // namespace

void add_whatif(CLI::App& app, Session& session) {
  auto options = std::make_shared<WhatifOptions>();
  CLI::App* command = app.add_subcommand("whatif", "Predict what a change would bring (cores, cache, loader, storage)");
  command->add_option("PROFILE", options->profile, "Output folder of a run, or the profile.json in it")
      ->required()
      ->type_name("");
  command->add_option("--set", options->settings, "What changes; what is not set stays as profiled")->type_name("K=V");
  command->add_option("--sweep", options->sweeps, "Predict every combination of these values")->type_name("K=V1,V2,..");
  auto* json = command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--csv", options->csv, "Print CSV, a row per combination")->excludes(json);
  auto* simulate = command->add_flag("--simulate{3}", options->simulate,
                                     "Also simulate this many epochs batch by batch (--simulate=N; default: 3)");
  command->add_option("--seed", options->seed, "Seed of the simulation (default: 1)")->type_name("N")->needs(simulate);
  command->add_flag("--lose-node", options->lose_node, "A node loses its cache in the last epoch")->needs(simulate);
  command->footer(key_lines() +
                  "Units are part of a value: cache=35% or cache=100GiB, storage_bandwidth=500MB/s, nodes=4.");
  command->callback([options, &session] {
    const Status done = answer_and_print(*options);
    if (!done.ok()) print_error(done.error());
    session.exit_status = done.ok() ? k_exit_ok : exit_status(done.error().code);
  });
}

}  // namespace stallcast::cli
