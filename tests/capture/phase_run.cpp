#include "tests/capture/phase_run.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <tuple>

namespace stallcast::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_page = 4096;

/// A descriptor for a scope.
class Opened {
 public:
  explicit Opened(const fs::path& file) : fd_(::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0) throw std::runtime_error("cannot open " + file.string());
  }
  ~Opened() { ::close(fd_); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

void skip(const std::string& reason) {
  std::printf("skipped: %s\n", reason.c_str());
  std::fflush(stdout);
  std::_Exit(77);
}

std::uint64_t resident_bytes(const fs::path& file) {
  const Opened opened(file);
  const std::uint64_t size = fs::file_size(file);
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, opened.fd(), 0);
  if (mapped == MAP_FAILED) throw std::runtime_error("cannot map " + file.string());
  std::vector<unsigned char> pages((size + k_page - 1) / k_page);
  const bool asked = ::mincore(mapped, size, pages.data()) == 0;
  ::munmap(mapped, size);
  if (!asked) throw std::runtime_error("mincore");
  const auto resident = std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1U) != 0; });
  return std::min(static_cast<std::uint64_t>(resident) * k_page, size);
}

bool drop_from_cache(const fs::path& file) {
  const Opened opened(file);
  ::fsync(opened.fd());
  for (int tries = 0; tries < 50; ++tries) {
    ::posix_fadvise(opened.fd(), 0, 0, POSIX_FADV_DONTNEED);
    if (resident_bytes(file) == 0) return true;
    ::usleep(2000);
  }
  return false;
}

std::string read_file(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

fs::path make_file(const fs::path& folder, const std::string& name, std::size_t bytes) {
  static std::uint64_t state = 88172645463325252ULL;
  std::string content(bytes, '\0');
  for (char& byte : content) {  // xorshift64: different in every file
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    byte = static_cast<char>(state);
  }
  fs::path file = folder / name;
  std::ofstream(file, std::ios::binary) << content;
  drop_from_cache(file);
  return file;
}

std::string begin(Phase phase, std::uint32_t segment, std::uint32_t stream, std::uint64_t batch, std::uint64_t argument,
                  std::uint32_t seed) {
  std::ostringstream text;
  text << "begin:" << static_cast<std::uint32_t>(phase) << ':' << segment << ':' << stream << ':' << batch << ':'
       << argument << ':' << seed;
  return text.str();
}

std::string line_of(const std::string& content) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char byte : content) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
  char line[64];
  std::snprintf(line, sizeof(line), "%zu %016llx", content.size(), static_cast<unsigned long long>(hash));
  return line;
}

PhasedRun::PhasedRun(record::Evict evict) {
  control().mode = static_cast<std::uint32_t>(record::RunMode::phased);
  control().evict = static_cast<std::uint32_t>(evict);
}

std::vector<std::string> PhasedRun::guest(const std::vector<std::string>& commands) {
  std::vector<std::string> words{STALLCAST_PHASE_GUEST};
  words.insert(words.end(), commands.begin(), commands.end());
  const GuestResult result = run_guest(words, {.run_dir = run_.path().string()});
  if (result.exit_status != 0) throw std::runtime_error("guest failed: " + result.output);
  std::istringstream text(result.output);
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

namespace {

/// In order of segment and batch.
template <class Record>
std::vector<Record> of_all(const RunFolder& run, std::vector<Record> record::ProcessRecording::*records) {
  std::vector<Record> all;
  for (const auto& process : run.recordings()) {
    all.insert(all.end(), (process.*records).begin(), (process.*records).end());
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::tie(a.header.aux, a.batch) < std::tie(b.header.aux, b.batch);
  });
  return all;
}

}  // namespace

std::vector<record::PhaseRecord> PhasedRun::evidence() const {
  return of_all(run_, &record::ProcessRecording::phases);
}

std::vector<record::MappedRecord> PhasedRun::mapped() const {
  return of_all(run_, &record::ProcessRecording::mapped);
}

}  // namespace stallcast::test
