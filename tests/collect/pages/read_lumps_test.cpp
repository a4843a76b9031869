#include "probes/collect/pages/read_lumps.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace stallcast::collect {
namespace {

Followed batches_of(std::int32_t pid, const std::vector<std::uint64_t>& bytes) {
  Followed followed;
  for (const std::uint64_t read : bytes) followed.batches.push_back({pid, read, 0});
  return followed;
}

}  // namespace

TEST_CASE("read lumps: reads are as far apart as a worker's batches that read are, by the most") {
  ReadLumps lumps;
  CHECK(lumps.between_reads() == 0);
  lumps.take(batches_of(7, {20'000'000, 0, 0, 4096, 0}));
  CHECK(lumps.between_reads() == 0);  // its second read has not come yet
  lumps.take(batches_of(8, {0, 0, 0, 0, 0, 0, 0, 20'000'000}));
  CHECK(lumps.between_reads() == 0);  // another worker's, and what was before its first is not known
  lumps.take(batches_of(7, {15'000'000, 0, 18'000'000}));
  CHECK(lumps.between_reads() == 5);
  CHECK(lumps.between_opens() == 0);
}

TEST_CASE("read lumps: of workers that read for each batch reads are one apart, openings a shard") {
  ReadLumps tar;
  Followed followed = batches_of(7, {800'000, 810'000, 790'000, 100'000, 800'000});
  followed.batches.front().opens = 7;
  followed.batches.back().opens = 1;
  tar.take(followed);
  CHECK(tar.between_reads() == 1);
  CHECK(tar.between_opens() == 4);
  ReadLumps nothing;
  nothing.take(batches_of(7, {0, 0, 0}));
  CHECK(nothing.between_reads() == 0);
}

}  // namespace stallcast::collect
