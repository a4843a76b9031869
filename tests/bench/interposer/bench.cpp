/// What the capture library costs a guest, operation by operation: the same program with and without it, alternating,
/// so that drift of the machine cancels. Prints the median of the paired differences.
///
///   off       nothing preloaded: the base that the others are compared with
///   unarmed   preloaded, no run: what a process pays that inherits LD_PRELOAD alone
///   paused    in a run whose recording is switched off (the off half of overhead pairs)
///   recorded  in a run
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/capture/run_folder.hpp"

namespace {

using namespace stallcast;  // NOLINT(google-build-using-namespace)

constexpr std::size_t k_page_bytes = 4096;
constexpr std::size_t k_file_bytes = 20'000;
constexpr int k_files = 64;

using Times = std::map<std::string, double>;

void write_file(const std::filesystem::path& path, std::size_t bytes) {
  std::ofstream(path, std::ios::binary) << std::string(bytes, 'x');
}

Times run_probe(const std::filesystem::path& data, const test::GuestOptions& options) {
  const auto result = test::run_guest({STALLCAST_INTERPOSER_PROBE, data.string()}, options);
  if (result.exit_status != 0) {
    std::fprintf(stderr, "probe failed: %s\n", result.output.c_str());
    std::exit(1);
  }
  Times times;
  std::istringstream lines(result.output);
  std::string name;
  for (double value = 0; lines >> name >> value;) times[name] = value;
  return times;
}

Times run_in_folder(const std::filesystem::path& data, std::uint32_t recording) {
  test::RunFolder run;
  run.control().recording.store(recording);
  return run_probe(data, {.run_dir = run.path().string()});
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 15;
  test::TemporaryFolder data;
  write_file(data.path() / "page", k_page_bytes);
  for (int i = 0; i < k_files; ++i) write_file(data.path() / std::to_string(i), k_file_bytes);

  std::map<std::string, std::vector<double>> base;
  std::map<std::string, std::map<std::string, std::vector<double>>> added;
  for (int round = 0; round < rounds; ++round) {
    const Times off = run_probe(data.path(), {.preload = false});
    const std::map<std::string, Times> with = {{"unarmed", run_probe(data.path(), {})},
                                               {"paused", run_in_folder(data.path(), 0)},
                                               {"recorded", run_in_folder(data.path(), 1)}};
    for (const auto& [name, ns] : off) {
      base[name].push_back(ns);
      for (const auto& [mode, times] : with) added[name][mode].push_back(times.at(name) - ns);
    }
  }
  std::printf("median of %d paired differences, ns a call\n", rounds);
  std::printf("%-22s %10s %10s %10s %10s\n", "operation", "off", "+unarmed", "+paused", "+recorded");
  for (auto& [name, modes] : added) {
    std::printf("%-22s %10.1f %10.1f %10.1f %10.1f\n", name.c_str(), median(base[name]), median(modes["unarmed"]),
                median(modes["paused"]), median(modes["recorded"]));
  }
  return 0;
}
