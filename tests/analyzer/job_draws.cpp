#include "tests/analyzer/job_draws.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace stallcast::synthetic {
namespace {

using nlohmann::json;

double steady_step(const simulation::LoaderRun& run, const simulation::LoaderSetup& setup) {
  const std::size_t in_flight = static_cast<std::size_t>(setup.workers * setup.prefetch_factor) + 2;
  const std::size_t first = std::max<std::size_t>(in_flight, 50);
  const std::size_t last = run.delivered_s.size() - 1 - in_flight;
  return (run.delivered_s[last] - run.delivered_s[first]) / static_cast<double>(last - first);
}

std::size_t calls_of(const JobSpec& spec) {
  return 4 * static_cast<std::size_t>(spec.batch_size);  // open, stat and two reads a sample
}

double resident_s(const JobSpec& spec) {
  return static_cast<double>(calls_of(spec)) * k_resident_s_per_call +
         k_bytes_per_sample * spec.batch_size * k_resident_s_per_byte;
}

}  // namespace

double log_normal(double mean, double cv, Random& random) {
  if (mean <= 0.0 || cv <= 0.0) return std::max(mean, 0.0);
  const double variance = std::log1p(cv * cv);
  return std::lognormal_distribution<double>(std::log(mean) - variance / 2.0, std::sqrt(variance))(random);
}

Draws draw(const JobSpec& spec, int batches, Random& random) {
  Draws draws;
  for (int i = 0; i < batches; ++i) {
    const double read = log_normal(spec.read_s, spec.read_cv, random);
    const double cpu = log_normal(spec.cpu_s, spec.cpu_cv, random);
    draws.work.push_back({read * spec.scale, (cpu + spec.read_cpu_s) * spec.scale, spec.other_s * spec.scale});
    const double device = log_normal(spec.device_s, spec.step_cv, random);
    const double host = log_normal(spec.host_s, spec.step_cv, random);
    draws.steps.push_back({device * spec.scale, host * spec.scale});
  }
  return draws;
}

bool is_recorded(const JobSpec& spec, double at_s) {
  return std::none_of(spec.off.begin(), spec.off.end(),
                      [&](const Off& off) { return at_s >= off.from_s && at_s < off.to_s; });
}

record::IoTotals io_of(const JobSpec& spec, const simulation::BatchWork& work) {
  record::IoTotals io{};
  const auto samples = static_cast<std::uint32_t>(spec.batch_size);
  const double meta = k_resident_s_per_call * 2.0 * spec.batch_size * spec.scale;
  io.read_ns = ns(work.read_s + (spec.read_cpu_s + resident_s(spec)) * spec.scale - meta);
  io.read_bytes = static_cast<std::uint64_t>(k_bytes_per_sample) * samples;
  io.meta_ns = ns(meta);
  io.reads = 2 * samples;
  io.opens = samples;
  io.stats = samples;
  return io;
}

void add_samples(const JobSpec& spec, const record::BatchRecord& batch, record::ProcessRecording& maker) {
  const auto size = static_cast<std::uint64_t>(spec.batch_size);
  const std::uint64_t each = (batch.end_ns - batch.begin_ns) / size;
  for (std::uint64_t i = 0; i < size; ++i) {
    const std::uint64_t index = batch.batch * size + i;
    record::SampleRecord sample{};
    sample.header.aux = static_cast<std::uint32_t>(batch.batch);
    sample.index = static_cast<std::int64_t>(index);
    sample.begin_ns = batch.begin_ns + i * each;
    sample.wall_ns = each;
    sample.read_ns = batch.io.read_ns / size;
    sample.meta_ns = batch.io.meta_ns / size;
    sample.read_bytes = batch.io.read_bytes / size;
    sample.reads = 2;
    sample.opens = 1;
    maker.samples.push_back(sample);
    maker.files.push_back({{0, 0, 2}, index + 1, sample.begin_ns, sample.read_ns, sample.read_bytes, sample.meta_ns});
    maker.paths.push_back({index + 1, sample.read_bytes, 7, "/data/" + std::to_string(index) + ".jpg"});
  }
}

std::string loader_text(const JobSpec& spec, int id, const char* dataset, int workers, bool shuffled) {
  json text{{"loader_id", id},
            {"kind", "map"},
            {"dataset_type", dataset},
            {"batch_size", spec.batch_size},
            {"num_workers", workers},
            {"prefetch_factor", nullptr},
            {"pin_memory", false},
            {"persistent_workers", spec.persistent},
            {"in_order", spec.loader.in_order},
            {"drop_last", true},
            {"shuffled", shuffled},
            {"dataset_samples", spec.batches * spec.batch_size}};
  if (workers > 0) text["prefetch_factor"] = spec.loader.prefetch_factor;
  return text.dump();
}

std::string iterator_text(std::uint64_t iterator, int loader, int epoch, const std::vector<std::int64_t>& worker_pids) {
  return json{{"iterator_id", iterator}, {"loader_id", loader}, {"epoch", epoch}, {"worker_pids", worker_pids}}.dump();
}

Truth truth_of(const JobSpec& spec, int batches) {
  Random random(spec.seed + 77'000'000);
  Draws draws = draw(spec, batches, random);
  const simulation::SharedMachine machine{spec.cores};
  Truth truth;
  truth.step_s = steady_step(run_loader_shared(spec.loader, machine, draws.work, draws.steps), spec.loader);
  for (auto& work : draws.work) {
    work.read_s = 0.0;
    work.cpu_s -= spec.read_cpu_s * spec.scale;
  }
  truth.cached_step_s = steady_step(run_loader_shared(spec.loader, machine, draws.work, draws.steps), spec.loader);
  for (const auto& step : draws.steps) truth.synthetic_step_s += (step.device_s + step.cpu_s) / batches;
  truth.cached_step_s = std::min(truth.cached_step_s, truth.step_s);
  truth.synthetic_step_s = std::min(truth.synthetic_step_s, truth.cached_step_s);
  return truth;
}

}  // namespace stallcast::synthetic
