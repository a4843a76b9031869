#include "analyzer/steps/first_reads.hpp"

#include <doctest/doctest.h>

using namespace stallcast;

namespace {

record::SampleRecord sample(std::int64_t index, std::uint64_t begin_ns) {
  record::SampleRecord made{};
  made.index = index;
  made.begin_ns = begin_ns;
  return made;
}

}  // namespace

TEST_CASE("the first of all readings of a sample, in whichever process") {
  std::vector<record::ProcessRecording> processes(2);
  processes[0].samples = {sample(4, 1), sample(4, 3), sample(7, 5)};
  processes[1].samples = {sample(9, 2), sample(7, 4), sample(-1, 2)};
  const FirstReads reads(processes);
  CHECK(reads.share(1, 4) == doctest::Approx(2.0 / 3.0));  // 4, 9, 4 again; what has no index does not count
  CHECK(reads.share(3, 4) == 0.0);
  CHECK(reads.share(4, 6) == 0.5);  // 7 is first in the other process
  CHECK(reads.share(6, 9) < 0.0);
  CHECK(FirstReads({}).share(0, 9) < 0.0);
}
