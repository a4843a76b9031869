#include "cli/interim.hpp"

#include <fmt/core.h>
#include <sys/resource.h>

#include <array>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/analyze.hpp"
#include "cli/terminal.hpp"
#include "reports/findings/findings.hpp"
#include "reports/words/format.hpp"

namespace stallcast::cli {
namespace {

using reports::usable;

constexpr int k_least_urgent = 19;
constexpr std::size_t k_line_bytes = 160;  ///< of a reason or a title, which could be a paragraph

std::string shortened(std::string text) {
  if (text.size() <= k_line_bytes) return text;
  const std::size_t blank = text.rfind(' ', k_line_bytes);
  return text.substr(0, blank == std::string::npos ? k_line_bytes : blank) + " ...";
}

template <class Q, class Words>
std::string words_or_reason(const MeasuredEstimate<Q>& measured, const Words& words) {
  const auto* estimate = usable(measured);
  return estimate != nullptr ? words(*estimate) : shortened(reports::not_measured(measured.reason()));
}

/// "synthetic 812 samples/s (809 to 815), cached ...": those that were measured, or why none was.
std::string states_words(const Rates& rates) {
  const std::array<std::pair<std::string_view, const MeasuredEstimate<SamplesPerSecond>*>, 3> states{
      {{"synthetic", &rates.synthetic}, {"cached", &rates.cached}, {"cold", &rates.cold}}};
  std::string text;
  for (const auto& [name, rate] : states) {
    const auto* estimate = usable(*rate);
    if (estimate != nullptr) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, reports::rate(*estimate));
  }
  return text.empty() ? shortened(reports::not_measured(rates.synthetic.reason())) : text;
}

std::string stalls_words(const Profile& profile) {
  const Stalls& stalls = profile.stalls;
  const bool cold = reports::speaks_of_cold(profile);
  const auto share = [](const Estimate<Fraction>& estimate) { return reports::percent_or_zero(estimate); };
  const auto& fetch = cold ? stalls.fetch : stalls.as_is_fetch;
  const auto& prep = cold ? stalls.prep : stalls.as_is_prep;
  if (usable(fetch) == nullptr && usable(prep) == nullptr) {
    const auto* wait = usable(stalls.as_is_wait);
    const std::string undivided = words_or_reason(fetch, share);
    return wait == nullptr ? undivided
                           : fmt::format("waiting {} of a step; how it divides: {}", share(*wait), undivided);
  }
  return fmt::format("fetch {}, prep {} of a step{}", words_or_reason(fetch, share), words_or_reason(prep, share),
                     cold ? " that reads all from storage" : "");
}

/// The loader's settings where they gain something, else what the report puts first.
std::string first_words(const Profile& profile, const ReportExtras& extras) {
  const auto& advice = extras.options.recommendation;
  if (advice && !advice->gain.empty()) return shortened(fmt::format("{}: {}", advice->loader_line, advice->gain));
  const std::vector<reports::NextStep> next = reports::find(profile).next;
  return next.empty() ? "nothing" : shortened(next.front().title);
}

/// The command has not ended, and is not going to be: that is no finding of this analysis.
Profile profile_so_far(const std::vector<RunData>& launches) {
  Profile profile = analyze_launches(launches);
  std::erase_if(profile.issues, [](const DataIssue& issue) { return issue.id == "tool-ended-early"; });
  if (profile.outcome.status == "measured") profile.outcome.words = "the rates were measured; the command goes on";
  return profile;
}

Status write_so_far(const std::filesystem::path& run_folder, const std::filesystem::path& output) {
  const auto launches = load_launches(run_folder);
  if (!launches) return launches.error();
  const Profile profile = profile_so_far(launches.value());
  const auto extras = write_results(profile, output);
  if (!extras) return extras.error();
  print_note(summary_text(profile, extras.value(), output));
  return {};
}

}  // namespace

std::string summary_text(const Profile& profile, const ReportExtras& extras, const std::filesystem::path& output) {
  const auto rate = [](const Estimate<SamplesPerSecond>& estimate) { return reports::rate(estimate); };
  std::string text = "done measuring: the command goes on, and the whole report follows when it ends\n";
  text += fmt::format("  as found  {}\n", words_or_reason(profile.rates.as_is, rate));
  text += fmt::format("  states    {}\n", states_words(profile.rates));
  text += fmt::format("  stalls    {}\n", stalls_words(profile));
  text += fmt::format("  do first  {}\n", first_words(profile, extras));
  text += fmt::format("  report    {}/report.html", output.string());
  return text;
}

void InterimReport::set_output(const std::filesystem::path& output) {
  const std::lock_guard guard(lock_);
  output_ = output;
}

void InterimReport::write(const std::filesystem::path& run_folder) {
  const std::lock_guard guard(lock_);
  setpriority(PRIO_PROCESS, 0, k_least_urgent);  // of this thread alone, as Linux has it
  Status written;
  try {
    written = write_so_far(run_folder, output_);
  } catch (const std::exception& failure) {  // of memory, say: the job must not lose its observer by that
    written = Error{ErrorCode::internal, failure.what(), ""};
  }
  if (written.ok()) return;
  print_note("the rates are known, but there is no report of them yet (" + written.error().what +
             "); the command goes on, and the report follows when it ends");
}

}  // namespace stallcast::cli
