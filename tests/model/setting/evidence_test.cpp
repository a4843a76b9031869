/// No answer beyond the evidence: each input is taken away in turn, and every key of a scenario is asked. What is
/// refused is what the table says, and nothing else.
#include "model/setting/evidence.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/scenario/keys.hpp"
#include "tests/model/asking.hpp"
#include "tests/model/data_in_files.hpp"

namespace stallcast {
namespace {

using Words = std::vector<std::string>;

/// A job of which everything was measured.
Profile whole() {
  made::TrueJob job;
  job.disk_s = 0.002;
  job.latency_s = 0.001;
  job.miss = 1.0;
  Profile profile = made::in_files(job);
  made::probe(profile, 1e-3, 500e6, job.sample_bytes / job.disk_s);
  profile.job.prepared = BytesPerSample(600e3);
  Operator resize;
  resize.name = "Resize";
  resize.kind = "operator";
  resize.wall = Estimate<SecondsPerSample>{SecondsPerSample(0.003), {}, {}, 100};
  resize.cpu = resize.wall;
  resize.cpu_share = Estimate<Fraction>{0.5, 0.45, 0.55, 100};
  profile.operators.push_back(resize);
  return profile;
}

/// Each input, and how a profile comes to lack it.
const std::map<Input, std::function<void(Profile&)>>& lacking() {
  static const std::map<Input, std::function<void(Profile&)>> k_lacking{
      {Input::cores, [](Profile& p) { p.host.usable_cpus = 0.0; }},
      {Input::workers, [](Profile& p) { p.job.num_workers = Measured<std::int64_t>::absent("unknown loader"); }},
      {Input::operators, [](Profile& p) { p.operators.clear(); }},
      {Input::storage_cost,
       [](Profile& p) {
         p.resources.read = p.resources.read_from_memory;
         p.resources.bytes_from_storage = 0.0;
       }},
      {Input::sample_bytes,
       [](Profile& p) { p.dataset.bytes_per_sample = Measured<BytesPerSample>::absent("unseen"); }},
      {Input::requests_per_sample, [](Profile& p) { p.resources.distributions.erase("sample_reads"); }},
      {Input::files_per_sample, [](Profile& p) { p.dataset.layout = "shards"; }},
      {Input::opens_per_sample, [](Profile& p) { p.resources.distributions.erase("sample_opens"); }},
      {Input::metadata_time, [](Profile& p) { p.resources.distributions.erase("sample_metadata_s"); }},
      {Input::stream, [](Profile& p) { p.storage.first_byte = MeasuredEstimate<Seconds>::absent("too short"); }},
      {Input::one_node,
       [](Profile& p) { p.storage.ceiling_bandwidth = MeasuredEstimate<BytesPerSecond>::absent("still rises"); }},
      {Input::dataset_bytes, [](Profile& p) { p.dataset.bytes_total = Measured<Bytes>::absent("no length"); }},
      {Input::page_cache, [](Profile& p) { p.resources.page_cache_available = Measured<Bytes>::absent("no limit"); }},
      {Input::prepared_bytes, [](Profile& p) { p.job.prepared = Measured<BytesPerSample>::absent("not arrays"); }},
  };
  return k_lacking;
}

/// Ways to ask a key, which together need all that it can need: with what it says nothing without, and where all is
/// read from storage.
std::vector<Words> questions(std::string_view key) {
  static const std::map<std::string_view, Words> k_with{
      {"cache", {"cache=100GB"}},
      {"operator", {"operator=Resize:x2"}},
      {"staging", {"staging=overlap", "local_disk_bandwidth=1GB/s"}},
      {"local_disk", {"local_disk=1TB", "staging=overlap", "local_disk_bandwidth=1GB/s"}},
      {"prep_cpus", {"prep_cpus=64", "network_bandwidth=25Gbit/s"}},
  };
  if (key == "cache") return {{"cache=100GB"}, {"cache=0%"}};
  if (key == "cache_policy") {
    return {{"cache_policy=minio"}, {"cache_policy=partitioned", "cache=35%", "nodes=2", "network_bandwidth=25Gbit/s"}};
  }
  const auto keys = key_table();
  const auto row = std::find_if(keys.begin(), keys.end(), [&](const ScenarioKey& known) { return known.name == key; });
  const auto with = k_with.find(key);
  const Words asked = with != k_with.end() ? with->second : Words{std::string(key) + "=" + std::string(row->example)};
  Words cold = asked;
  cold.emplace_back("cache=0%");
  return {asked, cold};
}

/// Whether any of these is refused for the sake of `key`.
bool is_refused(const JobModel& job, std::string_view key, const std::vector<Words>& questions) {
  bool refused = false;
  for (const Words& asked : questions) {
    const auto setting = resolve(job, made::ask(asked));
    if (setting.ok()) continue;
    CHECK(setting.error().code == ErrorCode::not_enough_data);
    CHECK_FALSE(setting.error().hint.empty());
    refused = refused || setting.error().what.find("'" + std::string(key) + "'") != std::string::npos;
  }
  return refused;
}

JobModel job_of(const Profile& profile) {
  auto job = job_model(profile);
  REQUIRE(job.ok());
  return job.value();
}

bool has_row(std::string_view key, Input input) {
  const auto rows = evidence_table();
  return std::any_of(rows.begin(), rows.end(),
                     [&](const EvidenceRow& row) { return row.key == key && row.needs == input; });
}

}  // namespace

TEST_CASE("with everything measured every key is answered") {
  const JobModel job = job_of(whole());
  for (const ScenarioKey& key : key_table()) {
    CAPTURE(key.name);
    for (const Words& asked : questions(key.name)) CHECK(resolve(job, made::ask(asked)).ok());
  }
}

TEST_CASE("a key is refused for want of an input if the table says so, and then only") {
  int refusals = 0;
  for (const auto& [taken, take_away] : lacking()) {
    const Input input = taken;  // what CAPTURE can capture
    Profile profile = whole();
    take_away(profile);
    const JobModel job = job_of(profile);
    CAPTURE(name_of(input));
    const auto lacks = [&](Input absent) {
      return std::any_of(job.missing.begin(), job.missing.end(),
                         [&](const MissingInput& missing) { return missing.input == absent; });
    };
    REQUIRE(lacks(input));
    for (const ScenarioKey& key : key_table()) {
      CAPTURE(key.name);
      // What lacks one input may lack another that is made of it.
      const bool expected = std::any_of(job.missing.begin(), job.missing.end(),
                                        [&](const MissingInput& missing) { return has_row(key.name, missing.input); });
      CHECK(is_refused(job, key.name, questions(key.name)) == expected);
      refusals += expected ? 1 : 0;
    }
  }
  CHECK(refusals >= static_cast<int>(evidence_table().size()));
}

TEST_CASE("each input that a row needs can be lacking, and each row is of a key") {
  for (const EvidenceRow& row : evidence_table()) {
    CAPTURE(row.key);
    CHECK(lacking().contains(row.needs));
    const auto keys = key_table();
    CHECK(std::any_of(keys.begin(), keys.end(), [&](const ScenarioKey& key) { return key.name == row.key; }));
  }
}

TEST_CASE("a refusal names the key, the input, why it is absent and what would measure it") {
  Profile profile = whole();
  lacking().at(Input::sample_bytes)(profile);
  const auto setting = resolve(job_of(profile), made::ask({"storage_bandwidth=1GB/s"}));
  REQUIRE_FALSE(setting.ok());
  CHECK(setting.error().what ==
        "the scenario key 'storage_bandwidth' needs the bytes read per sample, which this profile lacks (unseen)");
  CHECK(setting.error().hint.find("needed: ") == 0);
}

TEST_CASE("what a scenario says itself needs no evidence") {
  const auto answers = [](Input absent, const Words& asked) {
    Profile profile = whole();
    lacking().at(absent)(profile);
    return resolve(job_of(profile), made::ask(asked)).ok();
  };
  CHECK_FALSE(answers(Input::storage_cost, {"cache=0%"}));
  CHECK(answers(Input::storage_cost, {"cache=0%", "storage_bandwidth=1GB/s", "storage_latency=1ms"}));
  CHECK(answers(Input::storage_cost, {"cache=100%", "storage_iops=1k/s"}));  // nothing is read
  CHECK_FALSE(answers(Input::one_node, {"shared_storage_contention=2%"}));
  CHECK(answers(Input::one_node, {"shared_storage_contention=2%", "storage_bandwidth=1GB/s"}));
  CHECK_FALSE(answers(Input::page_cache, {"cache_policy=page-cache"}));
  CHECK(answers(Input::page_cache, {"cache_policy=page-cache", "cache=35%"}));
}

}  // namespace stallcast
