/// stallcast recommend: what to change, the loader first.
#include "model/recommend.hpp"

#include <memory>
#include <nlohmann/json.hpp>

#include "analyzer/profile_json.hpp"
#include "cli/answers.hpp"
#include "cli/command.hpp"
#include "cli/exit_status.hpp"
#include "cli/terminal.hpp"
#include "model/prediction_json.hpp"

namespace stallcast::cli {
namespace {

Status recommend_and_print(const std::string& path, bool json) {
  const auto profile = load_profile(path);
  if (!profile) return profile.error();
  const auto recommendation = recommend(profile.value());
  if (!recommendation) return recommendation.error();
  return print_result(json ? to_json(recommendation.value()).dump(2) + "\n"
                           : recommendation_text(recommendation.value()));
}

}  // namespace

void add_recommend(CLI::App& app, Session& session) {
  struct Options {
    std::string profile{};
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("recommend", "Recommend a loader configuration, then what to buy");
  command->add_option("PROFILE", options->profile, "Output folder of a run, or the profile.json in it")
      ->required()
      ->type_name("");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options, &session] {
    const Status done = recommend_and_print(options->profile, options->json);
    if (!done.ok()) print_error(done.error());
    session.exit_status = done.ok() ? k_exit_ok : exit_status(done.error().code);
  });
}

}  // namespace stallcast::cli
