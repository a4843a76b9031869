#include "probes/collect/launch/command_facts.hpp"

#include <doctest/doctest.h>
#include <elf.h>
#include <sys/stat.h>

#include <cstring>

#include "tests/collect/fake_root.hpp"

namespace stallcast::collect {
namespace {

using testing::FakeRoot;

/// An ELF head with one program header of `type`.
std::string elf(std::uint32_t type, unsigned char word_size = ELFCLASS64) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = word_size;
  header.e_phoff = sizeof header;
  header.e_phnum = 1;
  Elf64_Phdr part{};
  part.p_type = type;
  std::string bytes(sizeof header + sizeof part, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, &part, sizeof part);
  return bytes;
}

void put_program(const FakeRoot& root, const std::string& name, const std::string& content, mode_t mode = 0755) {
  root.put(name, content);
  chmod((root.path() / name).c_str(), mode);
}

bool has_issue(const std::vector<DataIssue>& issues, const std::string& id) {
  for (const DataIssue& issue : issues) {
    if (issue.id == id) return true;
  }
  return false;
}

TEST_CASE("flags that keep the Python part out") {
  CHECK(isolating_python_flag({"python", "-I", "train.py"}) == "-I");
  CHECK(isolating_python_flag({"/usr/bin/python3.11", "-uS", "train.py"}) == "-S");
  CHECK(isolating_python_flag({"python3", "-X", "dev", "-E", "train.py"}) == "-E");
  CHECK(isolating_python_flag({"python3", "-W", "-E", "train.py"}).empty());
  CHECK(isolating_python_flag({"python3", "-WE", "train.py"}).empty());
  CHECK(isolating_python_flag({"python3", "-s", "-P", "train.py"}).empty());
  CHECK(isolating_python_flag({"python3", "train.py", "-S"}).empty());
  CHECK(isolating_python_flag({"python3", "-c", "-I"}).empty());
  CHECK(isolating_python_flag({"python3", "-um", "package", "-E"}).empty());
  CHECK(isolating_python_flag({"perl", "-I", "lib"}).empty());
  CHECK(isolating_python_flag({}).empty());
}

TEST_CASE("what is a Python") {
  CHECK(is_python("python"));
  CHECK(is_python("/opt/x/bin/python3.12"));
  CHECK(is_python("python3.13t"));
  CHECK_FALSE(is_python("python3-config"));
  CHECK_FALSE(is_python("ipython"));
}

TEST_CASE("executables by their first bytes") {
  FakeRoot root;
  put_program(root, "bin/dynamic", elf(PT_INTERP));
  put_program(root, "bin/static", elf(PT_LOAD));
  put_program(root, "bin/old", elf(PT_INTERP, ELFCLASS32));
  put_program(root, "bin/script", "#!/usr/bin/env -S python3 -I\nprint()\n");
  put_program(root, "bin/plain", "echo hello\n");
  put_program(root, "bin/setuid", elf(PT_INTERP), 04755);
  const std::string path = "/nonexistent:" + (root.path() / "bin").string();
  CHECK(examine_executable("dynamic", path).kind == ExecutableKind::dynamic);
  CHECK(examine_executable("static", path).kind == ExecutableKind::static_elf);
  CHECK(examine_executable("old", path).kind == ExecutableKind::foreign);
  CHECK(examine_executable("script", path).kind == ExecutableKind::script);
  CHECK(examine_executable("script", path).interpreter == "/usr/bin/env -S python3 -I");
  CHECK(examine_executable("plain", path).kind == ExecutableKind::other);
  CHECK(examine_executable("setuid", path).set_id);
  CHECK(examine_executable("absent", path).kind == ExecutableKind::missing);
  CHECK(examine_executable("static", "/nonexistent").kind == ExecutableKind::missing);
}

TEST_CASE("obstacles name the way out") {
  FakeRoot root;
  put_program(root, "static", elf(PT_LOAD));
  put_program(root, "python3", elf(PT_INTERP));
  put_program(root, "tool", "#!" + (root.path() / "python3").string() + " -E\n");
  const std::string path = root.path().string();
  const auto found = command_obstacles({"static"}, path);
  REQUIRE(has_issue(found, "static-binary"));
  CHECK(found.front().hint.find("stallcast_wait_begin") != std::string::npos);
  CHECK(has_issue(command_obstacles({"tool"}, path), "python-isolated"));
  CHECK(has_issue(command_obstacles({"python3", "-I", "x.py"}, path), "python-isolated"));
  CHECK(command_obstacles({"python3", "x.py"}, path).empty());
  CHECK(command_obstacles({}, path).empty());
}

TEST_CASE("how many ranks a command will start") {
  CHECK(expected_ranks({"python", "train.py"}, {}) == 1);
  CHECK(expected_ranks({"python", "train.py"}, {"WORLD_SIZE=16"}) == 16);
  CHECK(expected_ranks({"python", "train.py"}, {"WORLD_SIZE=many"}) == 1);
  CHECK(expected_ranks({"/bin/torchrun", "--nproc_per_node=4", "--nnodes", "2", "train.py"}, {}) == 8);
  CHECK(expected_ranks({"python", "-m", "torch.distributed.run", "--nproc-per-node", "3", "train.py"}, {}) == 3);
  CHECK(expected_ranks({"torchrun", "--nproc_per_node=gpu", "train.py"}, {}) == 1);
  CHECK(expected_ranks({"accelerate", "launch", "--num_processes", "2", "train.py"}, {}) == 2);
  CHECK(expected_ranks({"python", "train.py", "--nproc_per_node=4"}, {}) == 1);
  CHECK(expected_ranks({"mpirun", "-x", "PATH", "-np", "4", "python", "job.py", "-n", "9"}, {}) == 4);
  CHECK(expected_ranks({"/usr/bin/mpiexec", "python", "job.py"}, {}) == 1);
  CHECK(expected_ranks({"srun", "--ntasks=6", "python", "job.py"}, {"SLURM_NTASKS=8"}) == 6);
  CHECK(expected_ranks({"srun", "python", "job.py"}, {"SLURM_NTASKS=8"}) == 8);
  CHECK(expected_ranks({"python", "job.py"}, {"SLURM_NTASKS=8"}) == 1);
  CHECK(expected_ranks({"python", "job.py"}, {"OMPI_COMM_WORLD_SIZE=3"}) == 3);
  CHECK(expected_ranks({"python", "job.py"}, {"SLURM_STEP_NUM_TASKS=5", "WORLD_SIZE=20"}) == 20);
}

}  // namespace
}  // namespace stallcast::collect
