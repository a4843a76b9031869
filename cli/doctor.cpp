#include "cli/command.hpp"
namespace stallcast::cli {
void add_doctor(CLI::App& app, Session& session) {
  (void)app;
  (void)session;
}
}  // namespace stallcast::cli
