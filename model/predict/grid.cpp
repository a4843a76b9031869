#include "model/predict/grid.hpp"

#include <algorithm>
#include <cmath>
#include <future>
#include <map>
#include <set>
#include <string_view>
#include <thread>

#include "model/job/job_model.hpp"
#include "model/predict/constants.hpp"
#include "model/predict/predict.hpp"
#include "model/scenario/bandwidth_words.hpp"
#include "model/scenario/formatted.hpp"

namespace stallcast {
namespace {

/// Multiples of what was found, written by `words` (for the model) and `label` (for people).
template <class Words, class Label>
GridAxis multiples(const char* key, double found, std::initializer_list<double> factors, Words words, Label label) {
  GridAxis axis{key};
  for (const double factor : factors) {
    if (factor == 1.0) axis.found = axis.values.size();
    axis.values.push_back(factor == 1.0 ? "" : words(found * factor));
    axis.labels.push_back(label(found * factor));
  }
  return axis;
}

GridAxis workers_axis(const JobModel& job, int more_workers, bool long_lists) {
  std::set<int> counts{job.workers};
  const int base = std::max(1, job.workers);
  for (const int count : {base / 2, base, 2 * base, 4 * base}) counts.insert(std::max(1, count));
  if (long_lists) counts.insert({base + 1, base + (base + 1) / 2, 3 * base, 6 * base, 8 * base});
  if (more_workers > 0) counts.insert(more_workers);
  GridAxis axis{"workers"};
  for (const int count : counts) {
    if (count > 256 && count != job.workers) continue;
    if (count == job.workers) axis.found = axis.values.size();
    axis.values.push_back(count == job.workers ? "" : std::to_string(count));
    axis.labels.push_back(std::to_string(count));
  }
  return axis;
}

GridAxis cache_axis(const JobModel& job) {
  return {"cache",
          {"", "0%", "50%", "100%"},
          {"as profiled (" + formatted("%.0f", 100.0 * job.miss) + " % from storage)", "0 %", "50 %", "100 %"},
          0};
}

GridAxis storage_axis(BytesPerSecond ceiling) {
  const auto words = [](double value) { return formatted("%.4gMB/s", value / 1e6); };
  const auto label = [](double value) { return bandwidth_words(BytesPerSecond(value)); };
  return multiples("storage_bandwidth", ceiling.value(), {1.0, 2.0, 4.0}, words, label);
}

/// Nodes like this one. What they share must be known for that, and the run's own gradients are left out: the notes say
/// so at each point.
GridAxis nodes_axis(const JobModel& job) {
  const auto plain = [](double value) { return formatted("%.6g", value); };
  return multiples("nodes", std::max(1.0, std::round(job.ranks / job.ranks_per_host)), {1.0, 2.0, 8.0}, plain, plain);
}

/// The first value of `axis` that the model cannot answer makes the whole axis a gap.
bool answerable(Predictor& predictor, const GridAxis& axis, PredictionGrid& grid) {
  for (const std::string& value : axis.values) {
    Scenario scenario;
    if (value.empty()) continue;
    const Status set = set_key(scenario, axis.key, value);
    const auto answer = set.ok() ? predictor.closed_form_rate(scenario) : Result<double>(set.error());
    if (answer.ok()) continue;
    grid.gaps.push_back({axis.key, answer.error().what});
    return false;
  }
  return true;
}

void add_axis(Predictor& predictor, GridAxis axis, PredictionGrid& grid) {
  if (axis.values.size() > 1 && answerable(predictor, axis, grid)) grid.axes.push_back(std::move(axis));
}

void add_axes(const JobModel& job, Predictor& predictor, int more_workers, PredictionGrid& grid) {
  const auto ceiling = predictor.storage_ceiling();
  const bool from_storage = job.miss > 0.0;
  if (from_storage) {
    add_axis(predictor, cache_axis(job), grid);
  } else {
    grid.gaps.push_back({"cache", "this run read everything from memory"});
  }
  if (from_storage && ceiling) {
    add_axis(predictor, storage_axis(*ceiling), grid);
  } else {
    grid.gaps.push_back({"storage_bandwidth", from_storage ? "what storage gives was not measured"
                                                           : "this run read everything from memory"});
  }
  const bool long_lists = grid.axes.empty();
  add_axis(predictor, workers_axis(job, more_workers, long_lists), grid);
  const auto plain = [](double value) { return formatted("%.6g", value); };
  const auto times = [](double value) { return formatted("%gx", value); };
  const double cores = job.cores * job.ranks_per_host;
  const auto short_factors = {1.0, 2.0, 4.0};
  const auto long_factors = {0.5, 1.0, 2.0, 4.0, 8.0};
  add_axis(predictor, multiples("cpus", cores, long_lists ? long_factors : short_factors, plain, plain), grid);
  add_axis(predictor, multiples("gpu_speedup", 1.0, long_lists ? long_factors : short_factors, plain, times), grid);
  add_axis(predictor, nodes_axis(job), grid);
}

/// The settings of a combination, in the order of the axes. With everything in memory storage does not matter.
Result<Scenario> scenario_at(const PredictionGrid& grid, std::size_t combination) {
  std::vector<std::string> values(grid.axes.size());
  for (std::size_t i = grid.axes.size(); i-- > 0;) {
    const GridAxis& axis = grid.axes[i];
    values[i] = axis.values[combination % axis.values.size()];
    combination /= axis.values.size();
  }
  const bool cached = !values.empty() && grid.axes.front().key == "cache" && values.front() == "100%";
  Scenario scenario;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].empty() || (cached && grid.axes[i].key == "storage_bandwidth")) continue;
    STALLCAST_RETURN_IF_ERROR(set_key(scenario, grid.axes[i].key, values[i]));
  }
  return scenario;
}

