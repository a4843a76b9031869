#include "probes/collect/pages/places_of_samples.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace stallcast::collect::testing {
namespace {

struct Read {
  std::int64_t index;
  std::uint64_t file;
  std::uint64_t offset;
  std::uint64_t bytes;
};

FilesOfSamples files_with(const std::vector<Read>& reads, std::uint64_t size_bytes) {
  Followed followed;
  for (std::uint64_t id = 1; id <= 3; ++id) {
    followed.paths.push_back({id, size_bytes, 0, "/data/shard-" + std::to_string(id) + ".bin"});
  }
  for (const Read& read : reads) {
    followed.touched.push_back(
        {.header = {}, .index = read.index, .file_id = read.file, .offset = read.offset, .bytes = read.bytes});
  }
  FilesOfSamples files;
  files.take(followed);
  return files;
}

/// One part that begins and ends there.
void check_part(const std::vector<FileStretch>& parts, std::uint64_t begin, std::uint64_t end) {
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].offset == begin);
  CHECK(parts[0].offset + parts[0].bytes == end);
}

/// Offsets of samples of 500 to 1,500 bytes, one after the other.
std::vector<std::uint64_t> offsets_of_unlike_sizes(std::size_t samples) {
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> offsets{0};
  for (std::size_t i = 0; i < samples; ++i) offsets.push_back(offsets.back() + 500 + random() % 1001);
  return offsets;
}

}  // namespace

