/// A data loader of threads, as a C++ training program may have one: each thread makes every n-th batch, a bounded
/// number ahead, and batches are delivered in order. The calls of the C API are all that stallcast needs.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cpp_job {

struct Settings {
  std::string folder{};
  int workers = 2;
  int prefetch = 2;  ///< batches that each worker may be ahead
  int batch_size = 16;
  int prep_passes = 4;  ///< over each sample's bytes
};

/// One batch: a feature per sample.
struct Batch {
  std::vector<float> features{};
  std::uint64_t bytes = 0;
};

/// One pass over the files in the order given.
class Loader {
 public:
  Loader(const Settings& settings, std::uint64_t iterator_id, std::vector<std::string> files);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  [[nodiscard]] std::uint64_t batches() const { return batches_; }
  /// The next batch, waited for. Call exactly batches() times.
  Batch next();
  /// Time that next() has waited so far, by this program's own clock.
  [[nodiscard]] double waited_s() const { return waited_s_; }

 private:
  void work(int worker);
  Batch make(std::uint64_t number, int worker);
  float prepare(const std::string& bytes) const;

  Settings settings_;
  std::uint64_t iterator_id_;
  std::vector<std::string> files_;
  std::uint64_t batches_;
  std::uint64_t delivered_ = 0;
  double waited_s_ = 0;
  bool stopped_ = false;
  std::map<std::uint64_t, Batch> ready_{};
  std::mutex mutex_{};
  std::condition_variable made_{};
  std::condition_variable taken_{};
  std::vector<std::thread> threads_{};
};

}  // namespace cpp_job
