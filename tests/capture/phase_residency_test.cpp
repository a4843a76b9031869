/// Who may ask what is resident, and with which kernel.
#include <doctest/doctest.h>
#include <unistd.h>

#include "tests/capture/phase_run.hpp"

namespace stallcast::test {
namespace {

constexpr std::size_t k_size = 112'000;

struct Data {
  Data() {
    if (::geteuid() != 0) skip("only root can become another user");
    if (resident_bytes(file) != 0) skip("pages of the temporary folder cannot be dropped from the page cache");
    std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  }
  TemporaryFolder folder{};
  std::filesystem::path file = make_file(folder.path(), "a", k_size);
  std::string read = "read:" + file.string();
};

TEST_CASE("a kernel without cachestat is asked through a map") {
  const Data data;
  PhasedRun run;
  run.guest({"refuse:451:38", begin(Phase::cold, 0), data.read, "end", begin(Phase::cold, 1), data.read, "end",  //
             begin(Phase::as_is, 2), data.read, "end", "keep:" + data.file.string(), begin(Phase::cold, 3),
             "pread:0:112000", "end"});
  const auto seen = run.evidence();
  REQUIRE(seen.size() == 4);
  for (const auto& batch : seen) CHECK(batch.unknown_opens == 0);
  CHECK(seen[0].resident_bytes == 0);
  CHECK(seen[0].evicted_bytes == 0);
  CHECK(seen[1].evicted_bytes == k_size);
  CHECK(seen[1].resident_bytes == 0);
  CHECK(seen[2].resident_bytes == k_size);
  CHECK(seen[3].evicted_bytes == k_size);
}

TEST_CASE("a user to whom neither call tells the truth does not know, and drops nothing") {
  const Data data;
  for (const bool resident : {false, true}) {
    if (resident) read_file(data.file);
    PhasedRun run;
    run.guest({"refuse:451:1", begin(Phase::as_is, 0), "end", "user:65534", begin(Phase::cold, 1), data.read, "end"});
    const auto seen = run.evidence().at(1);
    CHECK(seen.opens == 1);
    CHECK(seen.unknown_opens == 1);
    CHECK(seen.opened_bytes == k_size);
    CHECK(seen.resident_bytes == 0);
    CHECK(seen.evicted_bytes == 0);
    CHECK(resident_bytes(data.file) > 0);
    drop_from_cache(data.file);
  }
}

TEST_CASE("another user's file that is open to writing can be asked about") {
  const Data data;
  std::filesystem::permissions(data.file, std::filesystem::perms(0666));
  read_file(data.file);
  PhasedRun run;
  run.guest({"refuse:451:38", begin(Phase::as_is, 0), "end", "user:65534", begin(Phase::cold, 1), data.read, "end"});
  CHECK(run.evidence().at(1).unknown_opens == 0);
  CHECK(run.evidence().at(1).foreign_bytes > 0);
}

}  // namespace
}  // namespace stallcast::test
