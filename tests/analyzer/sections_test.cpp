#include "analyzer/steps/rank_view.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "analyzer/analyze.hpp"
#include "analyzer/blocks/timeline.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {}  // namespace

TEST_CASE("the share of the bytes that came from storage is found, and with it cold and cached") {
  for (const double share : {1.0, 0.5, 0.0}) {
    JobSpec spec = fetch_bound();
    spec.storage_share = share;
    const Profile profile = analyze_run(make_run(spec));
    REQUIRE(profile.resources.bytes_from_storage.has_value());
    CHECK(std::abs(*profile.resources.bytes_from_storage - share) < 0.02);
    REQUIRE(profile.premises.size() == 2);
    CHECK(profile.premises[0].phase == "cold");
    CHECK(profile.premises[0].holds == (share == 1.0));
    CHECK(profile.premises[1].phase == "cached");
    CHECK(profile.premises[1].holds == (share == 0.0));
    CHECK(profile.rates.cold.has_value() == (share == 1.0));
    CHECK(profile.stalls.fetch.has_value() == (share == 1.0));
    CHECK(profile.rates.supply_cold.has_value() == (share == 1.0));
  }
}

TEST_CASE("what was read before the first batch (imports, a checkpoint) is no reading of samples") {
  JobSpec spec = prep_bound();
  spec.storage_share = 0.0;
  spec.startup_s = 3.0;
  RunData run = make_run(spec);
  for (std::size_t i = 1; i < run.log.ticks.size(); ++i) run.log.ticks[i].tree_read_bytes += 5'000'000'000;
  const Profile profile = analyze_run(run);
  REQUIRE(profile.resources.bytes_from_storage.has_value());
  CHECK(*profile.resources.bytes_from_storage == 0.0);
  CHECK(profile.resources.storage_bandwidth->value() == 0.0);
}

TEST_CASE("a run as found that read everything from storage is the cold run") {
  const Profile profile = analyze_run(make_run(fetch_bound()));
  CHECK(profile.rates.cold->mean == profile.rates.as_is->mean);
  CHECK(profile.stalls.fetch->mean == profile.stalls.as_is_fetch->mean);
  CHECK(profile.stalls.prep->mean == profile.stalls.as_is_prep->mean);
}

TEST_CASE("without /proc/PID/io nothing is claimed about the cache") {
  RunData run = make_run(fetch_bound());
  for (Tick& tick : run.log.ticks) tick.tree_read_bytes = -1;
  const Profile profile = analyze_run(run);
  CHECK_FALSE(profile.resources.bytes_from_storage.has_value());
  CHECK(profile.premises.empty());
  CHECK_FALSE(profile.rates.cold.has_value());
  CHECK(profile.rates.cold.reason().find("/proc/PID/io") != std::string::npos);
  CHECK(profile.stalls.as_is_fetch.has_value());
}

TEST_CASE("the costs of a sample are what was drawn") {
  JobSpec spec = fetch_bound();
  spec.host_s = 0.02;
  spec.other_s = 0.03;
  const Profile profile = analyze_run(make_run(spec));
  const Resources& resources = profile.resources;
  CHECK(near(resources.worker_cpu->mean.value() * 32, 0.16, 0.03));
  CHECK(near(resources.worker_wall->mean.value() * 32, 0.49, 0.03));
  const double resident = 128 * k_resident_s_per_call + 3.2e6 * k_resident_s_per_byte;
  CHECK(near(resources.read->mean.value() * 32, 0.3 + resident, 0.03));
  CHECK(near(resources.read_from_memory->mean.value() * 32, resident, 0.01));
  CHECK(near(resources.consumer_cpu->mean.value() * 32, 0.02, 0.03));
  CHECK(near(resources.tree_cpu->mean.value() * 32, 0.18, 0.03));
  CHECK(near(resources.compute->mean.value(), 0.12, 0.03));
  CHECK(near(resources.step->mean.value(), resources.compute->mean.value() + resources.wait->mean.value(), 1e-6));
  CHECK(resources.worker_memory->value() == 350e6);
  CHECK(resources.anonymous_memory->value() == 2.3e9);
  CHECK(resources.page_cache_available->value() == doctest::Approx(61.7e9));
  CHECK(near(resources.storage_bandwidth->value(), profile.rates.as_is->mean.value() * k_bytes_per_sample, 0.05));
}

TEST_CASE("workers that wait for cores show it") {
  JobSpec spec = prep_bound();
  spec.loader.workers = 4;
  spec.cores = 2.0;
  const Profile profile = analyze_run(make_run(spec));
  CHECK(profile.resources.worker_run_delay->mean.value() * 32 > 0.3);  // 4 workers on 2 cores, 0.5 s each
  spec.run_delay_known = false;
  const Profile unknown = analyze_run(make_run(spec));
  CHECK_FALSE(unknown.resources.worker_run_delay.has_value());
  CHECK(unknown.resources.worker_run_delay.reason().find("schedstat") != std::string::npos);
}

