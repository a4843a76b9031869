/// What of the files that samples read is the data set, how large it is, and which reading is not seen.
#include "analyzer/profile/dataset_bytes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/phased_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

JobSpec reading_samples() {
  JobSpec spec = fetch_bound();
  spec.samples = true;
  spec.batches = 40;
  return spec;
}

/// All samples read one file of that size.
RunData of_one_file(double bytes) {
  RunData run = make_recordings(reading_samples());
  for (record::ProcessRecording& process : run.processes) {
    for (record::FileRecord& file : process.files) file.file_id = 1;
    if (!process.paths.empty()) process.paths = {{1, static_cast<std::uint64_t>(bytes), 5, "/data/set/images.h5"}};
  }
  join_run(run);
  return run;
}

/// Batches are made without a read that is seen, while storage gives the makers `bytes` by each tick.
RunData reading_unseen(double bytes) {
  RunData run = make_run(fetch_bound());
  for (Consumer& consumer : run.consumers) {
    for (Pass& pass : consumer.passes) {
      for (Delivery& delivery : pass.deliveries) delivery.made.io = {};
    }
  }
  double given = 0.0;
  for (Tick& tick : run.log.ticks) {
    given += bytes;
    for (const record::ProcessRecording& process : run.processes) {
      if (process.batches.empty()) continue;
      tick.processes.push_back({.pid = process.info.pid, .read_bytes = static_cast<std::int64_t>(given)});
      tick.processes.push_back({.pid = 77, .parent_pid = process.info.pid, .name = "ffmpeg"});
    }
  }
  return run;
}

