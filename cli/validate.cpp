/// stallcast validate: published results replayed through the model.
#include "model/validate/validate.hpp"

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/answers.hpp"
#include "cli/command.hpp"
#include "cli/exit_status.hpp"
#include "cli/terminal.hpp"
#include "model/predict/prediction_json.hpp"
#include "model/validate/ledger_json.hpp"

namespace stallcast::cli {

void add_validate(CLI::App& app, Session& session) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("validate", "Predict published results with the model and print its errors");
  command->add_flag("--json", *json, "Print JSON");
  command->footer("Exit status: 1 if the model predicts a gain from a change known not to help.");
  command->callback([json, &session] {
    const std::vector<LedgerRow> rows = replay_ledger();
    const Status done = print_result(*json ? ledger_to_json(rows).dump(2) + "\n" : ledger_text(rows));
    if (!done.ok()) print_error(done.error());
    const int verdict = summarize(rows).controls_hold ? k_exit_ok : k_exit_said_no;
    session.exit_status = done.ok() ? verdict : exit_status(done.error().code);
  });
}

}  // namespace stallcast::cli
