#include "tests/model/made_profile.hpp"

#include <algorithm>
#include <cmath>

namespace stallcast::made {
namespace {

template <class Q>
Estimate<Q> within(double mean, double relative_half) {
  return {Q(mean), Q(mean * (1.0 - relative_half)), Q(mean * (1.0 + relative_half)), 300};
}

std::vector<double> draws(std::uint64_t seed, double cv, std::size_t n) {
  std::vector<double> values(n, 1.0);
  if (cv <= 0.0) return values;
  std::mt19937_64 random(seed);
  std::gamma_distribution<double> gamma(1.0 / (cv * cv), cv * cv);
  for (double& value : values) value = gamma(random);
  return values;
}

double uniform(std::mt19937_64& random, double low, double high) {
  return low + (high - low) * static_cast<double>(random() >> 11) / 9007199254740992.0;
}

double log_uniform(std::mt19937_64& random, double low, double high) {
  return std::exp(uniform(random, std::log(low), std::log(high)));
}

}  // namespace

Outcome play(const TrueJob& job, std::size_t batches) {
  const auto making = draws(job.seed, job.cv_make, batches);
  const auto stepping = draws(job.seed + 1, job.cv_step, batches);
  std::vector<simulation::BatchWork> work(batches);
  std::vector<simulation::StepWork> steps(batches);
  for (std::size_t i = 0; i < batches; ++i) {
    const double of_batch = making[i] * job.batch;
    work[i] = {of_batch * job.miss * job.disk_s, of_batch * job.cpu_s,
               of_batch * (job.other_s + job.miss * job.latency_s)};
    steps[i] = {stepping[i] * job.device_s, stepping[i] * job.step_cpu_s};
  }
  Outcome outcome;
  outcome.run = run_loader_shared({job.workers, job.prefetch, job.in_order},
                                  {job.cores, true, 1.0, 1.0, std::min(8, static_cast<int>(job.batch))}, work, steps);
  const std::size_t first = std::min<std::size_t>(100, batches / 4);
  const std::size_t last = batches - 1;
  const double count = static_cast<double>(last - first);
  const double step = (outcome.run.delivered_s[last] - outcome.run.delivered_s[first]) / count;
  for (std::size_t i = first + 1; i <= last; ++i) outcome.wait_s += outcome.run.wait_s[i] / count;
  outcome.compute_s = step - outcome.wait_s;
  outcome.rate = job.batch / step;
  return outcome;
}

Profile profile_of(const TrueJob& job) {
  const Outcome seen = play(job);
  const double batches = static_cast<double>(seen.run.wait_s.size());
  const double samples = batches * job.batch;
  Profile profile;
  profile.host.logical_cpus = profile.host.physical_cpus = static_cast<int>(std::ceil(job.cores));
  profile.host.usable_cpus = job.cores;
  profile.host.memory = Bytes(64e9);
  profile.host.shm_free = Bytes(32e9);
  profile.job.framework = "pytorch";
  profile.job.loader_kind = "map";
  profile.job.batch_size = static_cast<std::int64_t>(job.batch);
  profile.job.num_workers = job.workers;
  if (job.workers > 0) profile.job.prefetch_factor = job.prefetch;
  profile.job.in_order = job.in_order;
  profile.job.pin_memory = false;
  profile.job.persistent_workers = false;
  profile.job.shuffled = true;
  profile.job.dataset_samples = job.dataset_samples;
  profile.job.batches_per_step = 1;
  profile.job.ranks_seen = 1;
  profile.rates.as_is = within<SamplesPerSecond>(seen.rate, 0.005);
  Resources& out = profile.resources;
  out.step = within<Seconds>(job.batch / seen.rate, 0.005);
  out.compute = within<Seconds>(seen.compute_s, 0.005);
  out.wait = within<Seconds>(seen.wait_s, 0.02);
  const double reading = seen.run.reading_s / samples + job.miss * job.latency_s;
  const double computing = seen.run.computing_s / samples;
  out.worker_wall = within<SecondsPerSample>(reading + computing + job.other_s, 0.01);
  out.worker_cpu = within<SecondsPerSample>(job.cpu_s, 0.01);
  out.worker_run_delay = within<SecondsPerSample>(std::max(1e-9, computing - job.cpu_s), 0.05);
  constexpr double k_resident_read = 5e-5;
  out.read = within<SecondsPerSample>(reading + k_resident_read, 0.01);
  out.read_from_memory = within<SecondsPerSample>(k_resident_read, 0.01);
  if (job.workers > 0) out.handover = within<SecondsPerSample>(0.5 * job.other_s, 0.05);
  out.consumer_cpu = within<SecondsPerSample>(job.step_cpu_s / job.batch + (job.workers == 0 ? job.cpu_s : 0.0), 0.01);
  out.bytes_from_storage = job.miss;
  out.worker_memory = Bytes(400e6);
  out.anonymous_memory = Bytes(4e9);
  out.page_cache_available = Bytes(60e9);
  profile.dataset.bytes_per_sample = BytesPerSample(job.sample_bytes);
  profile.dataset.bytes_total = Bytes(job.sample_bytes * static_cast<double>(job.dataset_samples));
  const double making = job.batch * (reading + computing + job.other_s);
  for (const double value : draws(job.seed + 7, job.cv_make, 400))
    out.distributions["batch_make_s"].add(value * making);
  for (const double value : draws(job.seed + 8, job.cv_step, 400))
    out.distributions["compute_s"].add(value * seen.compute_s);
  return profile;
}

void add_differential(Profile& profile, const TrueJob& changed, const std::string& phase,
                      std::map<std::string, std::string> setting) {
  TrueJob job = changed;
  if (phase == "cold" || phase == "supply_cold") job.miss = 1.0;
  if (phase == "cached" || phase == "supply_cached") job.miss = 0.0;
  if (phase.rfind("supply", 0) == 0) job.device_s = job.step_cpu_s = 0.0;
  if (phase == "synthetic") job.cpu_s = job.other_s = job.disk_s = job.latency_s = 0.0;
  Point point;
  point.setting = std::move(setting);
  point.phase = phase;
  point.method = "differential";
  point.estimate = within<SamplesPerSecond>(play(job).rate, 0.01);
  profile.points.push_back(std::move(point));
}

TrueJob random_job(std::mt19937_64& random) {
  TrueJob job;
  job.workers = static_cast<int>(random() % 9);
  job.prefetch = 2 + static_cast<int>(random() % 3);
  job.cores = static_cast<double>(1 + random() % 12);
  job.batch = static_cast<double>(1U << (3 + random() % 5));
  job.device_s = log_uniform(random, 0.01, 0.4);
  job.step_cpu_s = log_uniform(random, 0.0005, 0.02);
  const double scale = std::max(1, job.workers) / job.batch;  // around the knee, to both sides
  job.cpu_s = scale * job.device_s * log_uniform(random, 0.1, 3.0);
  job.other_s = 0.05 * job.cpu_s;
  if (random() % 3 != 0) {
    job.miss = uniform(random, 0.2, 1.0);
    if (random() % 2 == 0) job.disk_s = job.device_s / job.batch * log_uniform(random, 0.1, 3.0);
    if (random() % 2 == 0 || job.disk_s == 0.0) job.latency_s = scale * job.device_s * log_uniform(random, 0.1, 2.0);
  }
  job.cv_make = uniform(random, 0.03, 0.4);
  job.cv_step = uniform(random, 0.0, 0.1);
  job.seed = random();
  return job;
}

}  // namespace stallcast::made
