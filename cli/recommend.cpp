/// stallcast recommend: what to change, the loader first; with --verify the loader is tried at once.
#include "model/recommend/recommend.hpp"

#include <memory>
#include <nlohmann/json.hpp>

#include "analyzer/profile/json.hpp"
#include "cli/answers.hpp"
#include "cli/command.hpp"
#include "cli/exit_status.hpp"
#include "cli/terminal.hpp"
#include "cli/verify.hpp"
#include "model/predict/prediction_json.hpp"
#include "model/recommend/loader_search.hpp"
#include "model/recommend/recommendation_json.hpp"

namespace stallcast::cli {
namespace {

struct RecommendOptions {
  std::string profile{};
  bool json = false;
  bool verify = false;
};

/// The recommended workers and prefetch factor; nothing where the loader stays as it is.
Scenario recommended(const Recommendation& recommendation) {
  return recommendation.change_loader ? with_loader({}, recommendation.best) : Scenario{};
}

/// The recommendation comes before the run; as JSON both are one object after it. The status to exit with.
Result<int> verify_and_print(const Profile& profile, const Recommendation& recommendation, bool json,
                             const Session& session) {
  VerifyRequest request;
  request.command = session.command;
  request.output_to_stderr = json;
  if (!json && !request.command.empty()) {
    STALLCAST_RETURN_IF_ERROR(print_result(recommendation_text(recommendation) + "\n"));
  }
  const auto verified = run_verification(profile, recommended(recommendation), request);
  if (!verified) return verified.error();
  const auto& verification = verified.value().verification;
  if (json) {
    nlohmann::json out = to_json(recommendation);
    out["verification"] = verification ? to_json(*verification) : nlohmann::json(nullptr);
    STALLCAST_RETURN_IF_ERROR(print_result(out.dump(2) + "\n"));
  } else if (verification) {
    STALLCAST_RETURN_IF_ERROR(print_result(verification_text(*verification)));
  }
  return verified.value().status;
}

Result<int> recommend_and_print(const RecommendOptions& options, const Session& session) {
  if (!options.verify && !session.command.empty()) {
    return Error{ErrorCode::usage, "recommend runs a command only with --verify", "add --verify, or leave it out"};
  }
  const auto profile = load_profile(options.profile);
  if (!profile) return profile.error();
  const auto recommendation = recommend(profile.value());
  if (!recommendation) return recommendation.error();
  if (options.verify) return verify_and_print(profile.value(), recommendation.value(), options.json, session);
  STALLCAST_RETURN_IF_ERROR(print_result(options.json ? to_json(recommendation.value()).dump(2) + "\n"
                                                      : recommendation_text(recommendation.value())));
  return k_exit_ok;
}

}  // namespace

void add_recommend(CLI::App& app, Session& session) {
  auto options = std::make_shared<RecommendOptions>();
  CLI::App* command = app.add_subcommand("recommend", "Recommend a loader configuration, then what to buy");
  command->add_option("PROFILE", options->profile, "Output folder of a run, or the profile.json in it")
      ->required()
      ->type_name("");
  command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--verify", options->verify,
                    "Run the command after -- with the recommended loader and check the prediction\n"
                    "(exit status as of verify)");
  command->callback([options, &session] {
    const auto done = recommend_and_print(*options, session);
    if (!done.ok()) print_error(done.error());
    session.exit_status = done.ok() ? done.value() : exit_status(done.error().code);
  });
}

}  // namespace stallcast::cli
