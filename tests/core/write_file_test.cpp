/// Files that are replaced as a whole or not at all, and what is never replaced.
#include "core/write_file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace stallcast {
namespace {

namespace fs = std::filesystem;

struct Scratch {
  fs::path path = fs::temp_directory_path() / ("stallcast-write-test-" + std::to_string(::getpid()));
  Scratch() { fs::create_directories(path); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { fs::remove_all(path); }

  [[nodiscard]] std::ptrdiff_t entries() const { return std::distance(fs::directory_iterator(path), {}); }
};

std::string content_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

unsigned mode_of(const fs::path& path) {
  return static_cast<unsigned>(fs::status(path).permissions());
}

}  // namespace

TEST_CASE("our own files are nobody else's; files that the user named are as any new file") {
  const Scratch scratch;
  const mode_t before = ::umask(022);
  CHECK(write_private_file(scratch.path / "private", "a").ok());
  CHECK(write_named_file(scratch.path / "named", "b").ok());
  ::umask(027);
  CHECK(write_named_file(scratch.path / "narrow", "c").ok());
  ::umask(before);
  CHECK(mode_of(scratch.path / "private") == 0600U);
  CHECK(mode_of(scratch.path / "named") == 0644U);
  CHECK(mode_of(scratch.path / "narrow") == 0640U);
  CHECK(content_of(scratch.path / "named") == "b");
  CHECK(scratch.entries() == 3);
}

TEST_CASE("a file that is replaced keeps its permissions, and a link stays one") {
  const Scratch scratch;
  std::ofstream(scratch.path / "old") << "old";
  fs::permissions(scratch.path / "old", fs::perms{0604});
  fs::create_symlink("old", scratch.path / "link");
  CHECK(write_named_file(scratch.path / "link", "new").ok());
  CHECK(fs::is_symlink(scratch.path / "link"));
  CHECK(content_of(scratch.path / "old") == "new");
  CHECK(mode_of(scratch.path / "old") == 0604U);
  CHECK(scratch.entries() == 2);
}

TEST_CASE("what is no regular file is written to, and is there afterwards") {
  const Scratch scratch;
  const fs::path pipe = scratch.path / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(reader >= 0);
  CHECK(write_named_file(pipe, "through").ok());
  char seen[16] = {};
  CHECK(::read(reader, seen, sizeof seen) == 7);
  ::close(reader);
  CHECK(std::string(seen) == "through");
  CHECK(fs::is_fifo(pipe));
  CHECK(scratch.entries() == 1);
  const Status full = write_named_file("/dev/full", "x");
  REQUIRE_FALSE(full.ok());
  CHECK(full.error().code == ErrorCode::environment);
  CHECK(full.error().what.find("/dev/full") != std::string::npos);
  CHECK(fs::is_character_file("/dev/full"));
}

TEST_CASE("where it cannot be written, nothing is left behind and nothing is lost") {
  const Scratch scratch;
  for (const auto write : {write_private_file, write_named_file}) {
    CHECK_FALSE(write(scratch.path / "nowhere" / "file", "x").ok());
    fs::create_directories(scratch.path / "folder" / "inside");
    CHECK_FALSE(write(scratch.path / "folder", "x").ok());
    CHECK(fs::exists(scratch.path / "folder" / "inside"));
    CHECK(scratch.entries() == 1);
  }
}

}  // namespace stallcast
