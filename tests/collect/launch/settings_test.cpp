#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "probes/collect/launch/loader_override.hpp"
#include "probes/collect/system/cpu_limit.hpp"
#include "tests/collect/fake_root.hpp"

namespace stallcast::collect {
namespace {

using testing::FakeRoot;

TEST_CASE("fewer CPUs, while the limit lives") {
  const std::vector<int> before = allowed_cpus();
  REQUIRE_FALSE(before.empty());
  CHECK(std::is_sorted(before.begin(), before.end()));
  {
    auto limit = CpuLimit::hold(1);
    REQUIRE(limit.ok());
    CHECK(allowed_cpus() == std::vector<int>{before.front()});
    const CpuLimit moved = std::move(limit).value();
    CHECK(allowed_cpus().size() == 1);
  }
  CHECK(allowed_cpus() == before);
}

TEST_CASE("more CPUs than there are, or none, are refused and change nothing") {
  const std::vector<int> before = allowed_cpus();
  for (const int count : {0, -1, static_cast<int>(before.size()) + 1, 1'000'000}) {
    const auto limit = CpuLimit::hold(count);
    REQUIRE_FALSE(limit.ok());
    CHECK(limit.error().code == ErrorCode::usage);
    CHECK(allowed_cpus() == before);
  }
}

TEST_CASE("an override as the Python part reads it") {
  LoaderOverride asked;
  asked.workers = 0;
  asked.dataset_type = "Image\xff";
  asked.batch_size = 32;
  asked.shuffled = true;
  const auto text = nlohmann::json::parse(override_text(asked));
  CHECK(text["num_workers"] == 0);
  CHECK(text["prefetch_factor"].is_null());
  CHECK(text["where"].size() == 3);
  CHECK(text["where"]["batch_size"] == 32);
  CHECK(text["where"]["shuffled"] == true);

  FakeRoot root;
  REQUIRE(write_loader_override(root.path(), asked).ok());
  CHECK(testing::slurp(root.path() / "loader.json") == override_text(asked));
  CHECK(testing::mode_of(root.path() / "loader.json") == 0600);
  CHECK_FALSE(write_loader_override(root.path() / "absent", asked).ok());
}

}  // namespace
}  // namespace stallcast::collect
