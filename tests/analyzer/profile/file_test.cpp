/// profile.json as a file: private, replaced as a whole, found in its folder.
#include <doctest/doctest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "analyzer/profile/json.hpp"
#include "tests/reports/sample_profiles.hpp"

namespace stallcast::testing {
namespace {

namespace fs = std::filesystem;

/// A folder of its own, removed at the end.
struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "stallcast-reports-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path path{};
};

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("a profile is saved into its folder, readable by its owner only, and loads from both names") {
  const Folder folder;
  REQUIRE(save_profile(prep_bound(), folder.path).ok());
  const fs::path file = folder.path / "profile.json";
  struct stat status {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0600U);
  for (const fs::path& name : {folder.path, file}) {
    const auto read = load_profile(name);
    REQUIRE(read.ok());
    CHECK(to_json(read.value()) == to_json(prep_bound()));
  }
}

TEST_CASE("saving again replaces the file and leaves nothing else behind") {
  const Folder folder;
  REQUIRE(save_profile(prep_bound(), folder.path).ok());
  REQUIRE(save_profile(fetch_bound(), folder.path / "profile.json").ok());
  CHECK(entries(folder.path) == 1);
  CHECK(to_json(load_profile(folder.path).value()) == to_json(fetch_bound()));
}

TEST_CASE("what cannot be written or read says so, with the path and a hint") {
  const Folder folder;
  const Status status = save_profile(prep_bound(), folder.path / "missing" / "profile.json");
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == ErrorCode::environment);
  CHECK(status.error().what.find("missing/profile.json") != std::string::npos);
  CHECK_FALSE(status.error().hint.empty());
  // A folder of that name keeps the rename from working: what was written beside it must go.
  fs::create_directories(folder.path / "taken" / "profile.json" / "inner");
  CHECK_FALSE(save_profile(prep_bound(), folder.path / "taken").ok());
  CHECK(entries(folder.path / "taken") == 1);
  const auto read = load_profile(folder.path / "nothing-here");
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().code == ErrorCode::bad_input);
  CHECK(read.error().what.find("nothing-here") != std::string::npos);
}

TEST_CASE("a file that is no profile is refused by its name") {
  const Folder folder;
  std::ofstream(folder.path / "profile.json") << "{\"schema_version\": 1, \"outcome\": 3}";
  const auto read = load_profile(folder.path);
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().what.find("profile.json: ") != std::string::npos);
  CHECK(load_profile("/dev/null").ok() == false);
}

}  // namespace stallcast::testing
