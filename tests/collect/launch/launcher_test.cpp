// Whether this tool is one of several, and where each of them writes.
#include "probes/collect/launch/launcher.hpp"

#include <doctest/doctest.h>

namespace stallcast::collect {
namespace {

using Words = std::vector<std::string>;

std::optional<int> task_of(const Words& environment, const Words& command = {"python", "train.py"}) {
  const auto task = one_of_several(environment, command);
  REQUIRE(task.has_value());
  return task->task;
}

bool alone(const Words& environment, const Words& command = {"python", "train.py"}) {
  return !one_of_several(environment, command).has_value();
}

}  // namespace

TEST_CASE("a launcher around the tool has started several") {
  CHECK(task_of({"SLURM_PROCID=3", "SLURM_STEP_NUM_TASKS=4", "SLURM_NTASKS=4"}) == 3);
  CHECK(task_of({"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2"}) == 1);
  CHECK(task_of({"PMI_RANK=0", "PMI_SIZE=2"}) == 0);
  CHECK(task_of({"RANK=5", "WORLD_SIZE=8"}) == 5);
  CHECK(one_of_several({"RANK=5", "WORLD_SIZE=8"}, {"x"})->reason == "WORLD_SIZE=8");
}

TEST_CASE("the tool that wraps the launcher is alone") {
  CHECK(alone({}));
  CHECK(alone({}, {"torchrun", "--nproc-per-node", "4", "train.py"}));
  CHECK(alone({}, {"torchrun", "--nnodes", "1", "--nproc-per-node", "4", "train.py"}));
  CHECK(alone({}, {"mpirun", "-n", "4", "python", "train.py"}));
  // The environment of a batch script: four tasks are allocated, the script is none of them.
  CHECK(alone({"SLURM_NTASKS=4", "SLURM_PROCID=0", "SLURM_NNODES=4", "SLURM_JOB_ID=200505"},
              {"srun", "python", "train.py"}));
  CHECK(alone({"RANK=0", "WORLD_SIZE=1"}));
  CHECK(alone({"WORLD_SIZE=4"}));  // for ranks that the script starts itself
  CHECK(alone({"RANK=x", "WORLD_SIZE=4"}));
}

TEST_CASE("a launcher that is started on each node has a tool around it on each") {
  CHECK(task_of({}, {"torchrun", "--nnodes=2", "--node_rank=1", "train.py"}) == 1);
  CHECK(task_of({}, {"python", "-m", "torch.distributed.run", "--nnodes", "1:4", "train.py"}) == std::nullopt);
  CHECK(task_of({"PET_NNODES=2", "PET_NODE_RANK=0"}, {"torchrun", "train.py"}) == 0);
  CHECK(task_of({}, {"accelerate", "launch", "--num_machines", "3", "--machine_rank", "2", "train.py"}) == 2);
  CHECK(alone({}, {"accelerate", "launch", "--num_machines", "1", "train.py"}));
  CHECK(alone({}, {"python", "train.py", "--nnodes", "2"}));
}

TEST_CASE("each tool writes to a part of its own") {
  CHECK(part_name("node7", {"", 3}) == "node7-3");
  CHECK(part_name("node7", {"", {}}) == "node7");
  CHECK(part_name("../etc", {"", 0}) == "node..-etc-0");
  CHECK(part_name("", {"", 1}) == "node-1");
  CHECK(shared_folder_name({"SLURM_JOB_ID=17"}) == "stallcast-profile-17");
  CHECK(shared_folder_name({"TORCHELASTIC_RUN_ID=a/b c"}) == "stallcast-profile-a-b-c");
  CHECK(shared_folder_name({}) == "stallcast-profile-nodes");
  CHECK(job_name({"TORCHELASTIC_RUN_ID=none", "SLURM_JOB_ID=17"}) == "SLURM_JOB_ID=17");
  CHECK(job_name({"PMIX_NAMESPACE=x@1", "SLURM_JOB_ID=17"}) == "PMIX_NAMESPACE=x@1");
  CHECK(job_name({}).empty());
}

}  // namespace stallcast::collect
