/// What ranks exchange, from the marks in which the shim wrote DistributedDataParallel's own timers.
#include "analyzer/ranks/exchange.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "analyzer/load/marks.hpp"
#include "analyzer/ranks/constants.hpp"
#include "analyzer/statistics/statistics.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {
namespace {

using nlohmann::json;

/// One iteration of one rank, in seconds.
struct Timed {
  double forward = 0.0;
  double backward = 0.0;
  double span = 0.0;
  double exposed = 0.0;
};

/// One model of one rank.
struct Model {
  std::string backend{};
  std::string hook{};
  std::vector<double> bucket_bytes{};
  std::map<std::int64_t, Timed> iterations{};

  [[nodiscard]] double bytes() const { return std::accumulate(bucket_bytes.begin(), bucket_bytes.end(), 0.0); }
};

/// A number of a mark; below 0 where there is none, or none that a time can be.
double number(const json& text, const char* key) {
  const auto found = text.find(key);
  if (found == text.end() || !found->is_number()) return -1.0;
  const double value = found->get<double>();
  return std::isfinite(value) && value <= k_most_of_exchange_mark ? value : -1.0;
}

void take(const json& text, std::map<std::int64_t, Model>& models) {
  const double iteration = number(text, "iteration");
  const double forward = number(text, "forward_ns");
  const double backward = number(text, "backward_ns");
  const double span = number(text, "span_ns");
  const double overlap = number(text, "overlap_ns");
  if (std::min({iteration, forward, backward, span, overlap}) < 0.0) return;
  Model& model = models[static_cast<std::int64_t>(number(text, "model"))];
  model.backend = word(text, "backend");
  model.hook = word(text, "hook");
  model.bucket_bytes.clear();
  if (const auto sizes = text.find("bucket_bytes"); sizes != text.end() && sizes->is_array()) {
    for (const json& size : *sizes) {
      if (size.is_number()) model.bucket_bytes.push_back(std::max(0.0, size.get<double>()));
    }
  }
  constexpr double k_nanosecond = 1e-9;
  model.iterations[static_cast<std::int64_t>(iteration)] = {k_nanosecond * forward, k_nanosecond * backward,
                                                            k_nanosecond * span,
                                                            k_nanosecond * std::max(0.0, span - overlap)};
}

/// The models of a rank, by their numbers.
std::map<std::int64_t, Model> models_of(const RankView& rank) {
  std::map<std::int64_t, Model> models;
  for (const json& mark : marks_of(*rank.run, *rank.consumer, "exchange")) take(mark, models);
  return models;
}

/// What an iteration took on the rank that came last, and how much longer the others'.
struct Together {
  Timed last{};
  double waited = 0.0;
};

std::vector<Together> together(const std::vector<const Model*>& ranks) {
  std::vector<Together> all;
  for (const auto& [iteration, first] : ranks.front()->iterations) {
    Together seen{first, 0.0};
    double spans = 0.0;
    std::size_t timed = 0;
    for (const Model* rank : ranks) {
      const auto found = rank->iterations.find(iteration);
      if (found == rank->iterations.end()) break;
      ++timed;
      spans += found->second.span;
      if (found->second.span < seen.last.span) seen.last = found->second;
    }
    if (timed < ranks.size()) continue;
    seen.waited = spans / static_cast<double>(ranks.size()) - seen.last.span;
    all.push_back(seen);
  }
  return all;
}

template <class Value>
MeasuredEstimate<Seconds> mean(const std::vector<Together>& all, Value value) {
  std::vector<double> values;
  values.reserve(all.size());
  for (const Together& one : all) values.push_back(value(one));
  const Estimate<double> of = mean_of(values);
  return Estimate<Seconds>{Seconds(of.mean), Seconds(of.ci95_low), Seconds(of.ci95_high), of.n};
}

void leave_out(const std::string& reason, Exchange& out) {
  out.time = out.exposed = out.waiting = MeasuredEstimate<Seconds>::absent(reason);
}

}  // namespace

Exchange exchange_of(const std::vector<RankView>& ranks, int world) {
  Exchange out;
  std::vector<std::map<std::int64_t, Model>> seen;
  seen.reserve(ranks.size());
  for (const RankView& rank : ranks) seen.push_back(models_of(rank));
  if (seen.empty() || seen.front().empty()) return out;
  const auto largest = std::max_element(seen.front().begin(), seen.front().end(), [](const auto& a, const auto& b) {
    return a.second.bytes() < b.second.bytes();
  });
  const Model& model = largest->second;
  out.backend = model.backend.empty() ? "unknown" : model.backend;
  out.hook = model.hook;
  out.ranks = world;
  out.bytes = model.bytes() > 0.0 ? Measured<Bytes>(Bytes(model.bytes()))
                                  : Measured<Bytes>::absent("the sizes of its buckets were not told");
  out.buckets = static_cast<std::int64_t>(model.bucket_bytes.size());
  std::vector<const Model*> same;
  for (const auto& models : seen) {
    if (const auto found = models.find(largest->first); found != models.end()) same.push_back(&found->second);
  }
  const std::vector<Together> all = together(same);
  out.iterations = static_cast<std::int64_t>(all.size());
  if (all.size() < k_fewest_exchange_iterations) {
    const std::string reason =
        "fewer than three iterations were timed: PyTorch times one in ten on CPUs, in a hundred on GPUs";
    out.forward = out.backward = MeasuredEstimate<Seconds>::absent(reason);
    leave_out(reason, out);
    return out;
  }
  out.forward = mean(all, [](const Together& one) { return one.last.forward; });
  out.backward = mean(all, [](const Together& one) { return one.last.backward; });
  if (world < 2) {
    leave_out("one rank exchanges with nobody", out);
  } else if (same.size() < static_cast<std::size_t>(world)) {
    leave_out("not all ranks were timed, and those that were may have waited for the others", out);
  } else {
    out.time = mean(all, [](const Together& one) { return one.last.span; });
    out.exposed = mean(all, [](const Together& one) { return one.last.exposed; });
    out.waiting = mean(all, [](const Together& one) { return one.waited; });
  }
  return out;
}

}  // namespace stallcast::sections
