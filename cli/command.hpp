/// The commands of the tool. Each adds itself to the tree and leaves its exit status in the session.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace stallcast::cli {

/// One invocation.
struct Session {
  std::vector<std::string> command{};  ///< the words behind "--"
  int exit_status = 0;
};

void add_profile(CLI::App& app, Session& session);
void add_report(CLI::App& app, Session& session);
void add_whatif(CLI::App& app, Session& session);
void add_plan(CLI::App& app, Session& session);
void add_recommend(CLI::App& app, Session& session);
void add_diff(CLI::App& app, Session& session);
void add_analyze(CLI::App& app, Session& session);
void add_merge(CLI::App& app, Session& session);
void add_storage(CLI::App& app, Session& session);
void add_validate(CLI::App& app, Session& session);
void add_verify(CLI::App& app, Session& session);
void add_doctor(CLI::App& app, Session& session);
void add_env(CLI::App& app, Session& session);

/// "0.1.0".
[[nodiscard]] std::string tool_version();

}  // namespace stallcast::cli