/// The grid's index, and the points that it leads to.
Status index_points(PredictionGrid& grid) {
  std::size_t combinations = 1;
  for (const GridAxis& axis : grid.axes) combinations *= axis.values.size();
  std::map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < combinations; ++i) {
    auto scenario = scenario_at(grid, i);
    if (!scenario) return scenario.error();
    std::string name;
    for (const ScenarioItem& item : scenario.value().items) name += item.key + "=" + item.value + " ";
    const auto [place, is_new] = known.emplace(name, grid.points.size());
    grid.index.push_back(place->second);
    if (is_new) grid.points.push_back({.scenario = std::move(scenario.value().items)});
  }
  return {};
}

/// Every `parts`-th point from `first` on, by a predictor of its own. The first error, if there is one.
Status answer_part(const Profile& profile, std::size_t first, std::size_t parts, std::vector<Prediction>& points) {
  auto predictor = Predictor::make(profile);
  if (!predictor) return predictor.error();
  for (std::size_t i = first; i < points.size(); i += parts) {
    Scenario scenario;
    for (const ScenarioItem& item : points[i].scenario) {
      STALLCAST_RETURN_IF_ERROR(set_key(scenario, item.key, item.value));
    }
    auto answer = predictor.value().predict(scenario);
    if (!answer) return answer.error();
    points[i] = std::move(answer).value();
  }
  return {};
}

/// On all cores that we may use: a predictor answers the same whoever asks it what before.
Status answer_points(const Profile& profile, std::vector<Prediction>& points) {
  const std::size_t parts = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, k_most_grid_threads);
  std::vector<std::future<Status>> others;
  for (std::size_t part = 1; part < parts; ++part) {
    others.push_back(std::async(std::launch::async, [&, part] { return answer_part(profile, part, parts, points); }));
  }
  Status all = answer_part(profile, 0, parts, points);
  for (std::future<Status>& other : others) {
    Status status = other.get();
    if (all.ok()) all = std::move(status);
  }
  return all;
}

}  // namespace

Result<PredictionGrid> unanswered_grid(const Profile& profile, int more_workers) {
  const auto job = job_model(profile);
  if (!job) return job.error();
  auto predictor = Predictor::make(profile);
  if (!predictor) return predictor.error();
  PredictionGrid grid;
  add_axes(job.value(), predictor.value(), more_workers, grid);
  STALLCAST_RETURN_IF_ERROR(index_points(grid));
  return grid;
}

Result<PredictionGrid> prediction_grid(const Profile& profile, int more_workers) {
  auto grid = unanswered_grid(profile, more_workers);
  if (grid) STALLCAST_RETURN_IF_ERROR(answer_points(profile, grid.value().points));
  return grid;
}

}  // namespace stallcast