TEST_CASE("places of samples: those of one size are where their index says") {
  std::vector<Read> reads;
  for (int index = 0; index < 1000; index += 7) {
    reads.push_back({index, 1, 4096 + 100 * static_cast<std::uint64_t>(index), 100});
  }
  PlacesOfSamples places;
  REQUIRE(places.learn(files_with(reads, 200'000)));
  REQUIRE(places.parts_of(500).has_value());
  check_part(*places.parts_of(500), 4096 + 50'000, 4096 + 50'100);
  CHECK(places.bytes_of_sample() == 100.0);
}

TEST_CASE("places of samples: of unlike sizes nearly all lie within what is held, which is a small part of the file") {
  const std::vector<std::uint64_t> offsets = offsets_of_unlike_sizes(6000);
  std::vector<Read> reads;
  std::mt19937_64 random(3);
  std::vector<bool> known(6000);
  for (std::size_t i = 0; i < 6000; ++i) known[i] = random() % 10 == 0;
  for (std::size_t i = 0; i < 6000; ++i) {
    if (known[i]) reads.push_back({static_cast<std::int64_t>(i), 1, offsets[i], offsets[i + 1] - offsets[i]});
  }
  PlacesOfSamples places;
  REQUIRE(places.learn(files_with(reads, offsets.back())));
  int outside = 0;
  int asked = 0;
  double held = 0.0;
  for (std::size_t i = 0; i < 6000; ++i) {
    if (known[i]) continue;
    const auto parts = places.parts_of(static_cast<std::int64_t>(i));
    REQUIRE(parts.has_value());
    REQUIRE(parts->size() == 1);
    const FileStretch& part = parts->front();
    ++asked;
    held += static_cast<double>(part.bytes);
    outside += part.offset > offsets[i] || part.offset + part.bytes < offsets[i + 1] ? 1 : 0;
  }
  CHECK(outside < asked / 100);
  CHECK(held / asked < 8.0 * places.bytes_of_sample());
}

TEST_CASE("places of samples: an index that some read beside their own part is common") {
  std::vector<Read> reads;
  for (int index = 0; index < 1000; index += 5) {
    reads.push_back({index, 1, 1'000'000 + 100 * static_cast<std::uint64_t>(index), 100});
    if (index % 15 == 0) reads.push_back({index, 1, 8 * static_cast<std::uint64_t>(index), 8});
  }
  PlacesOfSamples places;
  REQUIRE(places.learn(files_with(reads, 2'000'000)));
  check_part(*places.parts_of(502), 1'050'200, 1'050'300);
  REQUIRE(places.common().size() == 67);
  CHECK(places.common().front().bytes == 8);
}

TEST_CASE("places of samples: what most read is common, what few read beside files of their own is no place") {
  std::vector<Read> reads;
  for (int index = 0; index < 1000; index += 5) {
    reads.push_back({index, 1, 4'000'000 + 100 * static_cast<std::uint64_t>(index), 100});
    reads.push_back({index, 1, 4096, 512});
  }
  PlacesOfSamples places;
  REQUIRE(places.learn(files_with(reads, 5'000'000)));
  check_part(places.common(), 4096, 4608);
  check_part(*places.parts_of(502), 4'050'200, 4'050'300);

  std::vector<Read> few{{0, 1, 4096, 512}, {1, 1, 4096, 512}};
  for (int index = 0; index < 100; ++index)
    few.push_back({index, 2 + static_cast<std::uint64_t>(index), 0, UINT64_MAX});
  CHECK_FALSE(places.learn(files_with(few, 5'000'000)));
  CHECK_FALSE(places.are_needed());
  check_part(places.common(), 4096, 4608);
}

TEST_CASE("places of samples: shards one after the other, of which the ends are guessed") {
  std::vector<Read> reads;
  for (int index = 0; index < 900; index += 3) {
    const int shard = index / 300;
    reads.push_back({index, static_cast<std::uint64_t>(shard + 1), 100 * static_cast<std::uint64_t>(index % 300), 100});
  }
  PlacesOfSamples places;
  REQUIRE(places.learn(files_with(reads, 30'000)));
  check_part(*places.parts_of(400), 10'000, 10'100);
  const auto at_end = places.parts_of(299);  // between 297, of the first shard, and 300, of the second
  REQUIRE(at_end->size() == 2);
  CHECK(at_end->front().path == "/data/shard-1.bin");
  CHECK(at_end->front().offset + at_end->front().bytes == 30'000);
}

TEST_CASE("places of samples: without an order each may lie anywhere") {
  std::vector<Read> reads;
  for (int index = 0; index < 997; index += 3) {
    reads.push_back({index, 1, 100 * static_cast<std::uint64_t>(index * 389 % 997), 100});
  }
  PlacesOfSamples places;
  REQUIRE(places.learn(files_with(reads, 99'700)));
  CHECK_FALSE(places.parts_of(500).has_value());
  check_part(places.all_parts(), 0, 99'700);
}

TEST_CASE("places of samples: a table of places and one of sizes tell them without an order") {
  const std::vector<std::uint64_t> offsets = offsets_of_unlike_sizes(1000);
  const auto place_of = [](std::size_t index) { return index * 389 % 997; };
  std::vector<Read> reads;
  PlacesOfSamples places;
  for (std::size_t index = 0; index < 997; ++index) {
    const std::uint64_t begin = offsets[place_of(index)];
    const std::uint64_t bytes = offsets[place_of(index) + 1] - begin;
    if (index % 3 == 0) reads.push_back({static_cast<std::int64_t>(index), 1, 512 + begin, bytes});
    places.take(0, static_cast<std::int64_t>(index), static_cast<std::int64_t>(index % 10));
    places.take(1, static_cast<std::int64_t>(index), static_cast<std::int64_t>(begin));
    places.take(2, static_cast<std::int64_t>(index), static_cast<std::int64_t>(bytes));
  }
  REQUIRE(places.learn(files_with(reads, 512 + offsets.back())));
  for (const std::size_t index : {1U, 500U, 995U}) {
    check_part(*places.parts_of(static_cast<std::int64_t>(index)), 512 + offsets[place_of(index)],
               512 + offsets[place_of(index) + 1]);
  }
}

TEST_CASE("places of samples: few known ones, or files of their own, tell nothing") {
  std::vector<Read> few;
  for (int index = 0; index < 20; ++index) few.push_back({index, 1, 100 * static_cast<std::uint64_t>(index), 100});
  PlacesOfSamples places;
  CHECK_FALSE(places.learn(files_with(few, 2000)));
  CHECK(places.are_needed());
  CHECK_FALSE(places.parts_of(3).has_value());

  CHECK_FALSE(places.learn(files_with({{0, 1, 0, UINT64_MAX}, {1, 2, 0, UINT64_MAX}, {2, 3, 50, 50}}, 2000)));
  CHECK_FALSE(places.are_needed());
}

}  // namespace stallcast::collect::testing
