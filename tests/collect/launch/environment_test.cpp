#include <doctest/doctest.h>

#include <filesystem>

#include "probes/collect/launch/child_environment.hpp"
#include "probes/collect/launch/installation.hpp"
#include "tests/collect/fake_root.hpp"

namespace stallcast::collect {
namespace {

using testing::FakeRoot;

const Installation k_installation{"/opt/s/lib/libstallcast_capture.so", "/opt/s/share/stallcast/python", {}};

TEST_CASE("ours come first, what was there stays") {
  const std::vector<std::string> own = {"PATH=/bin", "LD_PRELOAD=/usr/lib/libjemalloc.so", "PYTHONPATH=/home/me/lib",
                                        "SECRET=x"};
  const ChildEnvironment child = child_environment(own, k_installation, "/tmp/stallcast-1");
  const auto merged = merged_environment(own, child.added);
  CHECK(variable(merged, "LD_PRELOAD") == "/opt/s/lib/libstallcast_capture.so:/usr/lib/libjemalloc.so");
  CHECK(variable(merged, "PYTHONPATH") == "/opt/s/share/stallcast/python:/home/me/lib");
  CHECK(variable(merged, "STALLCAST_RUN_DIR") == "/tmp/stallcast-1");
  CHECK(variable(merged, "STALLCAST_CAPTURE_LIB") == "/opt/s/lib/libstallcast_capture.so");
  CHECK(variable(merged, "PATH") == "/bin");
  CHECK(variable(merged, "SECRET") == "x");
  CHECK(merged.size() == 6);
  CHECK(child.issues.empty());
}

TEST_CASE("an empty environment gets just ours") {
  const ChildEnvironment child = child_environment({}, k_installation, "/tmp/r");
  const auto merged = merged_environment({}, child.added);
  CHECK(variable(merged, "LD_PRELOAD") == "/opt/s/lib/libstallcast_capture.so");
  CHECK(variable(merged, "PYTHONPATH") == "/opt/s/share/stallcast/python");
}

TEST_CASE("a sanitizer's run-time library keeps the first place") {
  const ChildEnvironment child = child_environment({"LD_PRELOAD=/usr/lib/libasan.so.8"}, k_installation, "/tmp/r");
  CHECK(variable(merged_environment({}, child.added), "LD_PRELOAD") ==
        "/usr/lib/libasan.so.8:/opt/s/lib/libstallcast_capture.so");
}

TEST_CASE("a path that the lists cannot hold is an issue, not a broken command") {
  const Installation odd{"/opt/my tools/libstallcast_capture.so", "/opt/a:b/python", {}};
  const ChildEnvironment child = child_environment({"LD_PRELOAD=/x.so"}, odd, "/tmp/r");
  CHECK(child.issues.size() == 2);
  CHECK(variable(merged_environment({"LD_PRELOAD=/x.so"}, child.added), "LD_PRELOAD") == "/x.so");
}

TEST_CASE("the GPU probe comes along where it was asked for and the job has none") {
  Installation with_gpu = k_installation;
  with_gpu.gpu_library = "/opt/s/lib/libstallcast_cupti.so";
  const auto injection = [&](const std::vector<std::string>& own) {
    return variable(merged_environment(own, child_environment(own, with_gpu, "/tmp/r").added), "CUDA_INJECTION64_PATH");
  };
  CHECK(injection({}).empty());
  CHECK(child_environment({}, with_gpu, "/tmp/r").issues.empty());
  CHECK(injection({"STALLCAST_GPU_PROBE=on"}) == "/opt/s/lib/libstallcast_cupti.so");
  CHECK(injection({"STALLCAST_GPU_PROBE=always"}) == "/opt/s/lib/libstallcast_cupti.so");
  CHECK(injection({"STALLCAST_GPU_PROBE=off"}).empty());
  const auto off = child_environment({"STALLCAST_GPU_PROBE=off"}, with_gpu, "/tmp/r").issues;
  REQUIRE(off.size() == 1);
  CHECK(off.front().id == "gpu-probe-off");
  CHECK(child_environment({"STALLCAST_GPU_PROBE=off"}, k_installation, "/tmp/r").issues.empty());
  const std::vector<std::string> theirs = {"STALLCAST_GPU_PROBE=on", "CUDA_INJECTION64_PATH=/opt/nsight.so"};
  CHECK(injection(theirs) == "/opt/nsight.so");
  const auto issues = child_environment(theirs, with_gpu, "/tmp/r").issues;
  REQUIRE(issues.size() == 1);
  CHECK(issues.front().id == "gpu-probe-yields");
  const Variables without = child_environment({"STALLCAST_GPU_PROBE=on"}, k_installation, "/tmp/r").added;
  CHECK(variable(merged_environment({}, without), "CUDA_INJECTION64_PATH").empty());
}

TEST_CASE("the parts are found in an install tree and in a build tree, and missed by name") {
  FakeRoot install;
  install.put("bin/stallcast", "").put("lib/libstallcast_capture.so", "");
  const auto without_python = find_installation_at(install.path() / "bin");
  REQUIRE_FALSE(without_python.ok());
  CHECK(without_python.error().what.find("Python") != std::string::npos);
  install.put("share/stallcast/python/sitecustomize.py", "");
  const auto found = find_installation_at(install.path() / "bin");
  REQUIRE(found.ok());
  CHECK(found.value().capture_library == std::filesystem::canonical(install.path()) / "lib/libstallcast_capture.so");
  CHECK(found.value().gpu_library.empty());
  install.put("lib/libstallcast_cupti.so", "");
  CHECK(find_installation_at(install.path() / "bin").value().gpu_library ==
        std::filesystem::canonical(install.path()) / "lib/libstallcast_cupti.so");

  FakeRoot build;
  build.put("cli/stallcast", "").put("probes/capture/libstallcast_capture.so", "");
  build.put("share/stallcast/python/sitecustomize.py", "");
  CHECK(find_installation_at(build.path() / "cli").ok());
}

}  // namespace
}  // namespace stallcast::collect
