/// Times single operations of a guest, in nanoseconds a call, on files that are resident. The same binary runs with and
/// without the capture library; interposer_bench takes the differences. `probe FOLDER` prints "name ns" lines.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "core/clock.hpp"

namespace {

constexpr int k_repeats = 41;

using SampleBegin = void(std::int64_t);
using BatchBegin = void(std::uint64_t, std::uint64_t, std::uint32_t);
using BatchEnd = void(std::uint32_t);
using WaitEnd = void(std::uint64_t, std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t);
using Mark = void();

template <class Function>
Function* find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

void nothing() {}
void nothing_sample(std::int64_t /*index*/) {}
void nothing_batch(std::uint64_t /*iterator*/, std::uint64_t /*batch*/, std::uint32_t /*worker*/) {}
void nothing_end(std::uint32_t /*samples*/) {}
void nothing_wait(std::uint64_t /*iterator*/, std::uint64_t /*batch*/, std::uint32_t /*samples*/,
                  std::uint32_t /*ready*/, std::uint32_t /*flags*/) {}

struct Api {
  SampleBegin* sample_begin = nothing_sample;
  Mark* sample_end = nothing;
  BatchBegin* batch_begin = nothing_batch;
  BatchEnd* batch_end = nothing_end;
  Mark* wait_begin = nothing;
  WaitEnd* wait_end = nothing_wait;
  Mark* step = nothing;
};

Api find_api() {
  if (find<Mark>("stallcast_step") == nullptr) return {};
  return {.sample_begin = find<SampleBegin>("stallcast_sample_begin"),
          .sample_end = find<Mark>("stallcast_sample_end"),
          .batch_begin = find<BatchBegin>("stallcast_batch_begin"),
          .batch_end = find<BatchEnd>("stallcast_batch_end"),
          .wait_begin = find<Mark>("stallcast_wait_begin"),
          .wait_end = find<WaitEnd>("stallcast_wait_end"),
          .step = find<Mark>("stallcast_step")};
}

/// The least disturbed of many short repeats: what else runs on the machine only ever adds.
template <class Call>
void time_calls(const char* name, int calls, Call call) {
  std::vector<double> means;
  for (int repeat = 0; repeat < k_repeats; ++repeat) {
    const std::uint64_t begin_ns = stallcast::monotonic_ns();
    for (int i = 0; i < calls; ++i) call(i);
    means.push_back(static_cast<double>(stallcast::monotonic_ns() - begin_ns) / calls);
  }
  std::printf("%s %.1f\n", name, *std::min_element(means.begin(), means.end()));
}

void read_whole(const std::string& path, char* buffer, std::size_t room) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  ::fstat(fd, &status);
  while (::read(fd, buffer, room) > 0) {
  }
  ::close(fd);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const Api api = find_api();
  const std::string folder = argv[1];
  std::vector<char> buffer(1 << 16);
  const int page = ::open((folder + "/page").c_str(), O_RDONLY | O_CLOEXEC);
  if (page < 0) return 1;
  api.step();  // what records a process is its first call
  const auto read_page = [&](int) { return ::pread(page, buffer.data(), 4096, 0); };
  const auto read_file = [&](int i) {
    read_whole(folder + "/" + std::to_string(i % 64), buffer.data(), buffer.size());
  };
  time_calls("read_4k_outside", 1000, read_page);
  api.batch_begin(0, 0, 0);
  api.sample_begin(0);
  time_calls("read_4k_in_sample", 1000, read_page);
  api.sample_end();
  time_calls("file_20k_in_sample", 200, [&](int i) {
    api.sample_begin(i);
    read_file(i);
    api.sample_end();
  });
  time_calls("sample_pair", 5000, [&](int i) {
    api.sample_begin(i);
    api.sample_end();
  });
  api.batch_end(0);
  time_calls("batch_pair", 200, [&](int i) {
    api.batch_begin(0, static_cast<std::uint64_t>(i), 0);
    api.batch_end(1);
  });
  time_calls("wait_pair", 200, [&](int i) {
    api.wait_begin();
    api.wait_end(0, static_cast<std::uint64_t>(i), 1, 0, 0);
  });
  time_calls("step", 200, [&](int) { api.step(); });
  return 0;
}
