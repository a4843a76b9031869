#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/utf8.hpp"
#include "reports/plan/plan.hpp"
#include "reports/render.hpp"
#include "tests/reports/sample_plans.hpp"
#include "tests/reports/sample_predictions.hpp"
#include "tests/reports/sample_profiles.hpp"

namespace {

using namespace stallcast;

/// Cuts the input at its zero bytes, and begins again at its end: text for any number of fields.
class Texts {
 public:
  explicit Texts(std::string_view bytes) : bytes_(bytes) {}
  std::string next() {
    const std::size_t end = bytes_.find('\0', at_);
    std::string text(bytes_.substr(at_, end == std::string_view::npos ? end : end - at_));
    at_ = end == std::string_view::npos || end + 1 > bytes_.size() ? 0 : end + 1;
    return text;
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

void fill_texts(Profile& p, Texts& texts) {
  for (std::string* text :
       {&p.tool_version, &p.outcome.status, &p.outcome.words, &p.host.name, &p.host.kernel, &p.host.cpu_model,
        &p.host.usable_cpus_limited_by, &p.job.framework, &p.job.framework_version, &p.job.python_version,
        &p.job.loader_kind, &p.job.dataset_type, &p.job.multiprocessing_context, &p.stalls.method, &p.dataset.layout,
        &p.dataset.filesystem, &p.dataset.example_path, &p.timeline[0].phase, &p.timeline[5].phase}) {
    *text = texts.next();
  }
  for (std::string& word : p.command) word = texts.next();
  for (Rank& rank : p.ranks) rank.host = texts.next();
  for (Premise& premise : p.premises) premise = {texts.next(), texts.next(), texts.next(), texts.next(), false};
  for (Point& point : p.points) point = {{{texts.next(), texts.next()}}, texts.next(), texts.next(), {}, {}};
  for (PhaseStretch& stretch : p.phases) {
    stretch.phase = texts.next();
    stretch.left_out = texts.next();
  }
  p.issues.push_back({texts.next(), Severity::error, 1, texts.next(), texts.next()});
  p.rates.supply_cold = MeasuredEstimate<SamplesPerSecond>::absent(texts.next());
  p.resources.distributions[texts.next()] = p.resources.distributions["step_s"];
}

RenderOptions options_of(Texts& texts) {
  RenderOptions options;
  options.recommendation = LoaderAdvice{texts.next(), texts.next(), true, {texts.next()}};
  static const auto grid = testing::sample_grid();
  static const auto curves = testing::sample_curves();
  options.grid = grid;
  options.curves = curves;
  options.curves[0].lines[0].name = texts.next();
  options.curves[2].absent = texts.next();
  options.profile_path = texts.next();
  options.price = Price{32.0, "USD"};
  return options;
}

std::size_t times(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

void demand(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

testing::SamplePlan plan_of(Texts& texts) {
  static const testing::SamplePlan met = testing::met_plan();
  testing::SamplePlan sample = met;
  sample.catalog.currency = texts.next();
  for (Machine& machine : sample.catalog.machines) machine.name = texts.next();
  for (PlanOption& option : sample.plan.front) {
    option.machine = texts.next();
    option.data = texts.next();
    option.prediction.bound = texts.next();
  }
  sample.plan.curves[0].machine = texts.next();
  sample.plan.curves[0].weak.stops = texts.next();
  sample.plan.verdict = texts.next();
  sample.plan.notes = {texts.next(), texts.next()};
  sample.source = {texts.next(), texts.next(), texts.next(), {texts.next(), texts.next()}};
  return sample;
}

void check_plan(const Profile& profile, Texts& texts) {
  const testing::SamplePlan sample = plan_of(texts);
  const auto page = render_plan_html(sample.plan, sample.catalog, sample.target, profile, sample.source);
  demand(page.ok());
  const std::string& shown = page.value();
  demand(valid_utf8(shown) == shown && shown.ends_with("\n"));
  demand(times(shown, "<script") == 3 && times(shown, "</script>") == 3 && times(shown, "<h1") == 1);
  demand(times(shown, "<img") + times(shown, "<svg") + times(shown, "<iframe") == 0);
}

/// Whatever the strings of a profile or a catalogue hold, every format stays what it is: valid UTF-8, JSON that parses,
/// a page with no element that its template does not write.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return 0;
  Texts texts(std::string_view(reinterpret_cast<const char*>(data), size));
  static const Profile ranks = testing::multi_rank();
  static const auto predictions = testing::sample_predictions();
  Profile profile = ranks;
  fill_texts(profile, texts);
  const RenderOptions options = options_of(texts);
  for (const ReportFormat format : {ReportFormat::text, ReportFormat::json, ReportFormat::html, ReportFormat::md,
                                    ReportFormat::csv, ReportFormat::perfetto, ReportFormat::openmetrics}) {
    const auto text = render(profile, predictions, format, options);
    demand(text.ok());
    const std::string& shown = text.value();
    demand(valid_utf8(shown) == shown && shown.ends_with("\n"));
    if (format == ReportFormat::json || format == ReportFormat::perfetto) demand(nlohmann::json::accept(shown));
    if (format == ReportFormat::openmetrics) demand(shown.ends_with("# EOF\n") && times(shown, "# EOF\n") == 1);
    if (format == ReportFormat::text || format == ReportFormat::md) demand(shown.find('\x1b') == std::string::npos);
    if (format != ReportFormat::html) continue;
    demand(times(shown, "<script") == 4 && times(shown, "</script>") == 4 && times(shown, "<h1") == 1);
    demand(times(shown, "<img") + times(shown, "<svg") + times(shown, "<iframe") == 0);
  }
  check_plan(profile, texts);
  return 0;
}
