/// overlayfs, on which containers run: cachestat(2) answers for the overlay and not for the file below.
#include <doctest/doctest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tests/capture/phase_run.hpp"

namespace stallcast::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_size = 112'000;

class Overlay {
 public:
  Overlay() {
    for (const char* name : {"lower", "upper", "work", "merged"}) fs::create_directory(folder_.path() / name);
    const std::string below = folder_.path().string();
    const std::string options = "lowerdir=" + below + "/lower,upperdir=" + below + "/upper,workdir=" + below + "/work";
    if (::mount("overlay", merged().c_str(), "overlay", 0, options.c_str()) == 0) return;
    skip(std::string("mounting an overlay: ") + std::strerror(errno));
  }
  ~Overlay() { ::umount2(merged().c_str(), MNT_DETACH); }
  Overlay(const Overlay&) = delete;
  Overlay& operator=(const Overlay&) = delete;

  [[nodiscard]] fs::path lower() const { return folder_.path() / "lower"; }
  [[nodiscard]] fs::path merged() const { return folder_.path() / "merged"; }

 private:
  TemporaryFolder folder_{};
};

TEST_CASE("residency is that of the file below") {
  const Overlay overlay;
  const auto below = make_file(overlay.lower(), "own", k_size);
  if (resident_bytes(below) != 0) skip("pages of the temporary folder cannot be dropped from the page cache");
  const std::string read = "read:" + (overlay.merged() / "own").string();
  PhasedRun run;
  const auto lines = run.guest({begin(Phase::cold, 0), read, "end", begin(Phase::cold, 1), read, "end",  //
                                begin(Phase::as_is, 2), read, "end", begin(Phase::cached, 3), read, "end"});
  CHECK(lines == std::vector<std::string>(4, line_of(read_file(below))));
  const auto seen = run.evidence();
  REQUIRE(seen.size() == 4);
  CHECK(seen[0].resident_bytes == 0);
  CHECK(seen[0].evicted_bytes == 0);
  CHECK(seen[1].evicted_bytes == k_size);
  CHECK(seen[1].storage_bytes >= k_size);
  CHECK(seen[2].resident_bytes == k_size);
  CHECK(seen[3].resident_bytes > 0);
  for (const auto& batch : seen) CHECK(batch.unknown_opens == 0);
}

TEST_CASE("a stranger's pages stay below an overlay too") {
  const Overlay overlay;
  const auto below = make_file(overlay.lower(), "foreign", k_size);
  read_file(below);
  PhasedRun run;
  run.guest({begin(Phase::cold, 0), "read:" + (overlay.merged() / "foreign").string(), "end"});
  CHECK(run.evidence().at(0).foreign_bytes > 0);
  CHECK(resident_bytes(below) > 0);
}

}  // namespace
}  // namespace stallcast::test
