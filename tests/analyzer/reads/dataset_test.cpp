#include <doctest/doctest.h>

#include <algorithm>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

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
