#include "model/predict/curves.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "model/analytic/cache.hpp"
#include "model/job/job_model.hpp"
#include "model/predict/constants.hpp"
#include "model/predict/predict.hpp"

namespace stallcast {
namespace {

PredictionCurve without(const char* key, const std::string& reason) {
  PredictionCurve curve;
  curve.key = key;
  curve.absent = reason;
  return curve;
}

/// Answers to `settings` at x, added to `line`.
Status add_point(Predictor& predictor, double x, const std::vector<std::pair<std::string, std::string>>& settings,
                 CurveLine& line) {
  Scenario scenario;
  for (const auto& [key, value] : settings) STALLCAST_RETURN_IF_ERROR(set_key(scenario, key, value));
  auto answer = predictor.predict(scenario);
  if (!answer) return answer.error();
  line.x.push_back(x);
  line.y.push_back(std::move(answer).value());
  return {};
}

/// Dense where one worker more changes much, wide beyond; to twice what is found or recommended.
std::set<int> worker_counts(int found, int recommended) {
  const int last = std::min(k_most_curve_workers, std::max(4, 2 * std::max(found, recommended)));
  std::set<int> counts{last};
  for (int count = 1; count < last; count += std::max(1, count / 4)) counts.insert(count);
  for (const int count : {found, recommended}) {
    if (count > 0) counts.insert(count);
  }
  return counts;
}

PredictionCurve worker_curve(const JobModel& job, Predictor& predictor, int recommended) {
  PredictionCurve curve;
  curve.key = "workers";
  CurveLine line{"predicted", {}, {}};
  for (const int count : worker_counts(job.workers, recommended)) {
    std::vector<std::pair<std::string, std::string>> settings;
    if (count != job.workers) settings.emplace_back("workers", std::to_string(count));
    const Status done = add_point(predictor, count, settings, line);
    if (!done.ok()) return without("workers", done.error().what);
  }
  curve.lines.push_back(std::move(line));
  if (job.workers > 0) curve.found = job.workers;
  if (recommended > 0) curve.recommended = recommended;
  return curve;
}

PredictionCurve cache_curve(const JobModel& job, Predictor& predictor) {
  if (job.miss <= 0.0) return without("cache", "this run read everything from memory");
  PredictionCurve curve;
  curve.key = "cache";
  for (const auto& [policy, name] :
       {std::pair{"page-cache", "page cache of Linux"}, std::pair{"minio", "a cache that never evicts (MinIO)"}}) {
    CurveLine line{name, {}, {}};
    for (int step = 0; step <= k_cache_curve_steps; ++step) {
      const double share = static_cast<double>(step) / k_cache_curve_steps;
      const std::string percent = std::to_string(100 * step / k_cache_curve_steps) + "%";
      const Status done = add_point(predictor, share, {{"cache", percent}, {"cache_policy", policy}}, line);
      if (!done.ok()) return without("cache", done.error().what);
    }
    curve.lines.push_back(std::move(line));
  }
  return curve;
}

}  // namespace

std::vector<PredictionCurve> prediction_curves(const Profile& profile, int recommended_workers) {
  const auto job = job_model(profile);
  if (!job) return {without("workers", job.error().what), without("cache", job.error().what)};
  auto predictor = Predictor::make(profile);
  if (!predictor) return {without("workers", predictor.error().what), without("cache", predictor.error().what)};
  return {worker_curve(job.value(), predictor.value(), recommended_workers),
          cache_curve(job.value(), predictor.value())};
}

std::vector<PolicyHits> policy_hits(const Profile& profile) {
  const auto& room = profile.page_cache.room;
  if (!room || *room >= 1.0) return {};
  const double lru = hit_lru(*room);
  const double random = hit_random(*room);
  const HitBand linux_band = hit_page_cache(*room);
  return {{"LRU", lru, lru, lru},
          {"page cache of Linux", linux_band.low, linux_band.mean, linux_band.high},
          {"random replacement", random, random, random},
          {"a cache that never evicts (MinIO)", hit_minio(*room), hit_minio(*room), hit_minio(*room)}};
}

}  // namespace stallcast