TEST_CASE("a step of several batches is as long as these") {
  JobSpec spec = compute_bound();
  spec.accumulate = 4;
  const Profile profile = analyze_run(make_run(spec));
  CHECK(*profile.job.batches_per_step == 4);
  CHECK(near(profile.resources.step->mean.value(), 0.4, 0.03));
  spec.accumulate = 0;
  const Profile none = analyze_run(make_run(spec));
  CHECK_FALSE(none.job.batches_per_step.has_value());
  CHECK(near(none.resources.step->mean.value(), 0.1, 0.03));
}

TEST_CASE("distributions are of the training loader's samples as found: no evaluation, no phase") {
  JobSpec spec = fetch_bound();
  spec.samples = true;
  spec.batches = 40;
  RunData run = make_run(spec);
  record::ProcessRecording evaluation = run.processes.back();
  evaluation.info.pid += 1000;
  run.processes.push_back(evaluation);
  CHECK(analyze_run(run).resources.distributions.at("sample_read_s").n == 40 * 32);
  CHECK(near(analyze_run(run).dataset.bytes_per_sample->value(), 100e3, 1e-6));
  const Pass& pass = run.consumers.front().passes.front();
  const std::uint64_t phases_ns = run.consumers.front().phases_begin_ns = pass.deliveries[25].made.begin_ns;
  const auto before = std::count_if(pass.deliveries.begin(), pass.deliveries.end(),
                                    [&](const Delivery& each) { return each.made.begin_ns < phases_ns; });
  CHECK(before > 20);
  CHECK(before < 30);
  CHECK(analyze_run(run).resources.distributions.at("sample_read_s").n == before * 32);
}

TEST_CASE("the data set is what the samples read") {
  JobSpec spec = fetch_bound();
  spec.samples = true;
  spec.batches = 40;
  const Profile profile = analyze_run(make_run(spec));
  const Dataset& dataset = profile.dataset;
  CHECK(*dataset.files_seen == 40 * 32);
  CHECK(near(dataset.bytes_per_sample->value(), 100e3, 1e-6));
  CHECK(near(dataset.bytes_seen->value(), 40 * 32 * 100e3, 1e-6));
  CHECK(near(dataset.bytes_total->value(), 40 * 32 * 100e3, 1e-6));
  CHECK(dataset.file_size_bytes->n == 40 * 32);
  CHECK(dataset.layout == "files");
  CHECK(dataset.example_path.find("/data/") == 0);
  CHECK(dataset.folder.empty());  // a folder in the root may hold anything
  CHECK(profile.resources.distributions.at("sample_read_s").n == 40 * 32);
}

TEST_CASE("the folder of a data set holds nearly all of its files") {
  JobSpec spec = fetch_bound();
  spec.samples = true;
  spec.batches = 20;
  RunData run = make_recordings(spec);
  std::size_t number = 0;
  for (auto& process : run.processes) {
    for (auto& path : process.paths) {
      path.path = "/mnt/disk/images" + std::string(number % 2 == 0 ? "/train/" : "/more/") + std::to_string(number);
      if (++number % 40 == 0) path.path = "/opt/python/lib/module.py";
    }
  }
  join_run(run);
  CHECK(analyze_run(run).dataset.folder == "/mnt/disk/images");
  for (auto& process : run.processes) {
    for (auto& path : process.paths) {
      if (path.path.starts_with("/mnt/disk/")) path.path = path.path.substr(10);
    }
  }
  CHECK(analyze_run(run).dataset.folder.empty());  // a handful of whole names do not speak for the rest
}

TEST_CASE("files on disks that the kernel did not limit are told, as far as the kernel was to limit any") {
  JobSpec spec = fetch_bound();
  spec.samples = true;
  spec.batches = 20;
  RunData run = make_run(spec);
  CHECK(issue_of(analyze_run(run), "emulation-disk-not-limited") == nullptr);
  run.log.emulation.with = "kernel";
  CHECK_FALSE(analyze_run(run).emulation.limited_files.has_value());
  run.log.limited_devices = {7, 9};
  CHECK(analyze_run(run).emulation.limited_files.value_or(0.0) == 1.0);
  std::size_t number = 0;
  for (auto& process : run.processes) {
    for (auto& path : process.paths) path.device = ++number % 4 == 0 ? 40 : 7;
  }
  run.log.filesystems = {{7, "ext4"}, {40, "nfs4"}};
  const Profile profile = analyze_run(run);
  CHECK(profile.emulation.limited_files.value_or(0.0) == doctest::Approx(0.75));
  const DataIssue* told = issue_of(profile, "emulation-disk-not-limited");
  REQUIRE(told != nullptr);
  CHECK(told->count == 20 * 32 / 4);
  CHECK(told->detail.find("160 on nfs4") != std::string::npos);
}

