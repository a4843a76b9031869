/// FUSE: pages can be dropped where the kernel caches them, and what the server keeps cannot be seen; a file system
/// without pages has to say that it knows nothing.
#include <doctest/doctest.h>

#include <sstream>

#include "tests/capture/phase_fuse.hpp"
#include "tests/capture/phase_run.hpp"

namespace stallcast::test {
namespace {

std::string content() {
  std::string text;
  while (text.size() < 112'000) text += std::to_string(text.size()) + ' ';
  return text;
}

TEST_CASE("a FUSE file that the kernel caches is dropped") {
  const TemporaryFolder folder;
  const FuseFile fuse(folder.path(), content(), false);
  if (!fuse.refusal().empty()) skip(fuse.refusal());
  const std::string read = "read:" + fuse.file().string();
  PhasedRun run;
  const auto lines = run.guest({begin(Phase::cold, 0), read, "end", begin(Phase::cold, 1), read, "end"});
  CHECK(lines == std::vector<std::string>(2, line_of(content())));
  const auto seen = run.evidence();
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].resident_bytes == 0);
  CHECK(seen[1].evicted_bytes == content().size());
  CHECK(seen[1].resident_bytes == 0);
  CHECK(seen[1].storage_bytes < k_stray_bytes);  // no block device was asked: this premise is for others to judge
}

TEST_CASE("a FUSE file without pages is unknown") {
  const TemporaryFolder folder;
  const FuseFile fuse(folder.path(), content(), true);
  if (!fuse.refusal().empty()) skip(fuse.refusal());
  const std::string read = "read:" + fuse.file().string();
  PhasedRun run;
  const auto lines = run.guest({begin(Phase::cold, 0), read, "end", begin(Phase::cached, 1), read, "end"});
  CHECK(lines == std::vector<std::string>(2, line_of(content())));
  const auto seen = run.evidence();
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].opens == 1);
  CHECK(seen[0].unknown_opens == 1);
  CHECK(seen[1].unknown_opens == 1);
}

}  // namespace
}  // namespace stallcast::test
