#include "loader.hpp"

#include <fcntl.h>
#include <stallcast/capture.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

namespace cpp_job {
namespace {

std::string read_file(const std::string& path) {
  std::string content;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return content;
  std::array<char, 64 * 1024> part;
  for (ssize_t bytes = 0; (bytes = ::read(fd, part.data(), part.size())) > 0;) {
    content.append(part.data(), static_cast<std::size_t>(bytes));
  }
  ::close(fd);
  return content;
}

}  // namespace

Loader::Loader(const Settings& settings, std::uint64_t iterator_id, std::vector<std::string> files)
    : settings_(settings),
      iterator_id_(iterator_id),
      files_(std::move(files)),
      batches_(files_.size() / static_cast<std::size_t>(settings.batch_size)) {
  threads_.reserve(static_cast<std::size_t>(settings_.workers));
  for (int worker = 0; worker < settings_.workers; ++worker) {
    threads_.emplace_back([this, worker] { work(worker); });
  }
}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  taken_.notify_all();
  for (auto& thread : threads_) thread.join();
}

Batch Loader::next() {
  const auto asked = std::chrono::steady_clock::now();
  stallcast_wait_begin();
  std::unique_lock lock(mutex_);
  made_.wait(lock, [this] { return ready_.count(delivered_) != 0; });
  auto node = ready_.extract(delivered_);
  const std::uint64_t number = delivered_++;
  const auto more_ready = static_cast<std::uint32_t>(ready_.size());
  lock.unlock();
  stallcast_wait_end(iterator_id_, number, static_cast<std::uint32_t>(node.mapped().features.size()), more_ready,
                     number == 0 ? STALLCAST_WAIT_FIRST : 0);
  waited_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - asked).count();
  taken_.notify_all();
  return std::move(node.mapped());
}

void Loader::work(int worker) {
  const auto workers = static_cast<std::uint64_t>(settings_.workers);
  const std::uint64_t ahead = workers * static_cast<std::uint64_t>(settings_.prefetch);
  for (auto number = static_cast<std::uint64_t>(worker); number < batches_; number += workers) {
    stallcast_batch_asked();
    {
      std::unique_lock lock(mutex_);
      taken_.wait(lock, [&] { return stopped_ || number < delivered_ + ahead; });
      if (stopped_) return;
    }
    Batch batch = make(number, worker);
    {
      const std::lock_guard lock(mutex_);
      ready_.emplace(number, std::move(batch));
    }
    stallcast_batch_put();
    made_.notify_one();
  }
}

Batch Loader::make(std::uint64_t number, int worker) {
  stallcast_batch_begin(iterator_id_, number, static_cast<std::uint32_t>(worker));
  Batch batch;
  const auto size = static_cast<std::uint64_t>(settings_.batch_size);
  for (std::uint64_t index = number * size; index < (number + 1) * size; ++index) {
    stallcast_sample_begin(static_cast<std::int64_t>(index));
    const std::string content = read_file(files_[index]);
    batch.features.push_back(prepare(content));
    batch.bytes += content.size();
    stallcast_sample_end();
  }
  stallcast_batch_end(static_cast<std::uint32_t>(size));
  return batch;
}

/// Stands for decoding and augmenting: as many passes over the bytes as were asked for.
float Loader::prepare(const std::string& bytes) const {
  float feature = 0.0F;
  for (int pass = 0; pass < settings_.prep_passes; ++pass) {
    for (const char byte : bytes) feature = std::fma(feature, 0.999F, static_cast<float>(byte));
  }
  return feature;
}

}  // namespace cpp_job