TEST_CASE("many epochs over few files are no shards") {
  JobSpec spec = fetch_bound();
  spec.samples = true;
  spec.batches = 20;
  spec.passes = 12;
  spec.persistent = true;
  const Profile profile = analyze_run(make_run(spec));
  CHECK(*profile.dataset.files_seen == 20 * 32);
  CHECK(profile.dataset.layout == "files");
}

TEST_CASE("many samples in few files are shards") {
  JobSpec spec = fetch_bound();
  spec.samples = true;
  spec.batches = 20;
  RunData run = make_recordings(spec);
  for (auto& process : run.processes) {
    for (auto& file : process.files) file.file_id = 1 + file.file_id / 100;
  }
  join_run(run);
  CHECK(analyze_run(run).dataset.layout == "shards");
}

TEST_CASE("without a read of a file the data set is absent with the reason") {
  const Profile profile = analyze_run(make_run(fetch_bound()));
  CHECK_FALSE(profile.dataset.files_seen.has_value());
  CHECK(profile.dataset.layout == "unknown");
  CHECK(profile.dataset.files_seen.reason().find("mapped") != std::string::npos);
}

TEST_CASE("the timeline keeps sums and extremes when it is thinned") {
  const RunData run = make_run(fetch_bound());
  const std::vector<sections::RankView> ranks{{&run.consumers[0], steady_window(run.consumers[0])}};
  const auto& steps = ranks[0].window.steps;
  double waited = 0.0;
  double longest = 0.0;
  for (const SteadyStep& step : steps) {
    waited += step.wait_s;
    longest = std::max(longest, step.wait_s);
  }
  for (const std::size_t rows : {2000UL, 50UL, 7UL, 1UL}) {
    const auto timeline = sections::timeline_of(ranks, rows);
    CHECK(timeline.size() <= rows);
    double sum = 0.0;
    double most = 0.0;
    std::int64_t count = 0;
    for (const TimelineRow& row : timeline) {
      CHECK(row.end_s > row.begin_s);
      sum += row.wait_s;
      most = std::max(most, row.longest_wait_s);
      count += row.steps;
    }
    CHECK(near(sum, waited, 1e-9));
    CHECK(most == longest);
    CHECK(count == static_cast<std::int64_t>(steps.size()));
  }
}

TEST_CASE("a job that becomes slower is said to drift, a steady one is not") {
  RunData run = make_recordings(compute_bound());
  CHECK(issue_of(analyze_run(make_run(compute_bound())), "drift") == nullptr);
  std::uint64_t later = 0;
  for (auto& wait : run.processes[0].waits) {
    later += wait.batch * 200'000;  // each step takes 0.2 ms more than the one before it: 0.1 s to 0.14 s
    wait.begin_ns += later;
    wait.end_ns += later;
  }
  join_run(run);
  const Profile profile = analyze_run(run);
  REQUIRE(issue_of(profile, "drift") != nullptr);
  CHECK(issue_of(profile, "drift")->detail.find("slower") != std::string::npos);
}

TEST_CASE("pauses at epoch boundaries are named, with the remedy") {
  JobSpec spec = compute_bound();
  spec.passes = 4;
  spec.batches = 60;
  spec.startup_s = 1.5;
  const Profile profile = analyze_run(make_run(spec));
  REQUIRE(issue_of(profile, "epoch-pauses") != nullptr);
  CHECK(issue_of(profile, "epoch-pauses")->hint.find("persistent_workers") != std::string::npos);
  spec.persistent = true;
  CHECK(issue_of(analyze_run(make_run(spec)), "epoch-pauses") == nullptr);
}

TEST_CASE("more worker threads than cores are named") {
  JobSpec spec = prep_bound();
  spec.loader.workers = 4;
  spec.cores = 1.0;
  CHECK(issue_of(analyze_run(make_run(spec)), "oversubscribed") != nullptr);
  spec.cores = 2.0;
  CHECK(issue_of(analyze_run(make_run(spec)), "oversubscribed") == nullptr);
}

TEST_CASE("cores that a quota takes away are named") {
  RunData run = make_run(prep_bound());
  run.log.host->usable_cpus = 2.0;
  run.log.host->usable_cpus_limited_by = "cgroup quota";
  const Profile profile = analyze_run(run);
  REQUIRE(issue_of(profile, "cores-limited") != nullptr);
  CHECK(issue_of(profile, "cores-limited")->detail.find("cgroup quota") != std::string::npos);
}
