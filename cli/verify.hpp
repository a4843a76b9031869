/// Running a command with a scenario applied, and holding the prediction against it: `verify` and `recommend --verify`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/profile/profile.hpp"
#include "core/quantity.hpp"
#include "core/result.hpp"
#include "model/scenario/scenario.hpp"
#include "model/validate/verification.hpp"

namespace stallcast::cli {

struct VerifyRequest {
  std::vector<std::string> command{};
  std::filesystem::path output{};           ///< empty: nothing is kept of the run
  bool force = false;                       ///< replace the results of an earlier run in `output`
  std::optional<Seconds> budget{};          ///< record for at most this long, then end the command; absent: 5 min
  bool output_to_stderr = false;            ///< of the command, so that stdout is ours alone
  std::string emulate_with = "interposer";  ///< or "kernel"
};

/// A command that was run, or that could not be.
struct Verified {
  std::optional<Verification> verification{};  ///< empty: nothing came of the run, and stderr says why
  int status =
      0;  ///< to exit with: the command's own if it failed by itself, 125 to 127, 0 agrees, 1 disagrees, 5 no verdict
};

/// Predicts `scenario` from `profile`, runs the command with it, compares. An Error means that the command was not
/// started: a key that cannot be applied or predicted, no command, a folder that cannot be used.
[[nodiscard]] Result<Verified> run_verification(const Profile& profile, const Scenario& scenario,
                                                const VerifyRequest& request);

}  // namespace stallcast::cli
