/// Samples to shares: which of them count, what they are called, how far a share can be trusted.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "analyzer/analyze.hpp"
#include "analyzer/resources/cpu_names.hpp"
#include "analyzer/resources/cpu_shares.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

const record::CpuSymbol k_jpeg{"libjpeg.so.62.3.0", ""};
const record::CpuSymbol k_copy{"libc.so.6", "memmove"};
const record::CpuSymbol k_python{"python3.11", "_PyEval_EvalFrameDefault"};

const CpuFunctions* named(const std::vector<CpuFunctions>& works, const std::string& name) {
  for (const CpuFunctions& work : works) {
    if (work.name == name) return &work;
  }
  return nullptr;
}

/// A run in which every maker is sampled `per_batch` times while it makes a batch, three of four in libjpeg, and as
/// often before its first batch, in Python.
RunData sampled_run(const JobSpec& spec, int per_batch) {
  RunData run = make_run(spec);
  record::CpuRecording cpu;
  cpu.run_id = run.log.run_id;
  cpu.hz = 97.0;
  cpu.kernel = true;
  cpu.symbols = {k_jpeg, k_copy, k_python};
  for (const record::ProcessRecording& process : run.processes) {
    const auto pid = static_cast<std::int32_t>(process.info.pid);
    for (const record::BatchRecord& batch : process.batches) {
      const std::uint64_t length = std::max(batch.end_ns, batch.put_ns) - batch.begin_ns;
      for (int i = 0; i < per_batch; ++i) {
        const std::uint64_t inside = length * static_cast<std::uint64_t>(i) / static_cast<std::uint64_t>(per_batch);
        cpu.samples.push_back({batch.begin_ns + inside, pid, pid, i % 4 == 3 ? 1U : 0U});
        cpu.samples.push_back({k_start_ns / 2 + cpu.samples.size(), pid, pid, 2U});
      }
    }
  }
  std::sort(cpu.samples.begin(), cpu.samples.end(), [](const auto& a, const auto& b) { return a.t_ns < b.t_ns; });
  run.cpu = std::move(cpu);
  return run;
}

}  // namespace

TEST_CASE("work has the name that people give it") {
  CHECK(cpu_work_name("libjpeg.so.62.3.0", "") == "JPEG decode");
  CHECK(cpu_work_name("libjpeg-45e70d75.so.62.4.0", "jpeg_idct_islow") == "JPEG decode");
  CHECK(cpu_work_name("_imaging.cpython-311-x86_64-linux-gnu.so", "ImagingResampleHorizontal_8bpc") == "image resize");
  CHECK(cpu_work_name("_imaging.cpython-311-x86_64-linux-gnu.so", "") == "image operations (Pillow)");
  CHECK(cpu_work_name("libc.so.6", "memmove") == "memory copy");
  CHECK(cpu_work_name("libc.so.6", "qsort") == "C library");
  CHECK(cpu_work_name("libtorch_cpu.so", "at::native::(anonymous)::copy_kernel") == "tensor copy (torch)");
  CHECK(cpu_work_name("[kernel]", "clear_page_erms") == "kernel (page faults, reads)");
  CHECK(cpu_work_name("python3.11", "") == "Python interpreter");
  CHECK(cpu_work_name("libmylab-2.1.so.4", "f") == "libmylab");
  CHECK(cpu_work_name("_mine.cpython-311-x86_64-linux-gnu.so", "f") == "_mine");
  CHECK(cpu_work_name("", "") == "unknown");
}

TEST_CASE("the worked example: independent samples, and samples that come in clusters") {
  // 40 batches of 5 samples; 3 of 5 hits in each: no batch differs from another.
  const std::vector<CpuCluster> even(40, {3.0, 5.0});
  const auto independent = share_of_samples(even);
  CHECK(near(independent.mean, 0.60, 1e-9));
  CHECK(near(independent.ci95_low, 0.531, 0.01));
  CHECK(near(independent.ci95_high, 0.665, 0.01));
  CHECK(independent.n == 200);
  // The same 60 %, but whole batches of the one kind or the other: five times the variance.
  std::vector<CpuCluster> lumps(24, {5.0, 5.0});
  lumps.resize(40, {0.0, 5.0});
  const auto clustered = share_of_samples(lumps);
  CHECK(near(clustered.mean, 0.60, 1e-9));
  const double wider = (clustered.ci95_high - clustered.ci95_low) / (independent.ci95_high - independent.ci95_low);
  CHECK(wider > 1.8);
  CHECK(wider < 2.5);
}

TEST_CASE("the interval holds the truth as often as it says, in clusters or not") {
  std::mt19937 random(7);
  int held = 0;
  constexpr int k_runs = 400;
  for (int run = 0; run < k_runs; ++run) {
    std::vector<CpuCluster> clusters;
    for (int i = 0; i < 60; ++i) {
      // Each batch has a share of its own, around 30 %.
      const double share = std::uniform_real_distribution<double>(0.0, 0.6)(random);
      const int samples = std::uniform_int_distribution<int>(3, 17)(random);
      clusters.push_back(
          {static_cast<double>(std::binomial_distribution<int>(samples, share)(random)), static_cast<double>(samples)});
    }
    const auto estimate = share_of_samples(clusters);
    if (estimate.ci95_low <= 0.3 && 0.3 <= estimate.ci95_high) ++held;
  }
  CHECK(held >= 0.92 * k_runs);
  CHECK(held <= 0.99 * k_runs);
}

