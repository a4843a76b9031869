#include <doctest/doctest.h>

#include <filesystem>

#include "fake_root.hpp"
#include "probes/collect/child_environment.hpp"
#include "probes/collect/installation.hpp"

namespace stallcast::collect {
namespace {

using testing::FakeRoot;

const Installation k_installation{"/opt/s/lib/libstallcast_capture.so", "/opt/s/share/stallcast/python"};

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
  const Installation odd{"/opt/my tools/libstallcast_capture.so", "/opt/a:b/python"};
  const ChildEnvironment child = child_environment({"LD_PRELOAD=/x.so"}, odd, "/tmp/r");
  CHECK(child.issues.size() == 2);
  CHECK(variable(merged_environment({"LD_PRELOAD=/x.so"}, child.added), "LD_PRELOAD") == "/x.so");
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

  FakeRoot build;
  build.put("cli/stallcast", "").put("probes/capture/libstallcast_capture.so", "");
  build.put("share/stallcast/python/sitecustomize.py", "");
  CHECK(find_installation_at(build.path() / "cli").ok());
}

}  // namespace
}  // namespace stallcast::collect
