/// A small training job in C++ that marks its own waits, batches, samples and steps.
///
///   cpp_job FOLDER [--workers N] [--prefetch N] [--batch N] [--epochs N] [--step-ms N] [--prep-passes N]
///                  [--make-files N] [--file-bytes N]
///
/// FOLDER holds one sample a file; --make-files fills it first. The step only waits --step-ms, as an accelerator that
/// works by itself would make the program wait. The last line of its output is what the job measured itself.
#include <stallcast/capture.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <thread>

#include "loader.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using Options = std::map<std::string, int>;

double seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

int usage(const char* problem) {
  std::fprintf(stderr,
               "cpp_job: %s\nusage: cpp_job FOLDER [--workers N] [--prefetch N] [--batch N] [--epochs N] "
               "[--step-ms N] [--prep-passes N] [--make-files N] [--file-bytes N]\n",
               problem);
  return 2;
}

bool parse(int argc, char** argv, Options& options) {
  for (int at = 2; at + 1 < argc; at += 2) {
    const auto option = options.find(argv[at]);
    if (option == options.end()) return false;
    char* end = nullptr;
    const long value = std::strtol(argv[at + 1], &end, 10);
    if (*end != '\0' || value < 0 || value > 100'000'000) return false;
    option->second = static_cast<int>(value);
  }
  return argc % 2 == 0 && options["--workers"] > 0 && options["--batch"] > 0 && options["--prefetch"] > 0;
}

void make_files(const std::string& folder, int files, int bytes) {
  std::filesystem::create_directories(folder);
  std::mt19937 random(1);
  std::string content(static_cast<std::size_t>(bytes), '\0');
  for (int i = 0; i < files; ++i) {
    for (char& byte : content) byte = static_cast<char>(random());
    std::ofstream(folder + "/" + std::to_string(i) + ".bin", std::ios::binary) << content;
  }
}

std::vector<std::string> list_files(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Says once what the loader is, and at each pass that one begins: what a report shows beside the numbers.
void describe_loader(const cpp_job::Settings& settings, std::size_t samples) {
  stallcast_text(STALLCAST_TEXT_PROCESS, R"({"role":"consumer","framework":"c++"})");
  const std::string text = R"({"loader_id":0,"kind":"c_api","dataset_type":"map","shuffled":true,"in_order":true,)"
                           R"("drop_last":true,"batch_size":)" +
                           std::to_string(settings.batch_size) + R"(,"num_workers":)" +
                           std::to_string(settings.workers) + R"(,"prefetch_factor":)" +
                           std::to_string(settings.prefetch) + R"(,"dataset_samples":)" + std::to_string(samples) + "}";
  stallcast_text(STALLCAST_TEXT_LOADER, text.c_str());
}

void describe_pass(int epoch) {
  const std::string number = std::to_string(epoch);
  const std::string text = R"({"iterator_id":)" + number + R"(,"loader_id":0,"epoch":)" + number + "}";
  stallcast_text(STALLCAST_TEXT_ITERATOR, text.c_str());
}

struct Totals {
  std::uint64_t steps = 0;
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
  double wait_s = 0;
};

void train_epoch(cpp_job::Loader& loader, int step_ms, Totals& totals) {
  for (std::uint64_t i = 0; i < loader.batches(); ++i) {
    const cpp_job::Batch batch = loader.next();
    if (step_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(step_ms));
    stallcast_step();
    totals.steps += 1;
    totals.samples += batch.features.size();
    totals.bytes += batch.bytes;
  }
  totals.wait_s += loader.waited_s();
}

}  // namespace

int main(int argc, char** argv) {
  Options options = {{"--workers", 2}, {"--prefetch", 2},    {"--batch", 16},     {"--epochs", 1},
                     {"--step-ms", 5}, {"--prep-passes", 4}, {"--make-files", 0}, {"--file-bytes", 100'000}};
  if (argc < 2) return usage("which folder?");
  if (!parse(argc, argv, options)) return usage("an option is unknown or lacks its number");
  const std::string folder = argv[1];
  if (options["--make-files"] > 0) make_files(folder, options["--make-files"], options["--file-bytes"]);
  auto files = list_files(folder);
  const cpp_job::Settings settings{.folder = folder,
                                   .workers = options["--workers"],
                                   .prefetch = options["--prefetch"],
                                   .batch_size = options["--batch"],
                                   .prep_passes = options["--prep-passes"]};
  if (files.size() < static_cast<std::size_t>(settings.batch_size))
    return usage("the folder holds less than one batch");

  describe_loader(settings, files.size());
  std::mt19937 random(2);
  Totals totals;
  const auto begin = Clock::now();
  for (int epoch = 0; epoch < options["--epochs"]; ++epoch) {
    std::shuffle(files.begin(), files.end(), random);
    describe_pass(epoch);
    cpp_job::Loader loader(settings, static_cast<std::uint64_t>(epoch), files);
    train_epoch(loader, options["--step-ms"], totals);
    stallcast_wait_begin();
    stallcast_wait_end(static_cast<std::uint64_t>(epoch), loader.batches(), 0, 0, STALLCAST_WAIT_END_OF_EPOCH);
  }
  const double elapsed_s = seconds(Clock::now() - begin);
  std::printf(
      "{\"steps\": %llu, \"samples\": %llu, \"bytes\": %llu, \"elapsed_s\": %.6f, \"wait_s\": %.9f, "
      "\"samples_per_s\": %.2f}\n",
      static_cast<unsigned long long>(totals.steps), static_cast<unsigned long long>(totals.samples),
      static_cast<unsigned long long>(totals.bytes), elapsed_s, totals.wait_s,
      static_cast<double>(totals.samples) / elapsed_s);
  return 0;
}