TEST_CASE("shares at the ends stay within 0 and 1") {
  const std::vector<CpuCluster> none{{0.0, 10.0}, {0.0, 20.0}};
  CHECK(share_of_samples(none).ci95_low == 0.0);
  CHECK(share_of_samples(none).ci95_high > 0.05);
  const std::vector<CpuCluster> all{{10.0, 10.0}, {20.0, 20.0}};
  CHECK(share_of_samples(all).ci95_high == 1.0);
  CHECK(share_of_samples(all).ci95_low < 0.95);
}

TEST_CASE("rows add up to 1, the small ones as other") {
  CpuTally tally;
  for (std::uint64_t i = 0; i < 1000; ++i) tally.add(i / 10, i % 10 < 7 ? k_jpeg : k_copy);
  for (int library = 0; library < 4; ++library) tally.add(1, {"lib" + std::to_string(library) + ".so", "f"});
  const auto rows = tally.functions();
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].name == "JPEG decode");
  CHECK(rows[0].library == "libjpeg.so.62.3.0");
  CHECK(rows[0].function.empty());
  CHECK(rows[1].function == "memmove");
  CHECK(rows[2].name == "other");
  double sum = 0.0;
  for (const CpuFunctions& row : rows) sum += row.share->mean;
  CHECK(near(sum, 1.0, 1e-9));
}

TEST_CASE("only samples taken while a batch was made count for the workers") {
  const Profile profile = analyze_run(sampled_run(prep_bound(), 4));
  CHECK(profile.cpu.source == "perf_event_open");
  REQUIRE(profile.cpu.worker_samples.has_value());
  const CpuFunctions* jpeg = named(profile.cpu.workers, "JPEG decode");
  REQUIRE(jpeg != nullptr);
  CHECK(near(jpeg->share->mean, 0.75, 0.02));
  CHECK(jpeg->share->n == *profile.cpu.worker_samples);
  CHECK(named(profile.cpu.workers, "Python interpreter") == nullptr);
  CHECK(near(named(profile.cpu.workers, "memory copy")->share->mean, 0.25, 0.02));
  CHECK_FALSE(profile.cpu.processes.empty());
  CHECK(profile.cpu.processes[0].role == "worker");
}

TEST_CASE("too few samples, a refusal, and a run without the probe") {
  RunData few = sampled_run(prep_bound(), 1);
  few.cpu->samples.resize(20);
  const Profile scarce = analyze_run(few);
  CHECK_FALSE(scarce.cpu.worker_samples.has_value());
  CHECK(scarce.cpu.worker_samples.reason().find("samples of the making of batches") != std::string::npos);
  CHECK(scarce.cpu.workers.empty());

  RunData refused = make_run(prep_bound());
  refused.cpu = record::CpuRecording{};
  refused.cpu->absent = "the kernel refused perf_event_open";
  const Profile without = analyze_run(refused);
  CHECK(without.cpu.worker_samples.reason() == "the kernel refused perf_event_open");
  CHECK(without.cpu.main_samples.reason() == "the kernel refused perf_event_open");

  CHECK(analyze_run(make_run(prep_bound())).cpu.source.empty());
}

TEST_CASE("counters over the time in which batches were taken, scaled where they took turns") {
  RunData run = sampled_run(prep_bound(), 1);
  record::CpuRecording& cpu = *run.cpu;
  cpu.counters = {{"task_clock_ns", ""}, {"cycles", ""}, {"llc_misses", "no such counter"}, {"instructions", ""}};
  const auto& deliveries = run.consumers.at(0).passes.at(0).deliveries;
  const std::uint64_t begin = deliveries.front().wait.end_ns;
  const std::uint64_t end = deliveries.back().wait.end_ns;
  // Before the first batch much is counted that is start-up.
  cpu.readings.push_back({begin - 1, {{1'000'000'000'000, 1, 1}, {1'000'000'000'000, 1, 1}, {}, {}}});
  cpu.readings.push_back({begin + 1, {{2'000'000'000'000, 100, 100}, {2'000'000, 100, 50}, {}, {5, 100, 7}}});
  cpu.readings.push_back({end - 1, {{2'003'000'000'000, 300, 300}, {2'000'600, 300, 150}, {}, {5, 300, 7}}});
  const Profile profile = analyze_run(run);
  REQUIRE(profile.cpu.counters.task_clock.has_value());
  CHECK(near(profile.cpu.counters.task_clock->value(), 3.0, 1e-9));
  CHECK(near(profile.cpu.counters.span->value(), static_cast<double>(end - begin - 2) * 1e-9, 1e-9));
  CHECK(profile.cpu.counters.cycles.value_or(0) == 1200);
  CHECK(near(profile.cpu.counters.hardware_running.value_or(0.0), 0.5, 1e-9));
  CHECK(profile.cpu.counters.llc_misses.reason() == "no such counter");
  CHECK(profile.cpu.counters.instructions.reason() == "the hardware had no room for this counter");
  CHECK(profile.cpu.counters.migrations.reason() == "not counted in this run");
}
