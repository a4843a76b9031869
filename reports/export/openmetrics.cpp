/// OpenMetrics text, for node_exporter's textfile collector and the like. Absent values have no sample: null is not 0.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>

#include "reports/findings/report_data.hpp"
#include "reports/words/escape.hpp"

namespace stallcast::reports {
namespace {

/// One metric family: its header comes with the first sample, so that a family without samples is not written.
class Family {
 public:
  Family(std::string& out, const char* name, const char* unit, const char* help)
      : out_(out), name_(name), unit_(unit), help_(help) {}

  /// A repeated label set or a value that is not finite is left out: the format allows neither.
  void sample(const std::string& labels, double value) {
    if (!std::isfinite(value) || !seen_.insert(labels).second) return;
    if (!begun_) out_ += fmt::format("# TYPE {} gauge\n", name_);
    if (!begun_ && *unit_ != '\0') out_ += fmt::format("# UNIT {} {}\n", name_, unit_);
    if (!begun_) out_ += fmt::format("# HELP {} {}\n", name_, help_);
    begun_ = true;
    out_ += fmt::format("{}{{{}}} {}\n", name_, labels, value);
  }

  template <class Q>
  void estimate(const std::string& label, const MeasuredEstimate<Q>& measured) {
    const auto* e = usable(measured);
    if (e == nullptr) return;
    const auto raw = [](const auto& value) {
      if constexpr (requires { value.value(); }) {
        return value.value();
      } else {
        return value;
      }
    };
    sample(label + ",stat=\"mean\"", raw(e->mean));
    sample(label + ",stat=\"ci95_low\"", raw(e->ci95_low));
    sample(label + ",stat=\"ci95_high\"", raw(e->ci95_high));
  }

 private:
  std::string& out_;
  const char* name_;
  const char* unit_;
  const char* help_;
  bool begun_ = false;
  std::set<std::string> seen_{};
};

std::string label(const char* key, std::string_view value) {
  return fmt::format("{}=\"{}\"", key, metric_label(value));
}

void add_rates(const Profile& p, std::string& out) {
  Family rates(out, "stallcast_rate_samples_per_second", "samples_per_second", "Samples per second of the whole job.");
  rates.estimate(label("phase", "synthetic"), p.rates.synthetic);
  rates.estimate(label("phase", "cached"), p.rates.cached);
  rates.estimate(label("phase", "cold"), p.rates.cold);
  rates.estimate(label("phase", "as_is"), p.rates.as_is);
  rates.estimate(label("phase", "supply_cached"), p.rates.supply_cached);
  rates.estimate(label("phase", "supply_cold"), p.rates.supply_cold);
}

void add_stalls(const Profile& p, std::string& out) {
  Family stalls(out, "stallcast_stall_ratio", "ratio", "Share of a step spent waiting for data.");
  stalls.estimate(label("kind", "prep"), p.stalls.prep);
  stalls.estimate(label("kind", "fetch"), p.stalls.fetch);
  stalls.estimate(label("kind", "receive"), p.stalls.receive);
  stalls.estimate(label("kind", "as_is_prep"), p.stalls.as_is_prep);
  stalls.estimate(label("kind", "as_is_fetch"), p.stalls.as_is_fetch);
  stalls.estimate(label("kind", "as_is_receive"), p.stalls.as_is_receive);
  stalls.estimate(label("kind", "as_is_wait"), p.stalls.as_is_wait);
}

void add_times(const Resources& r, std::string& out) {
  Family steps(out, "stallcast_step_seconds", "seconds", "Time of an optimizer step of one rank and its parts.");
  steps.estimate(label("part", "step"), r.step);
  steps.estimate(label("part", "compute"), r.compute);
  steps.estimate(label("part", "wait"), r.wait);
  Family samples(out, "stallcast_sample_seconds", "seconds", "Time of the loader per sample.");
  samples.estimate(label("part", "worker_wall"), r.worker_wall);
  samples.estimate(label("part", "worker_cpu"), r.worker_cpu);
  samples.estimate(label("part", "read"), r.read);
  samples.estimate(label("part", "tree_cpu"), r.tree_cpu);
}

void add_gpu(const Gpu& gpu, std::string& out) {
  Family shares(out, "stallcast_gpu_step_ratio", "ratio", "Share of a step's time that the GPU was in a state.");
  shares.estimate(label("state", "busy"), gpu.busy);
  shares.estimate(label("state", "exposed_copy"), gpu.exposed);
  shares.estimate(label("state", "idle"), gpu.idle);
  shares.estimate(label("state", "starved"), gpu.starved);
}

void add_ranks(const Profile& p, std::string& out) {
  Family waits(out, "stallcast_rank_wait_ratio", "ratio", "Share of its steps that a rank waits for data.");
  for (const Rank& rank : p.ranks) {
    waits.estimate(label("rank", std::to_string(rank.rank)) + "," + label("host", rank.host), rank.wait);
  }
}

void add_predictions(const ReportData& data, std::string& out) {
  Family rates(out, "stallcast_predicted_rate_samples_per_second", "samples_per_second",
               "Predicted samples per second under a scenario, with its 90 % interval.");
  for (const Prediction& p : data.predictions) {
    const std::string scenario = label("scenario", scenario_words(p));
    rates.sample(scenario + ",stat=\"mean\"", p.throughput.mean.value());
    rates.sample(scenario + ",stat=\"ci90_low\"", p.throughput.ci90_low.value());
    rates.sample(scenario + ",stat=\"ci90_high\"", p.throughput.ci90_high.value());
  }
}

void add_health(const Profile& p, std::string& out) {
  Family overhead(out, "stallcast_overhead_ratio", "ratio", "What the measurement itself cost.");
  overhead.estimate(label("of", "throughput"), p.overhead.throughput);
  overhead.estimate(label("of", "cpu"), p.overhead.cpu);
  Family issues(out, "stallcast_issues", "", "Data issues of the run, counted.");
  std::map<std::string, std::int64_t> counts;
  for (const DataIssue& issue : p.issues) {
    counts[label("id", issue.id) + "," + label("severity", severity_name(issue.severity))] += issue.count;
  }
  for (const auto& [labels, times] : counts) issues.sample(labels, static_cast<double>(times));
  Family window(out, "stallcast_measured_seconds", "seconds", "Length of the window that was measured.");
  window.sample(label("outcome", p.outcome.status), p.measured_s);
}

}  // namespace

std::string render_openmetrics(const ReportData& data) {
  std::string out;
  add_rates(data.profile, out);
  add_stalls(data.profile, out);
  add_times(data.profile.resources, out);
  add_gpu(data.profile.gpu, out);
  add_ranks(data.profile, out);
  add_predictions(data, out);
  add_health(data.profile, out);
  return out + "# EOF\n";
}

}  // namespace stallcast::reports
