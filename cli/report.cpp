/// stallcast report: a profile in another format.
#include <memory>
#include <optional>

#include "analyzer/profile/json.hpp"
#include "analyzer/profile/redact.hpp"
#include "cli/command.hpp"
#include "cli/exit_status.hpp"
#include "cli/results.hpp"
#include "cli/terminal.hpp"
#include "core/write_file.hpp"

namespace stallcast::cli {
namespace {

struct ReportOptions {
  std::string profile{};
  std::string format = "text";
  std::string output{};
  bool redact = false;
  std::optional<std::string> price{};
};

/// The price that was asked for; empty without one. Costs have no place in the formats that hold rows and gauges.
Result<std::optional<Price>> price_of(const ReportOptions& options, ReportFormat format) {
  if (!options.price) return std::optional<Price>();
  const bool tells = format == ReportFormat::text || format == ReportFormat::json || format == ReportFormat::html ||
                     format == ReportFormat::md;
  if (!tells) {
    return Error{ErrorCode::usage, "--price: the format " + options.format + " shows no costs",
                 "use text, json, html or md"};
  }
  auto price = parse_price(*options.price);
  if (!price) return Error{price.error().code, "--price: " + price.error().what, price.error().hint};
  return std::optional<Price>(std::move(price).value());
}

Status make_report(const ReportOptions& options) {
  const auto format = report_format_from_name(options.format);
  if (!format) return format.error();
  const auto price = price_of(options, format.value());
  if (!price) return price.error();
  auto profile = load_profile(options.profile);
  if (!profile) return profile.error();
  if (options.redact) {
    profile = redacted(profile.value());
    if (!profile) return profile.error();
  }
  ReportExtras extras = report_extras(profile.value(), options.redact ? "PROFILE" : options.profile);
  if (format.value() == ReportFormat::html) add_page_data(profile.value(), extras);
  RenderOptions& rendering = extras.options;
  rendering.price = price.value();
  const bool to_stdout = options.output.empty() || options.output == "-";
  rendering.color = to_stdout && stdout_has_color();
  rendering.unicode = to_stdout && stdout_has_unicode();
  const auto text = render(profile.value(), extras.predictions, format.value(), rendering);
  if (!text) return text.error();
  return to_stdout ? print_result(text.value()) : write_named_file(options.output, text.value());
}

}  // namespace

void add_report(CLI::App& app, Session& session) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand("report", "Print a profile: text, json, html, md, csv, perfetto, openmetrics");
  command->add_option("PROFILE", options->profile, "Output folder of a run, or the profile.json in it")
      ->required()
      ->type_name("");
  command->add_option("-f,--format", options->format, "text, json, html, md, csv, perfetto or openmetrics")
      ->type_name("FORMAT");
  command->add_option("-o,--output", options->output, "Write to this file (default: stdout)")->type_name("FILE");
  command
      ->add_option("--price", options->price,
                   "Price of a machine (32/h or 32USD/h): adds what an epoch costs, and how much of that is waiting")
      ->type_name("PRICE");
  command->add_flag("--redact", options->redact,
                    "Leave out paths, hosts and the command's arguments, so that the report can be passed on");
  command->callback([options, &session] {
    const Status done = make_report(*options);
    if (!done.ok()) print_error(done.error());
    session.exit_status = done.ok() ? k_exit_ok : exit_status(done.error().code);
  });
}

}  // namespace stallcast::cli
