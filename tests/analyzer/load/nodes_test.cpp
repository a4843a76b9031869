// Recordings of several nodes as one job: what adds up, what is refused, what is never compared.
#include "analyzer/load/nodes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "analyzer/analyze.hpp"
#include "analyzer/profile/json.hpp"
#include "tests/analyzer/node_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;
namespace fs = std::filesystem;

namespace {

bool says(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

/// Why two nodes are no job after `change` of the second.
Error refused(const std::function<void(RunData&)>& change) {
  std::vector<RunData> nodes = two_nodes(two_ranks());
  change(nodes[1]);
  const auto job = one_job(std::move(nodes));
  REQUIRE_FALSE(job.ok());
  CHECK(job.error().code == ErrorCode::bad_input);
  return job.error();
}

std::string refusal(const std::function<void(RunData&)>& change) {
  return refused(change).what;
}

/// The monotonic clock of the node's machine runs `by_ns` ahead, and it was booted as much earlier.
void shift_clock(RunData& run, std::uint64_t by_ns) {
  run.log.start_monotonic_ns += by_ns;
  for (Tick& tick : run.log.ticks) {
    tick.t_ns += by_ns;
    for (RankTick& rank : tick.ranks) rank.delivered_ns += rank.delivered_ns > 0 ? by_ns : 0;
  }
  for (auto& process : run.processes) {
    process.info.start_monotonic_ns += by_ns;
    for (auto& wait : process.waits) {
      wait.begin_ns += by_ns;
      wait.end_ns += by_ns;
    }
    for (auto& step : process.steps) step.time_ns += by_ns;
    for (auto& sample : process.samples) sample.begin_ns += by_ns;
    for (auto& batch : process.batches) {
      batch.begin_ns += by_ns;
      batch.end_ns += by_ns;
      batch.put_ns += batch.put_ns > 0 ? by_ns : 0;
    }
  }
  run.consumers.clear();
  join_run(run);
}

}  // namespace

TEST_CASE("two nodes of two ranks are a job of four") {
  const JobSpec spec = two_ranks();
  const Profile a = analyze_run(node(spec, 0));
  const Profile b = analyze_run(node(spec, 1));
  const Profile job = merged(two_nodes(spec));
  CHECK(job.outcome.status == "measured");
  CHECK(job.job.ranks_seen == 4);
  CHECK(job.job.ranks_expected == 4);
  CHECK(job.host.hosts_seen == 2);
  CHECK(job.host.name == "node0");
  REQUIRE(job.ranks.size() == 4);
  CHECK(job.ranks[1].host == "node0");
  CHECK(job.ranks[2].host == "node1");
  CHECK(job.ranks[3].rank == 3);
  CHECK(issue_of(job, "ranks-missing") == nullptr);
  CHECK(near(job.rates.as_is->mean.value(), a.rates.as_is->mean.value() + b.rates.as_is->mean.value(), 1e-9));
  CHECK(near(job.stalls.as_is_fetch->mean, (a.stalls.as_is_fetch->mean + b.stalls.as_is_fetch->mean) / 2.0, 0.02));
  CHECK(near(job.resources.storage_bandwidth->value(),
             a.resources.storage_bandwidth->value() + b.resources.storage_bandwidth->value(), 1e-9));
  CHECK(near(*job.resources.bytes_from_storage, 1.0, 0.05));
  REQUIRE(job.resources.tree_cpu.has_value());
  CHECK(job.resources.tree_cpu->mean.value() >
        std::min(a.resources.tree_cpu->mean.value(), b.resources.tree_cpu->mean.value()) - 1e-12);
  CHECK(job.resources.tree_cpu->mean.value() <
        std::max(a.resources.tree_cpu->mean.value(), b.resources.tree_cpu->mean.value()) + 1e-12);
  CHECK(job.overhead.recording->value() == a.overhead.recording->value() + b.overhead.recording->value());
  CHECK_FALSE(job.overhead.throughput.has_value());
  CHECK_FALSE(job.page_cache.hit.has_value());
}

TEST_CASE("the order in which nodes are named does not matter") {
  std::vector<RunData> nodes = two_nodes(two_ranks());
  const auto expected = to_json(merged(nodes));
  std::swap(nodes[0], nodes[1]);
  CHECK(to_json(merged(nodes)) == expected);
}

TEST_CASE("pids mean nothing beyond their node") {
  JobSpec spec = two_ranks();
  spec.samples = true;
  std::vector<RunData> nodes = two_nodes(spec);
  const Profile job = merged(nodes);
  REQUIRE(job.ranks[0].pid == job.ranks[2].pid);
  // Were the second node's workers taken for the first one's, their samples would be lost or counted twice.
  const Distribution made = job.resources.distributions.at("sample_read_s");
  const Distribution one = analyze_run(nodes[0]).resources.distributions.at("sample_read_s");
  CHECK(made.n == 2 * one.n);
}

TEST_CASE("clocks that differ by hours change nothing") {
  std::vector<RunData> nodes = two_nodes(two_ranks());
  const Profile expected = merged(nodes);
  shift_clock(nodes[1], 25'000'000'000'000ULL);  // realtime stays: booted 7 h earlier
  const Profile shifted = merged(nodes);
  CHECK(to_json(shifted) == to_json(expected));
  CHECK(issue_of(shifted, "clocks-apart") == nullptr);
  REQUIRE(issue_of(shifted, "nodes-not-aligned") != nullptr);
  CHECK(issue_of(shifted, "nodes-not-aligned")->severity == Severity::info);
}

TEST_CASE("clocks of the day that do not overlap are named; the launcher's word decides what is to be thought of it") {
  std::vector<RunData> nodes = two_nodes(two_ranks());
  nodes[1].log.start_realtime_ns += 3 * 3'600'000'000'000ULL;
  for (auto& process : nodes[1].processes) process.info.start_realtime_ns += 3 * 3'600'000'000'000ULL;
  const Profile expected = merged(two_nodes(two_ranks()));
  const Profile late = merged(nodes);
  REQUIRE(issue_of(late, "clocks-apart") != nullptr);
  CHECK(issue_of(late, "clocks-apart")->severity == Severity::warning);
  CHECK(says(issue_of(late, "clocks-apart")->detail, "node0-0 had taken its last batch 3 h before node1-0"));
  CHECK(to_json(late)["rates"] == to_json(expected)["rates"]);
  for (RunData& run : nodes) {
    for (auto& process : run.processes) process.info.job = "SLURM_JOB_ID=17";
  }
  const Profile named = merged(nodes);
  REQUIRE(issue_of(named, "clocks-apart") != nullptr);
  CHECK(issue_of(named, "clocks-apart")->severity == Severity::info);
}

TEST_CASE("what is not of one job is refused by name") {
  CHECK(says(refusal([](RunData& run) { run.log.run_id = "run-of-node0"; }), "node0-0 and node1-0 are the same run"));
  CHECK(says(refusal([](RunData& run) { run.log.command = {"python", "other.py"}; }), "commands differ"));
  CHECK(says(refusal([](RunData& run) {
               for (Consumer& consumer : run.consumers) consumer.world_size = 8;
             }),
             "one has 4 ranks, the other 8"));
  CHECK(says(refusal([](RunData& run) {
               for (Consumer& consumer : run.consumers) consumer.rank -= 2;
             }),
             "both hold rank 0"));
}

TEST_CASE("who merges what is not of one job is told what to pass, and who merges phases how to record") {
  const std::string passing =
      "pass what the nodes of one job left, each once; stallcast analyze DIR reads one by itself";
  CHECK(refused([](RunData& run) { run.log.run_id = "run-of-node0"; }).hint == passing);
  CHECK(refused([](RunData& run) { run.log.command = {"python", "other.py"}; }).hint == passing);
  const Error phased = refused([](RunData& run) { run.consumers[0].phases_begin_ns = 1; });
  CHECK(phased.hint.find("record all nodes with --phases as_is") == 0);
}

TEST_CASE("what the launcher calls the job decides, where it calls it anything") {
  std::vector<RunData> nodes = two_nodes(two_ranks());
  nodes[0].processes[0].info.job = "TORCHELASTIC_RUN_ID=a";
  nodes[1].processes[0].info.job = "TORCHELASTIC_RUN_ID=b";
  auto job = one_job(nodes);
  REQUIRE_FALSE(job.ok());
  CHECK(says(job.error().what, "TORCHELASTIC_RUN_ID is a and b"));
  nodes[1].processes[0].info.job = "TORCHELASTIC_RUN_ID=a";
  nodes[1].log.command = {"bash", "second_node.sh"};
  CHECK(one_job(nodes).ok());
  nodes[1].processes[0].info.job = "SLURM_JOB_ID=17";  // says nothing of the other's
  CHECK_FALSE(one_job(nodes).ok());
  nodes[0].log.job = "SLURM_JOB_ID=18";
  CHECK(says(one_job(nodes).error().what, "SLURM_JOB_ID is 18 and 17"));
}

TEST_CASE("commands may differ by the number of the node") {
  using Words = std::vector<std::string>;
  CHECK(command_of_any_node({"torchrun", "--nnodes", "2", "--node-rank=1", "train.py"}) ==
        Words{"torchrun", "--nnodes", "2", "--node-rank=", "train.py"});
  CHECK(command_of_any_node({"python", "job.py", "--rank", "3", "-v"}) == Words{"python", "job.py", "--rank=", "-v"});
  CHECK(command_of_any_node({"python", "job.py", "--machine_rank", "--fast"}) ==
        Words{"python", "job.py", "--machine_rank=", "--fast"});
  CHECK(command_of_any_node({}).empty());
  std::vector<RunData> nodes = two_nodes(two_ranks());
  nodes[0].log.command = {"torchrun", "--node_rank", "0", "train.py"};
  nodes[1].log.command = {"torchrun", "--node_rank", "1", "train.py"};
  CHECK(one_job(nodes).ok());
  nodes[1].log.command = {};  // stallcast env knows none
  CHECK(one_job(nodes).ok());
}

TEST_CASE("phases and emulated hardware are one tool's own") {
  CHECK(says(refusal([](RunData& run) { run.consumers[0].phases_begin_ns = 1; }), "others were not"));
  CHECK(
      says(refusal([](RunData& run) { run.log.emulation.with = "interposer"; }), "node1-0 was recorded with emulated"));
  std::vector<RunData> nodes = two_nodes(two_ranks());
  for (RunData& run : nodes) run.consumers[0].phases_begin_ns = 1;
  CHECK(says(one_job(nodes).error().what, "as were others by their own schedules"));
  nodes.pop_back();
  CHECK_FALSE(one_job(nodes).ok());  // stallcast analyze reads it by itself
}

TEST_CASE("a node whose recordings are missing is a warning that names its ranks") {
  std::vector<RunData> nodes = two_nodes(two_ranks());
  nodes.erase(nodes.begin());
  const Profile job = merged(nodes);
  CHECK(job.job.ranks_seen == 2);
  CHECK(job.job.ranks_expected == 4);
  REQUIRE(issue_of(job, "ranks-missing") != nullptr);
  CHECK(says(issue_of(job, "ranks-missing")->detail, "none of rank 0 to 1"));
}

TEST_CASE("without a log the ranks say themselves how many they are") {
  RunData run = node(two_ranks(), 0);
  run.log.ranks_expected = 1;
  CHECK(analyze_run(run).job.ranks_expected == 4);
}

TEST_CASE("processes of one node that call themselves the same rank are named") {
  std::vector<RunData> nodes = two_nodes(two_ranks());
  nodes[1].consumers[1].rank = nodes[1].consumers[0].rank;
  const Profile job = merged(nodes);
  REQUIRE(issue_of(job, "rank-number-twice") != nullptr);
  CHECK(says(issue_of(job, "rank-number-twice")->detail, "2 processes of node1-0 call themselves rank 2"));
}

TEST_CASE("a node all of whose ranks wait longer is named, and one that does not is not") {
  CHECK(issue_of(merged(two_nodes(two_ranks())), "slow-node") == nullptr);
  std::vector<RunData> nodes;
  JobSpec quick = two_ranks();
  quick.read_s = 0.1;
  nodes.push_back(node(quick, 0));
  nodes.push_back(node(two_ranks(), 1));
  const Profile job = merged(nodes);
  REQUIRE(issue_of(job, "slow-node") != nullptr);
  CHECK(says(issue_of(job, "slow-node")->detail, "all ranks of node1 wait"));
  CHECK(issue_of(job, "slow-rank") != nullptr);
}

TEST_CASE("ranks that took other numbers of batches are named") {
  CHECK(issue_of(merged(two_nodes(two_ranks())), "uneven-ranks") == nullptr);
  std::vector<RunData> nodes;
  nodes.push_back(node(two_ranks(), 0));
  JobSpec shorter = two_ranks();
  shorter.batches = 150;
  shorter.ranks = 1;
  nodes.push_back(node(shorter, 2, 3));
  for (Consumer& consumer : nodes[0].consumers) consumer.world_size = 3;
  const Profile job = merged(nodes);
  REQUIRE(issue_of(job, "uneven-ranks") != nullptr);
  CHECK(says(issue_of(job, "uneven-ranks")->detail, "rank 2 (node2) took 150 batches, the median of all is 200"));
}

TEST_CASE("a node that failed fails the job; one without a loader does not") {
  std::vector<RunData> nodes = two_nodes(two_ranks());
  nodes[1].log.exit_code = 3;
  const Profile failed = merged(nodes);
  CHECK(failed.outcome.status == "child_failed");
  CHECK(failed.outcome.child_exit_code == 3);
  CHECK(says(failed.outcome.words, "node1-0"));
  nodes[1].log.exit_code = 0;
  nodes[1].consumers.clear();
  const Profile half = merged(nodes);
  CHECK(half.outcome.status == "measured");
  CHECK(half.job.ranks_seen == 2);
  CHECK(issue_of(half, "ranks-missing") != nullptr);
  nodes[0].consumers.clear();
  CHECK(merged(nodes).outcome.status == "no_loader");
}

TEST_CASE("what merge keeps is analysed again to the same profile") {
  std::string name = (fs::temp_directory_path() / "stallcast-nodes-test-XXXXXX").string();
  REQUIRE(mkdtemp(name.data()) != nullptr);
  const fs::path folder = name;
  std::vector<RunData> nodes = two_nodes(two_ranks());
  for (RunData& run : nodes) {
    fs::create_directories(folder / "recordings" / run.name);
    write_run(run, folder / "recordings" / run.name);
  }
  CHECK(holds_nodes(folder));
  const auto again = analyze(folder);
  REQUIRE(again.ok());
  CHECK(to_json(again.value())["rates"] == to_json(merged(nodes))["rates"]);
  CHECK(to_json(again.value())["ranks"] == to_json(merged(nodes))["ranks"]);
  CHECK(again.value().host.hosts_seen == 2);
  // Launches of one phase each are called as the phase.
  fs::rename(folder / "recordings/node0-0", folder / "recordings/cold");
  fs::rename(folder / "recordings/node1-0", folder / "recordings/cached");
  CHECK_FALSE(holds_nodes(folder));
  fs::remove_all(folder);
}
