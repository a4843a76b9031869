/// The command line of stallcast, as a table of contents.
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>

#include "cli/command.hpp"
#include "cli/exit_status.hpp"
#include "cli/terminal.hpp"
#include "model/scenario/nearest_word.hpp"

namespace stallcast::cli {
namespace {

/// The library cannot know what stands behind "--".
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    const std::string name_of = app->get_name();
    const char* words = name_of == "profile" || name_of == "verify" ? " -- COMMAND..." : "";
    if (name_of == "recommend") words = " [--verify -- COMMAND...]";
    usage.insert(usage.find_last_not_of('\n') + 1, words);
    return usage;
  }
};

/// Everything behind the first "--" is the wrapped command's, word by word: our own parser never sees it.
std::vector<std::string> split_command(int argc, char** argv, Session& session) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const auto mark = std::find(words.begin(), words.end(), "--");
  if (mark != words.end()) session.command.assign(mark + 1, words.end());
  words.erase(mark, words.end());
  return words;
}

void add_commands(CLI::App& app, Session& session) {
  add_profile(app, session);
  add_report(app, session);
  add_recommend(app, session);
  add_whatif(app, session);
  add_diff(app, session);
  add_plan(app, session);
  add_analyze(app, session);
  add_merge(app, session);
  add_storage(app, session);
  add_validate(app, session);
  add_verify(app, session);
  add_doctor(app, session);
  add_env(app, session);
  for (CLI::App* command : app.get_subcommands({})) command->group("More");
  for (const char* first : {"profile", "report", "recommend", "whatif", "diff"}) {
    app.get_subcommand(first)->group("The commands to begin with");
  }
}

/// What is wrong with the first word, where a command should be; nothing where a command or an option is.
std::optional<Error> wrong_command(CLI::App& app, const std::vector<std::string>& words, const Session& session) {
  const char* list = "stallcast --help lists the commands";
  if (words.empty()) {
    return Error{ErrorCode::usage, "no stallcast command is given",
                 session.command.empty() ? list : "to measure what is behind --: stallcast profile -- COMMAND"};
  }
  if (words.front().starts_with('-')) return std::nullopt;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), words.front()) != names.end()) return std::nullopt;
  const std::vector<std::string_view> known(names.begin(), names.end());
  const auto nearest = nearest_word(words.front(), known);
  return Error{ErrorCode::usage, "there is no command '" + words.front() + "'",
               nearest ? "did you mean '" + std::string(*nearest) + "'?" : list};
}

int usage_error(const CLI::ParseError& error, bool wraps) {
  print_error({ErrorCode::usage, error.what(), "stallcast --help, or stallcast COMMAND --help"});
  return wraps ? k_exit_wrapper : k_exit_usage;
}

int run(int argc, char** argv) {
  Session session;
  std::vector<std::string> words = split_command(argc, argv, session);
  CLI::App app("Measures how much of a training job's time is lost waiting for data, and why.", "stallcast");
  app.set_version_flag("--version", "stallcast " + tool_version());
  app.formatter(std::make_shared<HelpFormatter>());  // before the commands, which inherit it
  app.require_subcommand(1);
  add_commands(app, session);
  if (const auto wrong = wrong_command(app, words, session)) {
    print_error(*wrong);
    return k_exit_usage;
  }
  const bool wraps = !words.empty() && words.front() == "profile";
  std::reverse(words.begin(), words.end());  // the parser takes them from the back
  try {
    app.parse(std::move(words));
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return usage_error(error, wraps);
  }
  return session.exit_status;
}

}  // namespace

std::string tool_version() {
  return STALLCAST_VERSION;
}

}  // namespace stallcast::cli

int main(int argc, char** argv) {
  try {
    return stallcast::cli::run(argc, argv);
  } catch (const std::exception& bug) {  // ours: what libraries throw is converted where they are called
    std::fprintf(stderr, "stallcast: BUG: %s\n", bug.what());
    return stallcast::cli::exit_status(stallcast::ErrorCode::internal);
  }
}
