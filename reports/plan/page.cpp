/// The page of a plan: one file that loads nothing, with a table beside each chart.
#include <fmt/format.h>

#include "reports/findings/report_data.hpp"
#include "reports/html/assets.hpp"
#include "reports/html/page.hpp"
#include "reports/html/sections.hpp"
#include "reports/plan/charts.hpp"
#include "reports/words/escape.hpp"
#include "reports/words/format.hpp"

namespace stallcast::reports {
namespace {

Tags texts_of(const std::vector<std::string>& lines) {
  Tags rows{Tags::type::list};
  for (const std::string& line : lines) rows.push_back(Tags{"text", line});
  return rows;
}

/// A list of labels and what stands beside them.
class Facts {
 public:
  void add(const char* label, const std::string& text) {
    Tags row;
    row.set("label", label);
    row.set("text", text);
    rows_.push_back(row);
  }
  [[nodiscard]] const Tags& rows() const { return rows_; }

 private:
  Tags rows_{Tags::type::list};
};

std::string currency_words(const Catalog& catalog) {
  return catalog.currency.empty() ? "the catalogue's currency, which it does not name" : catalog.currency;
}

/// The option that the answers are about: as model/plan/plan.cpp explains it.
const PlanOption& explained(const Plan& plan) {
  return plan.choice ? *plan.choice : plan.nearest ? *plan.nearest : plan.front.front();
}

std::string mark_words(const ShownOption& one) {
  std::string words = one.choice ? "the choice" : one.nearest ? "the nearest" : "";
  const auto add = [&](bool holds, const char* word) {
    if (holds) words += (words.empty() ? "" : "; ") + std::string(word);
  };
  add(!one.on_front, "not on the front: another is faster and cheaper by its mean");
  add(one.option->upper_bound, "an upper bound of the rate");
  add(one.option->prediction.extrapolated, "extrapolated");
  return words;
}

void add_verdict(const PlanData& plan, Tags& page) {
  const auto& choice = plan.plan.choice;
  const bool surely = choice && choice->meets_surely;
  page.set("headline", plan_headline(plan));
  page.set("level", surely ? "fine" : choice ? "moderate" : plan.plan.nearest ? "high" : "unknown");
  page.set("badge", surely ? "Met" : choice ? "Perhaps met" : plan.plan.nearest ? "Not met" : "No target");
  Facts facts;
  if (!plan.plan.front.empty() && (choice || plan.plan.nearest)) {
    const PlanOption& shown = explained(plan.plan);
    facts.add(choice ? "The choice" : "The nearest", configuration_words(shown));
    facts.add("takes", time_words(shown) + " for " + epochs_words(plan.target));
    facts.add("costs", cost_words(shown, plan.catalog));
    facts.add("delivers", forecast_words(shown.prediction) + " samples/s");
    facts.add("with", plural(shown.workers, "worker") + " a rank, data in: " + shown.data);
    facts.add("limited by", bound_words(shown.prediction));
  }
  set_list(page, "hero", facts.rows());
  page.set("catalog", plan.source.catalog);
}

void add_options(const PlanData& plan, Tags& page) {
  Tags rows{Tags::type::list};
  const std::vector<ShownOption> shown = shown_options(plan.plan);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const PlanOption& option = *shown[i].option;
    Tags row;
    row.set("number", std::to_string(i + 1));
    row.set("class", shown[i].choice || shown[i].nearest ? "chosen" : "");
    row.set("configuration", configuration_words(option));
    row.set("workers", count(option.workers));
    row.set("data", option.data);
    row.set("rate", forecast_words(option.prediction));
    row.set("time", time_words(option));
    row.set("cost", cost_words(option, plan.catalog));
    row.set("bound", bound_words(option.prediction));
    row.set("meets", meets_words(option));
    row.set("mark", mark_words(shown[i]));
    rows.push_back(row);
  }
  page.set("options", rows);
  page.set("has_targets", plan.target.any());
  page.set("currency", currency_words(plan.catalog));
  page.set("candidates", plural(static_cast<std::int64_t>(plan.plan.candidates), "candidate"));
  page.set("shown", count(static_cast<std::int64_t>(shown.size())));
  const bool note = plan.target.time || plan.target.cost;
  page.set("has_target_note", note);
  page.set("target_note", note ? "A target outside the chart has no line." : "");
}

void add_answers(const PlanData& plan, Tags& page) {
  page.set("buy_next", plan.plan.buy_next);
  page.set("explained_option", configuration_words(explained(plan.plan)));
  page.set("explained_role", plan.plan.choice ? "the choice" : plan.plan.nearest ? "the nearest" : "the fastest");
  page.set("has_hangs_on", !plan.plan.hangs_on.empty());
  page.set("hangs_on", plan.plan.hangs_on);
  set_list(page, "left_out", texts_of(plan.plan.left_out));
  set_list(page, "notes", texts_of(plan.plan.notes));
}

void add_points(const PlanCurve& curve, const ScalingLine& line, const char* batch, Tags& rows) {
  if (line.points.size() < 2) return;
  for (const PlanOption& option : line.points) {
    const bool worth = line.worth_nodes && *line.worth_nodes == option.nodes;
    std::string mark = worth ? "the last that is worth it" : "";
    if (option.upper_bound) mark += (mark.empty() ? "" : "; ") + std::string("an upper bound");
    if (option.prediction.extrapolated) mark += (mark.empty() ? "" : "; ") + std::string("extrapolated");
    Tags row;
    row.set("configuration", fmt::format("{} x {}", count(option.nodes), machine_words(curve.machine)));
    row.set("batch", batch);
    row.set("workers", count(option.workers));
    row.set("data", option.data);
    row.set("rate", forecast_words(option.prediction));
    row.set("share", percent(share_of_perfect(line.points.front(), option)));
    row.set("bound", bound_words(option.prediction));
    row.set("mark", mark);
    rows.push_back(row);
  }
}

std::string shared_words(const SharedStorage& shared) {
  std::vector<std::string> limits;
  if (shared.bandwidth) limits.push_back(bandwidth(*shared.bandwidth));
  if (shared.files_per_s) limits.push_back(as_given(shared.files_per_s->value()) + " files/s");
  if (shared.metadata_per_s) limits.push_back(as_given(shared.metadata_per_s->value()) + " opens/s");
  std::string text = limits.empty() ? "" : fmt::format("{} for all nodes together", fmt::join(limits, ", "));
  if (shared.contention || shared.coherence) {
    text += fmt::format("{}contention {} and coherence {} over nodes", text.empty() ? "" : "; ",
                        as_given(shared.contention.value_or(0.0)), as_given(shared.coherence.value_or(0.0)));
  }
  return text;
}

void add_scaling(const PlanData& plan, Tags& page) {
  struct Kind {
    const char* key;
    const char* title;
    const char* batch;
    ScalingLine PlanCurve::*line;
  };
  Tags figures{Tags::type::list};
  Tags points{Tags::type::list};
  for (const Kind& kind :
       {Kind{"weak", "Each rank keeps its batch (weak scaling)", "of each rank kept", &PlanCurve::weak},
        Kind{"strong", "The batch of all ranks together stays as profiled (strong scaling)", "of all ranks kept",
             &PlanCurve::strong}}) {
    Tags stops{Tags::type::list};
    for (const PlanCurve& curve : plan.plan.curves) {
      const ScalingLine& line = curve.*kind.line;
      add_points(curve, line, kind.batch, points);
      if (line.stops.empty()) continue;
      Tags row;
      row.set("machine", machine_words(curve.machine));
      row.set("text", line.stops);
      stops.push_back(row);
    }
    Tags figure;
    figure.set("key", kind.key);
    figure.set("title", kind.title);
    figure.set("has_points", !stops.is_empty_list());
    figure.set("reason", "no machine has two numbers of ranks that divide the batch as profiled");
    figure.set("stops", stops);
    figures.push_back(figure);
  }
  page.set("has_scaling", !plan.plan.curves.empty());
  page.set("scaling", figures);
  page.set("points", points);
  const auto more = static_cast<std::int64_t>(plan.plan.curves_left_out);
  page.set("has_more_machines", more > 0);
  page.set("more_machines", "Not drawn: " + plural(more, "more machine") + ".");
}

void add_machines(const PlanData& plan, Tags& page) {
  Tags rows{Tags::type::list};
  const std::string currency = currency_word(plan.catalog);
  for (const Machine& machine : plan.catalog.machines) {
    Tags row;
    row.set("name", machine_words(machine.name));
    row.set("cores", as_given(machine.cores));
    row.set("memory", bytes(machine.memory));
    row.set("gpus", machine.gpus > 0 ? count(machine.gpus) : "none: one rank on the cores");
    row.set("speed", machine.gpus > 0 ? as_given(machine.gpu_speed) + "x" : "");
    row.set("disk", machine.disk ? bytes(*machine.disk) + ", " + bandwidth(*machine.disk_bandwidth) : "not named");
    row.set("network", machine.network_bandwidth ? bandwidth(*machine.network_bandwidth) : "not named");
    row.set("price", as_given(machine.price_per_hour) + (currency.empty() ? "" : " " + currency));
    row.set("most", count(machine.most_nodes));
    rows.push_back(row);
  }
  page.set("machines", rows);
  Facts facts;
  facts.add("File", plan.source.catalog);
  facts.add("Currency", currency_words(plan.catalog));
  facts.add("Shared storage", plan.catalog.shared ? shared_words(*plan.catalog.shared) : "not named");
  page.set("storage", facts.rows());
}

template <class T, class Words>
std::string words_or_reason(const Measured<T>& value, Words words) {
  return value ? words(*value) : not_measured(value.reason());
}

void add_inputs(const PlanData& plan, Tags& page) {
  const Profile& p = plan.profile;
  Facts asked;
  asked.add("Epochs", as_given(plan.target.epochs));
  asked.add("Time at most", plan.target.time ? duration(*plan.target.time) : "not asked for");
  asked.add("Cost at most", plan.target.cost ? as_given(*plan.target.cost) : "not asked for");
  asked.add("Rate at least", plan.target.throughput ? rate(*plan.target.throughput) : "not asked for");
  page.set("asked", asked.rows());
  Facts profile;
  profile.add("Folder or file", plan.source.profile);
  profile.add("Last changed", plan.source.profile_written.empty() ? "not known" : plan.source.profile_written);
  profile.add("Data set", words_or_reason(p.job.dataset_samples, [](std::int64_t n) { return plural(n, "sample"); }));
  profile.add("Its size", words_or_reason(p.dataset.bytes_total, [](Bytes size) { return bytes(size); }));
  profile.add("Rate as found",
              usable(p.rates.as_is) != nullptr ? rate(*p.rates.as_is) : not_measured(p.rates.as_is.reason()));
  profile.add("Written by", "stallcast " + p.tool_version);
  page.set("profile", profile.rows());
  page.set("command", shell_words(p.command));
  page.set("subtitle", subtitle_of(p));
  page.set("plan_again", shell_words(plan.source.command));
  page.set("profile_again", "stallcast profile -o NEW_FOLDER -- " + shell_words(p.command));
}

}  // namespace
}  // namespace stallcast::reports

namespace stallcast {

Result<std::string> render_plan_html(const Plan& plan, const Catalog& catalog, const PlanTarget& target,
                                     const Profile& profile, const PlanSource& source) {
  using namespace reports;
  if (plan.front.empty()) return Error{ErrorCode::internal, "a plan without an option has no page", ""};
  const PlanData all{plan, catalog, target, profile, source};
  Tags page;
  add_verdict(all, page);
  add_options(all, page);
  add_answers(all, page);
  add_scaling(all, page);
  add_machines(all, page);
  add_inputs(all, page);
  page.set("csp", content_policy({&k_chart_library, &k_charts}));
  page.set("style", std::string(k_style.text));
  page.set("charts", std::string(k_charts.text));
  page.set("chart_library", std::string(k_chart_library.text));
  page.set("chart_data", plan_chart_json(all));
  return render_page(k_plan.text, page);
}

}  // namespace stallcast
