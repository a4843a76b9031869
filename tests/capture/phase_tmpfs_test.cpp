/// tmpfs: its pages are its storage, so they cannot be dropped, and that has to show.
#include <doctest/doctest.h>

#include "tests/capture/phase_run.hpp"

namespace stallcast::test {
namespace {

constexpr std::size_t k_size = 112'000;

TEST_CASE("pages of a file in memory stay resident, whoever may drop them") {
  if (!std::filesystem::is_directory("/dev/shm")) skip("there is no /dev/shm");
  const TemporaryFolder folder("/dev/shm");
  const auto file = make_file(folder.path(), "a", k_size);
  if (drop_from_cache(file)) skip("/dev/shm is not in memory");
  const std::string line = line_of(read_file(file));
  for (const auto evict : {record::Evict::own, record::Evict::all}) {
    PhasedRun run(evict);
    const auto lines = run.guest({begin(Phase::cold, 0), "read:" + file.string(), "end",  //
                                  begin(Phase::cached, 1), "read:" + file.string(), "end"});
    CHECK(lines == std::vector<std::string>(2, line));
    const auto seen = run.evidence();
    REQUIRE(seen.size() == 2);
    CHECK(seen[0].opens == 1);
    CHECK(seen[0].unknown_opens == 0);
    CHECK(seen[0].resident_bytes == k_size);
    CHECK(seen[0].evicted_bytes == 0);
    CHECK(seen[0].foreign_bytes == (evict == record::Evict::own ? k_size : 0));
    CHECK(seen[1].resident_bytes == k_size);
  }
}

}  // namespace
}  // namespace stallcast::test
