#include <fmt/format.h>

#include "reports/findings/facts.hpp"
#include "reports/findings/operator_rows.hpp"
#include "reports/html/charts.hpp"
#include "reports/html/sections.hpp"
#include "reports/words/escape.hpp"

namespace stallcast::reports {
namespace {

/// An object of the template: {{"key", "text"}, ...}.
Tags row_of(std::initializer_list<std::pair<const char*, std::string>> items) {
  Tags row;
  for (const auto& [key, text] : items) row.set(key, text);
  return row;
}

template <class Q>
std::string words_or_reason(const MeasuredEstimate<Q>& measured, std::string (*words)(const Estimate<Q>&)) {
  return usable(measured) != nullptr ? words(*measured) : not_measured(measured.reason());
}

Tags facts_data(const std::vector<Fact>& facts) {
  Tags rows{Tags::type::list};
  for (const Fact& fact : facts) rows.push_back(row_of({{"label", fact.label}, {"text", fact.text}}));
  return rows;
}

Tags distributions_data(const Profile& p) {
  Tags rows{Tags::type::list};
  int index = 0;
  for (const NamedDistribution& named : distributions_of(p)) {
    const Distribution& d = *named.distribution;
    const auto at = [&](double q) { return scaled(d.quantile(q), named.scale); };
    rows.push_back(row_of({{"index", std::to_string(index++)},
                           {"title", named.title},
                           {"n", count(d.n)},
                           {"mean", scaled(d.mean, named.scale)},
                           {"q05", at(0.05)},
                           {"q50", at(0.5)},
                           {"q95", at(0.95)},
                           {"q99", at(0.99)},
                           {"largest", scaled(d.max, named.scale)}}));
  }
  return rows;
}

Tags operators_data(const ReportData& report) {
  Tags rows{Tags::type::list};
  for (const OperatorRow& row : operator_rows(report)) {
    rows.push_back(row_of({{"name", row.name},
                           {"where", row.where},
                           {"share", row.share},
                           {"wall", row.wall},
                           {"cpu", row.cpu},
                           {"median", row.median},
                           {"q95", row.q95},
                           {"without", row.without}}));
  }
  return rows;
}

Tags points_data(const Profile& p) {
  Tags rows{Tags::type::list};
  for (const Point& point : p.points) {
    std::string setting;
    for (const auto& [key, value] : point.setting) setting += (setting.empty() ? "" : ", ") + key + "=" + value;
    rows.push_back(row_of({{"phase", point.phase},
                           {"setting", setting.empty() ? "as started" : setting},
                           {"rate", words_or_reason<SamplesPerSecond>(point.estimate, rate)},
                           {"method", point.method},
                           {"n", point.estimate ? count(point.estimate->n) : ""}}));
  }
  return rows;
}

Tags ranks_data(const Profile& p) {
  Tags rows{Tags::type::list};
  for (const Rank& rank : p.ranks) {
    rows.push_back(row_of({{"rank", std::to_string(rank.rank)},
                           {"host", rank.host},
                           {"pid", std::to_string(rank.pid)},
                           {"batches", count(rank.batches)},
                           {"wait", words_or_reason<Fraction>(rank.wait, percent_or_zero)},
                           {"rate", words_or_reason<SamplesPerSecond>(rank.rate, rate)}}));
  }
  return rows;
}

Tags premises_data(const Profile& p) {
  Tags rows{Tags::type::list};
  for (const Premise& premise : p.premises) {
    if (!is_worth_showing(p, premise)) continue;
    const bool broken = !premise.holds && rests_on(p, premise);
    rows.push_back(row_of({{"mark", premise.holds ? "yes"
                                    : broken      ? "NO"
                                                  : "no"},
                           {"mark_class", broken ? "broken" : "held"},
                           {"phase", premise.phase},
                           {"check", premise.check},
                           {"expected", premise.expected},
                           {"seen", premise.seen}}));
  }
  return rows;
}

Tags issues_data(const Profile& p) {
  Tags rows{Tags::type::list};
  for (const DataIssue& issue : p.issues) {
    Tags row = row_of({{"severity", severity_name(issue.severity)},
                       {"id", issue.id},
                       {"times", issue.count > 1 ? fmt::format("({} times)", count(issue.count)) : ""},
                       {"detail", issue.detail},
                       {"hint", issue.hint}});
    row.set("has_hint", !issue.hint.empty());
    rows.push_back(row);
  }
  return rows;
}

Tags missing_data(const Findings& f) {
  Tags rows{Tags::type::list};
  for (const Missing& missing : f.missing) {
    std::string what;
    for (const std::string& name : missing.what) what += (what.empty() ? "" : ", ") + name;
    rows.push_back(row_of({{"what", what}, {"reason", missing.reason}}));
  }
  return rows;
}

}  // namespace

void add_details(const ReportData& report, Tags& page) {
  const Profile& p = report.profile;
  page.set("why_title", why_title(p));
  set_list(page, "why", facts_data(report.findings.why));
  set_list(page, "distributions", distributions_data(p));
  set_list(page, "operators", operators_data(report));
  page.set("operators_title", operator_title(p));
  page.set("operators_note", operator_note(report));
  set_list(page, "points", points_data(p));
  set_list(page, "ranks", ranks_data(p));
  set_list(page, "dataset", facts_data(dataset_facts(p)));
  set_list(page, "environment", facts_data(environment_facts(p)));
  set_list(page, "premises", premises_data(p));
  set_list(page, "issues", issues_data(p));
  set_list(page, "missing", missing_data(report.findings));
  page.set("overhead", report.findings.overhead);
  page.set("reproduce", "stallcast profile -o NEW_FOLDER -- " + shell_words(p.command));
  page.set("tool_version", p.tool_version);
}

}  // namespace stallcast::reports
