/// What `stallcast profile` is asked for, and what that makes of its run.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/shared_run.hpp"
#include "core/quantity.hpp"
#include "core/result.hpp"
#include "probes/collect/run/record_run.hpp"

namespace stallcast::cli {

/// As given on the command line.
struct ProfileOptions {
  std::string output{};
  std::string phases = "cold,cached,synthetic,supply";
  std::string budget{};
  std::string evict = "own";
  std::string target = "2%";
  std::string strategy = "interleave";
  std::vector<std::string> emulate{};
  std::string emulate_with = "interposer";
  bool stop = false;
  bool no_extras = false;
  std::string recording_budget{};
  bool force = false;
  bool quiet = false;
  bool verbose = false;
  bool phases_given = false;  ///< by the user

  [[nodiscard]] bool separate() const { return strategy == "separate"; }
  /// Whether the command is ended when it was measured: where its training is not what the user is after.
  [[nodiscard]] bool stops() const { return stop || separate() || !emulate.empty(); }
};

/// How long to measure where nobody says.
inline constexpr Seconds k_default_budget{300.0};

struct ProfilePlan {
  RecordOptions record{};
  Seconds storage{0.0};  ///< for a look at the storage once the command has ended; 0: none
};

/// One of several tools: each writes to a part of its own, and none of them can make phases or stop the command. A
/// usage error where that was asked for.
[[nodiscard]] Status take_shared(const SharedRun& shared, ProfileOptions& options);

/// Says on stderr what the run will be. Errors of usage, before anything is made.
[[nodiscard]] Result<ProfilePlan> plan_profile(const ProfileOptions& options, const Session& session);

}  // namespace stallcast::cli
