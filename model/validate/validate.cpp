#include "model/validate/validate.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/analytic/cache.hpp"
#include "model/analytic/closed_form.hpp"
#include "model/predict/predict.hpp"
#include "model/validate/remedies.hpp"
#include "model/validate/scaling.hpp"

namespace stallcast {
namespace {

constexpr const char* k_ds_analyzer = "Mohan et al., Analyzing and Mitigating Data Stalls in DNN Training, VLDB 2021";
constexpr const char* k_replication = "replication of DS-Analyzer with public logs, 8 GPUs emulated, 87,473 files";
constexpr const char* k_linux = "page cache measured on Linux 6.18, 1.5 GB of 100 KB files in a memory cgroup";
constexpr const char* k_in_order = "simulation of in-order delivery";
constexpr const char* k_control = "negative control";

/// Total seconds with `workers` workers, one of whom alone would take `alone_s`, beside a step of `step_s` in total.
/// Variability was not published, so none is assumed.
double total_s(int workers, double alone_s, double step_s) {
  StallCurves curves;
  ServiceDemands in;
  in.workers = workers;
  in.cores = 1e6;
  in.device_s = step_s;
  in.cpu_s = alone_s;
  return evaluate(in, curves).step_s;
}

void add_caches(std::vector<LedgerRow>& rows) {
  const auto x = [](double share) { return std::vector<std::pair<std::string, double>>{{"cached_frac", share}}; };
  rows.push_back({k_ds_analyzer, "ShuffleNet on OpenImages, MinIO cache", RowKind::identity, x(0.65),
                  "share of samples missed", 0.35, 1.0 - hit_minio(0.65)});
  rows.push_back({k_ds_analyzer, "ImageNet of 146 GiB, page cache", RowKind::predicted, x(0.35),
                  "share of bytes fetched from storage", 0.85, 1.0 - hit_page_cache(0.35).mean});
  const double share = 75.0 / 146.0;
  const double hits = 0.5 * (hit_lru_shards(share, 2) + hit_random_shards(share, 2));
  rows.push_back({k_ds_analyzer,
                  "ResNet50, 2 servers with 75 GiB of page cache each, 146 GiB",
                  RowKind::predicted,
                  {{"cached_frac", share}, {"nodes", 2.0}, {"read_gib", 73.0}},
                  "GiB fetched per server and epoch",
                  45.0,
                  73.0 * (1.0 - hits)});
  constexpr std::array<std::pair<double, double>, 5> k_measured{
      {{0.25, 0.071}, {0.5, 0.215}, {0.65, 0.363}, {0.8, 0.591}, {0.9, 0.755}}};
  for (const auto& [cached, hit] : k_measured) {
    rows.push_back({k_linux, "a fresh permutation every epoch", RowKind::fitted, x(cached), "hit ratio", hit,
                    hit_page_cache(cached).mean});
  }
}

void add_worker_sweep(std::vector<LedgerRow>& rows) {
  constexpr double k_alexnet_step = 179.7;
  constexpr double k_resnet_step = 1130.6;
  constexpr double k_alone = 655.5;  // AlexNet with one worker: the loader of both networks
  constexpr std::array<int, 6> k_workers{1, 2, 3, 6, 12, 24};
  constexpr std::array<double, 6> k_alexnet{655.5, 332.2, 228.8, 182.9, 183.2, 184.2};
  constexpr std::array<double, 6> k_resnet{1132.9, 1133.1, 1132.7, 1133.7, 1133.9, 1133.8};
  const auto row = [&](const char* network, int workers, double step, double published) {
    const RowKind kind = step == k_alexnet_step && workers == 1 ? RowKind::fitted : RowKind::predicted;
    rows.push_back({k_replication,
                    std::string(network) + ", all cached",
                    kind,
                    {{"workers", workers}, {"one_worker_s", k_alone}, {"step_and_copy_s", step}},
                    "total seconds",
                    published,
                    total_s(workers, k_alone, step)});
  };
  for (std::size_t i = 0; i < k_workers.size(); ++i) row("AlexNet", k_workers[i], k_alexnet_step, k_alexnet[i]);
  for (std::size_t i = 0; i < k_workers.size(); ++i) row("ResNet50", k_workers[i], k_resnet_step, k_resnet[i]);
}

/// Both ends of the sweep give what preparing and reading a sample cost; the middle follows.
void add_cached_sweep(std::vector<LedgerRow>& rows) {
  constexpr double k_files = 87'473.0;
  constexpr int k_workers = 8;
  struct Measured {
    double cached;
    double step_and_copy_s;
    double total_s;
  };
  constexpr std::array<Measured, 3> k_published{{{0.40, 35.4, 62.9}, {0.768, 35.2, 58.5}, {1.0, 35.4, 55.1}}};
  const double prep = k_workers * k_published[2].total_s / k_files;
  const double read =
      k_workers * (k_published[0].total_s - k_published[2].total_s) / k_files / (1.0 - k_published[0].cached);
  for (const Measured& one : k_published) {
    const double alone = k_files * (prep + (1.0 - one.cached) * read);
    rows.push_back({k_replication,
                    "ResNet18, MinIO cache, SSD",
                    one.cached == 0.768 ? RowKind::predicted : RowKind::fitted,
                    {{"cached_frac", one.cached}, {"workers", k_workers}, {"prep_s", prep}, {"read_s", read}},
                    "total seconds",
                    one.total_s,
                    total_s(k_workers, alone, one.step_and_copy_s)});
  }
}

void add_in_order(std::vector<LedgerRow>& rows) {
  struct Check {
    int prefetch;
    double load;
    double cv;
    double stall;
  };
  constexpr std::array<Check, 3> k_checks{{{2, 1.0, 0.3, 0.105}, {4, 1.0, 0.3, 0.043}, {2, 1.0 / 1.1, 1.0, 0.61}}};
  StallCurves curves;
  for (const Check& check : k_checks) {
    const double relative = curves.find({8, check.prefetch, true, check.cv, 0.0}).relative_step(check.load);
    rows.push_back({k_in_order,
                    "8 workers",
                    RowKind::identity,
                    {{"prefetch", check.prefetch}, {"load", check.load}, {"cv", check.cv}},
                    "step over the step's own time",
                    1.0 + check.stall,
                    relative});
  }
}

/// A job of 2 workers whose samples cost 3 ms of reading and 5 ms of CPU, beside a step of `compute_s` for 32.
Profile control_profile(double compute_s) {
  const auto exactly = [](auto value) { return Estimate<decltype(value)>{value, value, value, 100}; };
  constexpr double k_batch = 32.0;
  const double making = k_batch * 0.008 / 2.0;
  const double step = std::max(compute_s, making);
  Profile profile;
  profile.host.usable_cpus = 4.0;
  profile.job.batch_size = static_cast<std::int64_t>(k_batch);
  profile.job.num_workers = 2;
  profile.job.prefetch_factor = 2;
  profile.job.ranks_seen = 1;
  profile.rates.as_is = exactly(SamplesPerSecond(k_batch / step));
  Resources& out = profile.resources;
  out.step = exactly(Seconds(step));
  out.compute = exactly(Seconds(compute_s));
  out.worker_wall = exactly(SecondsPerSample(0.008));
  out.worker_cpu = exactly(SecondsPerSample(0.005));
  out.worker_run_delay = exactly(SecondsPerSample(1e-9));
  out.read = exactly(SecondsPerSample(0.003));
  out.read_from_memory = exactly(SecondsPerSample(1e-9));
  out.consumer_cpu = exactly(SecondsPerSample(1e-5));
  out.bytes_from_storage = 1.0;
  return profile;
}

void add_controls(std::vector<LedgerRow>& rows) {
  const auto control = [&](const char* system, double compute_s, const char* key, const char* value) {
    auto predictor = Predictor::make(control_profile(compute_s));
    Scenario scenario;
    if (!predictor || !set_key(scenario, key, value).ok()) return;
    const auto gain = predictor.value().gain(scenario, {});
    if (!gain) return;
    rows.push_back({k_control,
                    system,
                    RowKind::identity,
                    {{"step_s", compute_s}},
                    std::string("rate over rate before, ") + key + "=" + value,
                    1.0,
                    1.0 + gain.value().mean,
                    true});
  };
  control("a compute-bound job gains nothing from a cache", 0.4, "cache", "100%");
  control("a compute-bound job gains nothing from cores", 0.4, "cpus", "16");
  control("a compute-bound job gains nothing from workers", 0.4, "workers", "8");
  control("a starved loader gains nothing from a bigger batch", 0.02, "batch", "64");
  control("a starved loader gains nothing from a faster accelerator", 0.02, "gpu_speedup", "4");
}

}  // namespace

const char* row_kind_name(RowKind kind) {
  switch (kind) {
    case RowKind::identity:
      return "identity";
    case RowKind::fitted:
      return "fitted";
    case RowKind::predicted:
      return "predicted";
  }
  return "predicted";
}

std::vector<LedgerRow> replay_ledger() {
  std::vector<LedgerRow> rows;
  add_caches(rows);
  add_worker_sweep(rows);
  add_cached_sweep(rows);
  add_in_order(rows);
  add_scaling_rows(rows);
  add_remedy_rows(rows);
  add_controls(rows);
  return rows;
}

double LedgerRow::err_beyond_reading_frac() const {
  const double nearest =
      std::clamp(predicted, published * (1.0 - published_err_frac), published * (1.0 + published_err_frac));
  return predicted / nearest - 1.0;
}

LedgerSummary summarize(const std::vector<LedgerRow>& rows) {
  LedgerSummary summary;
  std::vector<double> errors;
  for (const LedgerRow& row : rows) {
    ++summary.rows;
    if (row.control && std::abs(row.err_frac()) > 0.01) summary.controls_hold = false;
    if (row.kind != RowKind::predicted) continue;
    errors.push_back(std::abs(row.err_frac()));
    if (errors.back() <= k_ledger_tolerance_frac) ++summary.within_tolerance;
    if (std::abs(row.err_beyond_reading_frac()) <= k_ledger_tolerance_frac) ++summary.within_tolerance_as_read;
  }
  summary.predicted_rows = static_cast<int>(errors.size());
  if (errors.empty()) return summary;
  std::sort(errors.begin(), errors.end());
  summary.median_err_frac = 0.5 * (errors[(errors.size() - 1) / 2] + errors[errors.size() / 2]);
  summary.worst_err_frac = errors.back();
  return summary;
}

std::vector<std::string> not_replayed() {
  return {
      "DALI's shuffle and sequential readers at 65 % cached: they do not read in a fresh permutation of samples",
      "record-file shards under the page cache: their order of reads is not modelled in this version",
      "eight jobs that share one cache: what they keep there for each other is not modelled in this version",
      "speed-ups of MinIO, partitioned cache and coordinated prep: the demands behind them were not published",
      "UCF-RGB with the regular loader: the file system's own ceiling falls as nodes are added, by a law that five "
      "rows "
      "do not show",
      "staging (Serizawa & Tatebe): reads 1.38 to 6.19 times as fast, trainings 1.26 to 1.74 times; the rates behind "
      "them were not published, and a training that gains between nothing and what its reads gain is no test",
      "DIESEL's 51 to 58 % less time in I/O: latency, bandwidth and sizes behind it were not published",
      "NoPFS' own policy (7.78 s and 16795.17 s): what it prefetches across epochs has no closed form here",
  };
}

}  // namespace stallcast
