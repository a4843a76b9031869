#include "probes/collect/storage/files.hpp"

#include <doctest/doctest.h>

#include <set>

#include "tests/collect/fake_root.hpp"

namespace stallcast::collect::testing {

TEST_CASE("a sample is bounded, seeded, and fair over folders") {
  const FakeRoot root;
  for (int i = 0; i < 300; ++i) root.put((i < 200 ? "a/" : "b/c/") + std::to_string(i), std::string(1000, 'x'));
  SampleOptions options;
  options.most_files = 60;
  std::set<std::string> seen;
  double deep = 0.0;
  for (options.seed = 1; options.seed <= 30; ++options.seed) {
    const auto sample = sample_files(root.path(), options);
    REQUIRE(sample.ok());
    CHECK(sample.value().facts.seen == 300);
    CHECK(sample.value().facts.complete);
    REQUIRE(sample.value().files.size() == 60);
    for (const SampledFile& file : sample.value().files) {
      seen.insert(file.path);
      if (file.path.find("/b/c/") != std::string::npos) deep += 1.0;
    }
  }
  CHECK(seen.size() > 280);  // each with probability 1 - 0.8^30
  CHECK(deep / (30 * 60) == doctest::Approx(1.0 / 3.0).epsilon(0.15));
  options.seed = 7;
  CHECK(sample_files(root.path(), options).value().files[5].path ==
        sample_files(root.path(), options).value().files[5].path);
}

TEST_CASE("a walk that is cut short says so") {
  const FakeRoot root;
  for (int i = 0; i < 50; ++i) root.put("d" + std::to_string(i) + "/f", "x");
  SampleOptions options;
  options.most_folders = 10;
  const auto sample = sample_files(root.path(), options);
  REQUIRE(sample.ok());
  CHECK_FALSE(sample.value().facts.complete);
  CHECK(sample.value().facts.folders == 10);
  CHECK(sample.value().facts.seen >= 9);
  CHECK(sample.value().facts.seen < 50);
}

TEST_CASE("links are followed once, and whether they lead out is told") {
  const FakeRoot root;
  root.put("data/a", "x").put("outside/b", "x");
  std::filesystem::create_symlink(root.path() / "outside", root.path() / "data/link");
  std::filesystem::create_symlink(root.path() / "data", root.path() / "data/loop");
  const auto sample = sample_files(root.path() / "data", {});
  REQUIRE(sample.ok());
  CHECK(sample.value().facts.seen == 2);
  const std::string real = sample.value().facts.path;
  CHECK(lies_inside(real + "/a", real));
  CHECK_FALSE(lies_inside(real + "/link/b", real));
  CHECK_FALSE(lies_inside(real + "/nothing", real));
}

}  // namespace stallcast::collect::testing
