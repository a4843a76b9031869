// Runs a fuzz target without libFuzzer: on every seed, and on mutations of them that are the same every time.
// So that the targets build, and their seeds pass, with any compiler and in every run of the tests.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;
constexpr int k_mutations_per_seed = 160;  ///< where the command line has no other number

/// One random edit: a byte changed, removed, doubled, or everything after it cut off.
void mutate(Input& input, std::mt19937_64& random) {
  if (input.empty()) {
    input.push_back(static_cast<std::uint8_t>(random()));
    return;
  }
  const auto at = static_cast<std::ptrdiff_t>(random() % input.size());
  switch (random() % 5) {
    case 0:
      input[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(random());
      break;
    case 1:
      input[static_cast<std::size_t>(at)] ^= static_cast<std::uint8_t>(1U << (random() % 8));
      break;
    case 2:
      input.erase(input.begin() + at);
      break;
    case 3:
      input.insert(input.begin() + at, input[static_cast<std::size_t>(at)]);
      break;
    default:
      input.resize(static_cast<std::size_t>(at));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) return 2;
  const int mutations = argc == 3 ? std::atoi(argv[2]) : k_mutations_per_seed;
  if (mutations <= 0) return 2;
  std::set<std::filesystem::path> seeds;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[1])) {
    if (entry.is_regular_file()) seeds.insert(entry.path());
  }
  std::mt19937_64 random(1);
  for (const auto& path : seeds) {
    std::ifstream file(path, std::ios::binary);
    const Input seed{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    LLVMFuzzerTestOneInput(seed.data(), seed.size());
    Input input = seed;
    for (int round = 0; round < mutations; ++round) {
      if (round % 8 == 0) input = seed;
      mutate(input, random);
      LLVMFuzzerTestOneInput(input.data(), input.size());
    }
  }
  std::printf("%zu seeds\n", seeds.size());
  return seeds.empty() ? 1 : 0;
}
