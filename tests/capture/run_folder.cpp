#include "tests/capture/run_folder.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <thread>

namespace stallcast::test {
namespace {

/// Thrown, not asserted: benchmarks use this outside a test case. doctest reports it as the test's failure.
void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

std::vector<char*> as_argv(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> guest_environment(const GuestOptions& options) {
  std::vector<std::string> environment = options.environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    // The tests themselves may run under a sanitizer, whose options must not reach the guest's shells.
    if (text.rfind("LD_PRELOAD=", 0) == 0 || text.rfind("STALLCAST_", 0) == 0) continue;
    environment.push_back(text);
  }
  if (options.preload) environment.push_back(std::string("LD_PRELOAD=") + STALLCAST_CAPTURE_LIBRARY);
  if (!options.run_dir.empty()) environment.push_back(std::string(record::k_env_run_dir) + "=" + options.run_dir);
  return environment;
}

std::string read_all(int fd) {
  std::string output;
  std::array<char, 4096> buffer{};
  for (ssize_t bytes = 0; (bytes = ::read(fd, buffer.data(), buffer.size())) > 0;) {
    output.append(buffer.data(), static_cast<std::size_t>(bytes));
  }
  return output;
}

}  // namespace

TemporaryFolder::TemporaryFolder(const std::filesystem::path& parent) {
  std::string pattern = (parent / "stallcast-test-XXXXXX").string();
  require(::mkdtemp(pattern.data()) != nullptr, "mkdtemp");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

RunFolder::RunFolder(const std::filesystem::path& parent) : folder_(parent) {
  const auto file = path() / record::k_control_file;
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  require(fd >= 0, "create control block");
  require(::ftruncate(fd, sizeof(record::ControlBlock)) == 0, "size control block");
  void* mapped = ::mmap(nullptr, sizeof(record::ControlBlock), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  require(mapped != MAP_FAILED, "map control block");
  control_ = new (mapped) record::ControlBlock;
  std::memcpy(control_->magic, record::k_control_magic, sizeof(control_->magic));
  control_->abi = record::k_control_abi;
  control_->mode = static_cast<std::uint32_t>(record::RunMode::passive);
  std::strcpy(control_->run_id, "testrun");
  control_->tool_pid = ::getpid();
  control_->budget_bytes = 64ULL << 20;
  control_->recording.store(1);
}

RunFolder::~RunFolder() {
  ::munmap(control_, sizeof(record::ControlBlock));
}

std::vector<std::filesystem::path> RunFolder::recording_files() const {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path())) {
    if (entry.path().extension() == ".rec") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<record::ProcessRecording> RunFolder::recordings() const {
  std::vector<record::ProcessRecording> parsed;
  for (const auto& file : recording_files()) {
    auto one = record::read_recording(file);
    require(one.ok(), file.string() + " does not parse");
    parsed.push_back(std::move(one).value());
  }
  return parsed;
}

record::ProcessRecording RunFolder::recording() const {
  auto all = recordings();
  require(all.size() == 1, std::to_string(all.size()) + " recordings, expected one");
  return all.front();
}

GuestResult run_guest(const std::vector<std::string>& arguments, const GuestOptions& options) {
  std::vector<std::string> words = arguments;
  std::vector<std::string> variables = guest_environment(options);
  std::vector<char*> argv = as_argv(words);
  std::vector<char*> environment = as_argv(variables);
  std::array<int, 2> pipe_ends{};
  require(::pipe2(pipe_ends.data(), O_CLOEXEC) == 0, "pipe2");
  const pid_t child = ::fork();
  require(child >= 0, "fork");
  if (child == 0) {
    ::dup2(pipe_ends[1], STDOUT_FILENO);
    ::dup2(pipe_ends[1], STDERR_FILENO);
    ::execvpe(argv[0], argv.data(), environment.data());
    ::_exit(127);
  }
  ::close(pipe_ends[1]);
  if (options.kill_after.count() > 0) {
    std::this_thread::sleep_for(options.kill_after);
    ::kill(child, SIGKILL);
  }
  GuestResult result;
  result.output = read_all(pipe_ends[0]);
  ::close(pipe_ends[0]);
  int status = 0;
  require(::waitpid(child, &status, 0) == child, "waitpid");
  if (WIFEXITED(status)) result.exit_status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

GuestResult run_scene(RunFolder& run, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), STALLCAST_CAPTURE_GUEST);
  GuestResult result = run_guest(arguments, {.run_dir = run.path().string()});
  require(result.exit_status == 0, "guest failed: " + result.output);
  return result;
}

}  // namespace stallcast::test
