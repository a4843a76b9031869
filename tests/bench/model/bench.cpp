/// How fast the model answers, on one core: analytic scenarios, batches through the recursion, a sweep with intervals.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "model/predict/calibrate.hpp"
#include "model/predict/predict.hpp"
#include "simulation/loader.hpp"
#include "tests/model/made_profile.hpp"

namespace {

using namespace stallcast;

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

double peak_memory_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

/// A job in which everything is shared: the analytic form needs its iterations.
made::TrueJob busy_job() {
  made::TrueJob job;
  job.workers = 4;
  job.cores = 4.0;
  job.cpu_s = 0.01;
  job.step_cpu_s = 0.03;
  job.disk_s = 0.003;
  job.miss = 0.8;
  return job;
}

void print_rate(const char* what, double per_second, double wanted) {
  std::printf("%-58s %12.0f  (wanted: at least %.0f)\n", what, per_second, wanted);
}

void analytic(const JobModel& job) {
  StallCurves curves;
  std::vector<Setting> settings;
  for (int workers = 1; workers <= 8; ++workers) {
    for (int step = 0; step < 50; ++step) {
      Setting setting = as_found(job);
      setting.workers = workers;
      setting.miss = 0.02 * step;
      setting.cores = 1.0 + 0.1 * step;
      settings.push_back(setting);
    }
  }
  double sum = 0.0;
  for (const Setting& setting : settings) sum += evaluate(job, setting, Draw{}, curves).step_s;  // makes the curves
  constexpr int k_rounds = 500;
  const Stopwatch watch;
  for (int round = 0; round < k_rounds; ++round) {
    for (const Setting& setting : settings) sum += evaluate(job, setting, Draw{}, curves).step_s;
  }
  const double rate = k_rounds * static_cast<double>(settings.size()) / watch.seconds();
  print_rate("analytic scenarios a second (workers, cores, storage)", rate, 200e3);
  std::printf("%-58s %12.4g\n", "  checksum", sum);
}

void recursion() {
  constexpr std::size_t k_batches = 1'000'000;
  std::vector<simulation::BatchWork> work(k_batches);
  std::vector<simulation::StepWork> steps(k_batches, {1.0, 0.1});
  for (std::size_t i = 0; i < k_batches; ++i) {
    const double varied = 1.0 + 0.5 * static_cast<double>(i * 2654435761U % 1000) / 1000.0;
    work[i] = {.read_s = varied, .cpu_s = 2.0 * varied, .other_s = 0.1};
  }
  const simulation::LoaderSetup in_order{4, 2, true};
  Stopwatch watch;
  double sum = simulation::run_loader(in_order, work, steps).end_s;
  print_rate("batches a second, in order, nothing shared", k_batches / watch.seconds(), 5e6);
  watch = {};
  sum += simulation::run_loader({4, 2, false}, work, steps).end_s;
  print_rate("batches a second, as they come, nothing shared", k_batches / watch.seconds(), 5e6);
  watch = {};
  sum += simulation::run_loader_shared(in_order, {4.0, true, 1.0}, work, steps).end_s;
  print_rate("batches a second, cores and disk shared", k_batches / watch.seconds(), 300e3);
  std::printf("%-58s %12.4g\n", "  checksum", sum);
}

std::string values(const char* key, int count, double first, double step, const char* unit) {
  std::string text = std::string(key) + "=";
  for (int i = 0; i < count; ++i) {
    char number[48];
    std::snprintf(number, sizeof number, "%s%g%s", i == 0 ? "" : ",", first + step * i, unit);
    text += number;
  }
  return text;
}

void sweep(const Profile& profile) {
  const std::vector<std::string> sweeps{values("workers", 10, 1, 1, ""), values("cpus", 10, 1, 1, ""),
                                        values("cache", 10, 0, 11, "%"), values("gpu_speedup", 10, 0.5, 0.25, "")};
  const double before = peak_memory_mib();
  const Stopwatch watch;
  const auto grid = parse_grid({}, sweeps);
  if (!grid) return;
  const auto answers = predict_all(profile, grid.value());
  if (!answers) {
    std::printf("the sweep failed: %s\n", answers.error().what.c_str());
    return;
  }
  std::printf("%-58s %12.2f  (wanted: at most 3)\n", "seconds for a sweep of 10,000 points with intervals",
              watch.seconds());
  std::printf("%-58s %12.0f  (wanted: at most 200; %.0f before)\n", "peak memory of it, MiB", peak_memory_mib(),
              before);
  std::printf("%-58s %12zu\n", "  points", answers.value().size());
}

void single(const Profile& profile) {
  Stopwatch watch;
  auto predictor = Predictor::make(profile);
  if (!predictor) return;
  std::printf("%-58s %12.1f\n", "milliseconds to read and calibrate a profile", 1e3 * watch.seconds());
  Scenario scenario;
  if (!set_key(scenario, "workers", "6").ok()) return;
  (void)predictor.value().predict(scenario);  // the first one fits the recursion
  constexpr int k_times = 50;
  watch = {};
  for (int i = 0; i < k_times; ++i) (void)predictor.value().predict(scenario);
  std::printf("%-58s %12.1f\n", "milliseconds for a single answer by the recursion", 1e3 * watch.seconds() / k_times);
}

}  // namespace

int main() {
  const Profile profile = made::profile_of(busy_job());
  const auto job = job_model(profile);
  if (!job) return 1;
  analytic(job.value());
  recursion();
  single(profile);
  sweep(profile);
  return 0;
}