/// A sample of each batch, of 100 KB in a file of gigabytes; `stored` came from storage for each that was delivered.
RunData with_samples(RunData run, double stored) {
  run.log.ticks.clear();
  double delivered = 0.0;
  for (const Delivery& delivery : run.consumers.front().passes.front().deliveries) {
    delivered += delivery.wait.samples;
    Tick tick{.t_ns = delivery.wait.end_ns, .tree_read_bytes = static_cast<std::int64_t>(stored * delivered)};
    tick.ranks.push_back({.samples = static_cast<std::uint64_t>(delivered)});
    run.log.ticks.push_back(tick);
  }
  for (record::ProcessRecording& process : run.processes) {
    for (const record::BatchRecord& batch : process.batches) {
      record::SampleRecord sample{};
      sample.index = static_cast<std::int64_t>(batch.batch);
      sample.begin_ns = batch.begin_ns + 1;
      sample.read_bytes = 100'000;
      sample.period = 1;
      process.samples.push_back(sample);
    }
    if (process.batches.empty()) continue;
    process.files.push_back({{}, 1, process.batches.front().begin_ns, 1000, 100'000, 0});
    process.paths.push_back({1, 4'000'000'000, 5, "/data/set/images.zip"});
  }
  return run;
}

bool says_unseen(const Profile& profile) {
  return std::any_of(profile.issues.begin(), profile.issues.end(),
                     [](const DataIssue& issue) { return issue.id == "reads-unseen"; });
}

}  // namespace

TEST_CASE("what a sample reads of programs is not the data set") {
  RunData run = make_recordings(reading_samples());
  std::uint64_t id = 1'000'000;
  for (record::ProcessRecording& process : run.processes) {
    if (process.files.empty()) continue;
    for (const char* path : {"/usr/lib/ssl/openssl.cnf", "/home/me/env/PIL/JpegImagePlugin.cpython-311.pyc",
                             "/home/me/env/lib/libjpeg.so.62.3", "/etc/localtime",
                             "/home/me/env/lib/python3.11/site-packages/torch-2.14.1.dist-info/entry_points.txt"}) {
      record::FileRecord file = process.files.front();
      file.file_id = ++id;
      process.files.push_back(file);
      process.paths.push_back({id, 5000, 5, path});
    }
  }
  join_run(run);
  const Dataset dataset = analyze_run(run).dataset;
  CHECK(*dataset.files_seen == 40 * 32);
  CHECK(dataset.example_path.starts_with("/data/"));
}

TEST_CASE("source code can be data") {
  RunData run = make_recordings(reading_samples());
  for (record::ProcessRecording& process : run.processes) {
    for (record::PathEntry& path : process.paths) path.path += ".py";
  }
  join_run(run);
  CHECK(*analyze_run(run).dataset.files_seen == 40 * 32);
}

TEST_CASE("the folder is where the bytes are read, however few files that are") {
  RunData run = of_one_file(1e9);
  for (record::ProcessRecording& process : run.processes) {
    if (process.files.empty()) continue;
    for (std::uint64_t id = 10; id < 30; ++id) {
      record::FileRecord file = process.files.front();
      file.file_id = id;
      file.read_bytes = 10;
      process.files.push_back(file);
      process.paths.push_back({id, 10, 5, "/home/me/settings/" + std::to_string(id) + ".json"});
    }
  }
  const Dataset dataset = analyze_run(run).dataset;
  CHECK(dataset.folder == "/data/set");
  CHECK(dataset.example_path == "/data/set/images.h5");
}

TEST_CASE("a data set of which no file was missed is no larger than its files") {
  RunData run = of_one_file(8e7);  // 1,280 samples of 100 KB were read: the labels with each of them
  for (Consumer& consumer : run.consumers) {
    for (auto& [id, loader] : consumer.loaders) loader.shuffled = 0;
  }
  const auto total = [&run] { return analyze_run(run).dataset.bytes_total->value(); };
  CHECK(total() == doctest::Approx(1.28e8));
  for (Consumer& consumer : run.consumers) {
    for (auto& [id, loader] : consumer.loaders) loader.shuffled = 1;
  }
  CHECK(total() == doctest::Approx(8e7));
  const Profile profile = analyze_run(run);
  CHECK(distinct_bytes_per_sample(profile.dataset, profile.job.dataset_samples)->value() ==
        doctest::Approx(8e7 / 1280.0));
}

TEST_CASE("a sample of no bytes has no share of the data set") {
  Dataset dataset;
  dataset.bytes_per_sample = BytesPerSample(0.0);
  CHECK(distinct_bytes_per_sample(dataset, 1280).reason() == "no bytes were read");
}

TEST_CASE("bytes that a sample reads twice are counted once, and come from storage once") {
  JobSpec spec = reading_samples();
  spec.storage_share = 0.5;
  RunData run = make_recordings(spec);
  for (record::ProcessRecording& process : run.processes) {
    for (record::PathEntry& path : process.paths) path.size_bytes = 80'000;
  }
  join_run(run);
  const Profile profile = analyze_run(run);
  CHECK(profile.dataset.bytes_per_sample->value() == doctest::Approx(1e5));
  CHECK(profile.dataset.bytes_total->value() == doctest::Approx(1280 * 8e4));
  const double unread = *analyze_run(make_run(spec)).resources.bytes_from_storage;
  CHECK(unread == doctest::Approx(0.5).epsilon(0.1));
  CHECK(*profile.resources.bytes_from_storage == doctest::Approx(unread / 0.8));
}

TEST_CASE("what threads of its own read for a sample is told of its batch") {
  RunData run = make_recordings(reading_samples());
  for (record::ProcessRecording& process : run.processes) {
    for (record::SampleRecord& sample : process.samples) sample.read_bytes = 40;
  }
  join_run(run);
  CHECK(analyze_run(run).dataset.bytes_per_sample->value() == doctest::Approx(1e5));
}

TEST_CASE("what the kernel reads ahead of single reads is told from what samples need") {
  PhasedSpec spec;
  const auto factor = [&spec](double share) {
    spec.cold_storage_share = share;
    const Profile profile = analyze_run(with_samples(make_phased_run(spec), 8e4));
    REQUIRE(profile.dataset.stored_bytes_per_sample.has_value());
    CHECK(profile.dataset.stored_bytes_per_sample->value() == doctest::Approx(share * 1e5).epsilon(0.01));
    return std::pair{read_ahead_factor(profile.dataset, profile.job.dataset_samples).value_or(1.0),
                     *profile.resources.bytes_from_storage};
  };
  CHECK(factor(1.02).first == 1.0);
  const auto [more, found] = factor(4.0);
  CHECK(more == doctest::Approx(4e5 / 104'096.0).epsilon(0.02));
  CHECK(found == doctest::Approx(0.8 / 4.0).epsilon(0.1));
}

TEST_CASE("pages of small samples come whole, which nobody reads ahead") {
  Dataset dataset;
  const Measured<std::int64_t> samples(1000);
  dataset.bytes_per_sample = BytesPerSample(1500.0);
  CHECK_FALSE(more_than_needed(dataset, samples).has_value());
  dataset.stored_bytes_per_sample = BytesPerSample(4096.0);
  CHECK(more_than_needed(dataset, samples)->value() == 4096.0);
  CHECK_FALSE(read_ahead_factor(dataset, samples).has_value());
  dataset.stored_bytes_per_sample = BytesPerSample(131'072.0);
  CHECK(*read_ahead_factor(dataset, samples) == doctest::Approx(131'072.0 / 5596.0));
  dataset.bytes_per_sample = Measured<BytesPerSample>::absent("mapped");  // the files tell what a sample needs
  dataset.bytes_total = Bytes(65'536'000.0);
  CHECK(*read_ahead_factor(dataset, samples) == doctest::Approx(131'072.0 / (65'536.0 + 4096.0)));
}

TEST_CASE("what programs read that the loader starts leaves open what was waited for") {
  const Profile profile = analyze_run(reading_unseen(5e6));
  CHECK_FALSE(profile.stalls.as_is_prep.has_value());
  CHECK_FALSE(profile.stalls.as_is_fetch.has_value());
  CHECK(profile.stalls.as_is_prep.reason().find("(ffmpeg)") != std::string::npos);
  CHECK(profile.rates.synthetic.has_value());
  CHECK(says_unseen(profile));
}

TEST_CASE("what is loaded once, or hardly anything, is not reading unseen") {
  CHECK_FALSE(says_unseen(analyze_run(reading_unseen(1e3))));
  RunData once = reading_unseen(0.0);
  for (Tick& tick : once.log.ticks) {
    for (ProcessTick& process : tick.processes) process.read_bytes = &tick == &once.log.ticks.front() ? 0 : 500'000'000;
  }
  CHECK_FALSE(says_unseen(analyze_run(once)));
  CHECK(analyze_run(once).stalls.as_is_prep.has_value());
  RunData seen = make_run(fetch_bound());
  seen.log.ticks = reading_unseen(5e6).log.ticks;
  CHECK(analyze_run(seen).stalls.as_is_fetch.has_value());
}
