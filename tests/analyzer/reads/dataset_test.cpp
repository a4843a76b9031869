#include <doctest/doctest.h>

#include <algorithm>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

/// Each process that makes batches has read one file of that name before its first one, and of a sample of each batch
/// so many bytes are read by read().
RunData read_once(const char* name, std::uint64_t bytes_of_batch) {
  RunData run = make_recordings(fetch_bound());
  std::uint64_t id = 1;
  for (record::ProcessRecording& process : run.processes) {
    if (process.batches.empty()) continue;
    for (record::BatchRecord& batch : process.batches) {
      batch.io = {};
      batch.io.read_bytes = bytes_of_batch;
    }
    const std::uint64_t begin_ns = process.batches.front().begin_ns + 1;
    process.files = {{{}, ++id, begin_ns, 1000, 5000, 0}};
    process.paths = {{id, 5000, 5, name + std::to_string(id) + (std::string_view(name).ends_with("/") ? ".py" : "")}};
  }
  return run;
}

Dataset data_set_of(RunData run) {
  join_run(run);
  return analyze_run(run).dataset;
}

}  // namespace

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

TEST_CASE("where neither samples nor batches say what they read, a sample's bytes are not known") {
  JobSpec spec = fetch_bound();
  spec.samples = true;
  spec.batches = 40;
  RunData run = make_recordings(spec);
  for (auto& process : run.processes) process.samples.clear();
  RunData without = run;
  for (auto& process : without.processes) process.batches.clear();
  join_run(run);
  join_run(without);
  CHECK(near(analyze_run(run).dataset.bytes_per_sample->value(), 100e3, 1e-6));
  const Dataset dataset = analyze_run(without).dataset;
  CHECK(*dataset.files_seen == 40 * 32);
  CHECK(dataset.bytes_per_sample.reason() == "the reads of one sample were not told from another's");
  CHECK(dataset.bytes_total.reason() == dataset.bytes_per_sample.reason());
}

TEST_CASE("without a read of a file the data set is absent with the reason") {
  const Profile profile = analyze_run(make_run(fetch_bound()));
  CHECK_FALSE(profile.dataset.files_seen.has_value());
  CHECK(profile.dataset.layout == "unknown");
  CHECK(profile.dataset.files_seen.reason().find("mapped") != std::string::npos);
}

TEST_CASE("imports are no data where data are mapped") {
  RunData run = read_once("/home/me/libraries/", 0);
  CHECK_FALSE(data_set_of(run).files_seen.has_value());
  for (record::ProcessRecording& process : run.processes) {  // read anew for the last batch: source code as data
    if (process.files.empty()) continue;
    process.files.push_back(process.files.front());
    process.files.back().begin_ns = process.batches.back().begin_ns + 1;
  }
  CHECK(*data_set_of(run).files_seen == 2);
}

TEST_CASE("what hardly is read, and is mapped by workers, is read through maps") {
  for (const std::uint64_t mapped : {0U, 9'000'000U, 20'000'000U}) {
    for (const std::uint64_t bytes_of_sample : {100U, 100'000U}) {
      CAPTURE(mapped);
      CAPTURE(bytes_of_sample);
      RunData run = read_once("/data/index-", 32 * bytes_of_sample);
      for (record::ProcessRecording& process : run.processes) {
        if (!process.batches.empty()) process.info.mapped_bytes = mapped;
      }
      const Dataset dataset = data_set_of(run);
      const bool by_maps = mapped > 10'000'000 && bytes_of_sample < 1024;
      CHECK((dataset.layout == "mapped") == by_maps);
      CHECK(dataset.files_seen.has_value() == !by_maps);
      if (!by_maps) continue;
      const char* reason =
          "the data seem to be read through maps of their files (mmap), which is not seen: the workers have some, and "
          "hardly a byte of a sample was read";
      CHECK(dataset.files_seen.reason() == reason);
      CHECK(dataset.stored_bytes_per_sample.reason() == reason);
    }
  }
}

TEST_CASE("of a training process that has mapped its model nothing is said of maps") {
  JobSpec spec = fetch_bound();
  spec.loader.workers = 0;
  RunData run = make_recordings(spec);
  for (record::ProcessRecording& process : run.processes) {
    process.info.mapped_bytes = 500'000'000;
    for (record::BatchRecord& batch : process.batches) batch.io = {};
  }
  CHECK(data_set_of(run).layout == "unknown");
}

TEST_CASE("what the packages wrote down of themselves is no data, whoever reads it") {
  RunData run = read_once("/home/me/libraries/", 0);
  for (record::ProcessRecording& process : run.processes) {  // of the process that trains too, which makes no batch
    process.files.push_back({{}, 900, 1, 1000, 5'000'000, 0});
    process.paths.push_back({900, 5'000'000, 5, "/home/me/libraries/torch-2.14.1.dist-info/METADATA"});
  }
  CHECK_FALSE(data_set_of(run).files_seen.has_value());
}
