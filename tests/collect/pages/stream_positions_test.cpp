#include "probes/collect/pages/stream_positions.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <unordered_map>

namespace stallcast::collect {
namespace {

namespace fs = std::filesystem;

/// A folder that looks like /proc, with a process that has files open.
struct MadeProc {
  fs::path folder = fs::temp_directory_path() / ("stallcast-positions-test-" + std::to_string(::getpid()));
  std::unordered_map<std::string, std::uint64_t> files{{"/data/0.tar", 1000}, {"/data/1.tar", 2000}};

  MadeProc() { fs::create_directories(folder); }
  MadeProc(const MadeProc&) = delete;
  MadeProc& operator=(const MadeProc&) = delete;
  ~MadeProc() { fs::remove_all(folder); }

  void open(int pid, int file, const std::string& path, int position) const {
    const fs::path process = folder / std::to_string(pid);
    fs::create_directories(process / "fd");
    fs::create_directories(process / "fdinfo");
    fs::remove(process / "fd" / std::to_string(file));
    fs::create_symlink(path, process / "fd" / std::to_string(file));
    std::ofstream(process / "fdinfo" / std::to_string(file)) << "pos:\t" << position << "\nflags:\t0100000\n";
  }
};

}  // namespace

TEST_CASE("readers are those of the data's files that go on") {
  const MadeProc proc;
  StreamPositions positions(proc.folder);
  CHECK(positions.readers().empty());
  proc.open(7, 3, "/data/0.tar", 100);
  proc.open(7, 4, "/etc/passwd", 50);
  proc.open(7, 5, "/data/1.tar", 0);  // opened, and read by pread or through a map
  positions.look({7, 8}, proc.files);
  REQUIRE(positions.readers().size() == 1);
  CHECK(positions.readers()[0].pid == 7);
  CHECK(positions.readers()[0].path == "/data/0.tar");
  CHECK(positions.readers()[0].position == 100);
  CHECK(positions.readers()[0].left_bytes() == 900);
  CHECK(positions.passed_bytes() == 0);
  proc.open(7, 3, "/data/0.tar", 400);
  positions.look({7, 8}, proc.files);
  CHECK(positions.passed_bytes() == 300);
  // The rest of what is closed was read to its end, and the next from its begin.
  proc.open(7, 3, "/data/1.tar", 30);
  positions.look({7, 8}, proc.files);
  CHECK(positions.passed_bytes() == 300 + 600 + 30);
  REQUIRE(positions.readers().size() == 1);
  CHECK(positions.readers()[0].path == "/data/1.tar");
}

TEST_CASE("a process of this machine is found where it is") {
  const fs::path folder = fs::temp_directory_path() / ("stallcast-positions-real-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const std::string path = fs::canonical(folder) / "0.tar";
  std::ofstream(path) << std::string(5000, 'x');
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  char buffer[1234];
  REQUIRE(read(file, buffer, sizeof buffer) == sizeof buffer);
  StreamPositions positions;
  positions.look({static_cast<std::int32_t>(::getpid())}, {{path, 5000}});
  REQUIRE(positions.readers().size() == 1);
  CHECK(positions.readers()[0].position == sizeof buffer);
  close(file);
  positions.look({static_cast<std::int32_t>(::getpid())}, {{path, 5000}});
  CHECK(positions.readers().empty());
  fs::remove_all(folder);
}

TEST_CASE("what comes next is held in parts, up to the end of the file") {
  constexpr std::uint64_t k_mib = 1ULL << 20U;
  const StreamReader reader{7, "/data/0.tar", 10 * k_mib, 100 * k_mib};
  const auto parts = next_parts(reader, 0, 9 * k_mib);
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].offset == 10 * k_mib);
  CHECK(parts[2].offset + parts[2].bytes == 19 * k_mib);
  const auto last = next_parts(reader, 0, 900 * k_mib);
  CHECK(last.back().offset + last.back().bytes == 100 * k_mib);
  CHECK(next_parts({7, "/data/0.tar", 200 * k_mib, 100 * k_mib}, 0, k_mib).empty());
  CHECK(next_parts(reader, 5 * k_mib, 9 * k_mib).front().offset == 15 * k_mib);
}

}  // namespace stallcast::collect
