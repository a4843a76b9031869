#include "probes/collect/pages/populated_pages.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <vector>

#include "probes/collect/storage/pool.hpp"
#include "probes/record/populated_pages.hpp"
#include "tests/collect/fake_root.hpp"

namespace stallcast::collect::testing {
namespace {

struct stat facts_of(const std::filesystem::path& path) {
  struct stat facts {};
  REQUIRE(stat(path.c_str(), &facts) == 0);
  return facts;
}

/// A run folder with these keys in its set.
void put_keys(const FakeRoot& run, const std::vector<std::uint64_t>& keys) {
  std::vector<std::uint64_t> slots(record::k_own_slots);
  for (const std::uint64_t key : keys) slots[key % slots.size()] = key;
  run.put(record::k_populated_pages_file,
          {reinterpret_cast<const char*>(slots.data()), slots.size() * sizeof(slots[0])});
}

}  // namespace

TEST_CASE("own pages: whole files, chunks of larger ones, and no others") {
  const FakeRoot root;
  root.put("whole", "x").put("shard", "x").put("other", "x");
  const auto whole = facts_of(root.path() / "whole");
  const auto shard = facts_of(root.path() / "shard");
  constexpr std::uint64_t chunk = record::k_own_chunk_bytes;
  put_keys(root,
           {record::own_file_key(whole.st_dev, whole.st_ino), record::own_chunk_key(shard.st_dev, shard.st_ino, 3),
            record::own_chunk_key(shard.st_dev, shard.st_ino, 4)});
  const PopulatedPages own = PopulatedPages::load(root.path());
  CHECK(own.hold(whole, {0, 1}));
  CHECK(own.hold(shard, {3 * chunk, 2 * chunk}));
  CHECK(own.hold(shard, {4 * chunk + 5, 1}));
  CHECK_FALSE(own.hold(shard, {3 * chunk, 2 * chunk + 1}));
  CHECK_FALSE(own.hold(shard, {2 * chunk, 2 * chunk}));
  CHECK_FALSE(own.hold(facts_of(root.path() / "other"), {0, 1}));
}

TEST_CASE("own pages: a run that left no set owns nothing") {
  const FakeRoot root;
  root.put("file", "x");
  PopulatedPages own = PopulatedPages::load(root.path());
  CHECK(own.empty());
  CHECK_FALSE(own.hold(facts_of(root.path() / "file"), {0, 1}));
  root.put(record::k_populated_pages_file, "cut");
  CHECK(PopulatedPages::load(root.path()).empty());
}

TEST_CASE("own pages: a pool drops those of the run and leaves a stranger's") {
  // Below the working folder: $TMPDIR is more often in memory, where nothing can be dropped.
  std::string folder = (std::filesystem::current_path() / "own-pages-XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  const std::filesystem::path root = folder;
  const std::string content(64 << 10, 'x');
  for (const char* name : {"ours", "stranger"}) {
    std::ofstream(root / name, std::ios::binary) << content;
    const int file = open((root / name).c_str(), O_RDWR);
    REQUIRE(fsync(file) == 0);
    std::vector<char> read_back(content.size());
    REQUIRE(pread(file, read_back.data(), read_back.size(), 0) == static_cast<ssize_t>(content.size()));
    close(file);
  }
  const auto ours = facts_of(root / "ours");
  const FakeRoot run;
  put_keys(run, {record::own_file_key(ours.st_dev, ours.st_ino)});
  const PopulatedPages own = PopulatedPages::load(run.path());
  const auto sample = sample_files(root.string(), {});
  REQUIRE(sample.ok());
  StoragePool pool(sample.value(), StorageEvict::own, own, 1, ~0ULL);
  const auto tasks = pool.tasks(record::StorageRead::whole_file, record::StorageState::cold);
  const bool on_a_disk = pool.no_cold_reason().find("tmpfs") == std::string::npos;
  if (on_a_disk && !pool.direct() && pool.resident_share() == 1.0) {
    REQUIRE(tasks.size() == 1);
    CHECK(std::string(tasks[0].path).ends_with("ours"));
  } else {
    MESSAGE("skipped: the files were not in memory, or nobody may drop them here");
  }
  std::filesystem::remove_all(root);
}

}  // namespace stallcast::collect::testing
