/// A FUSE file system of one read-only file, served by a thread of the test: for what phases meet in user space.
#pragma once

#include <filesystem>
#include <string>
#include <thread>

namespace stallcast::test {

class FuseFile {
 public:
  /// Mounts at `folder`, which then holds the one file "data". `direct`: its reads go past the page cache.
  FuseFile(const std::filesystem::path& folder, std::string content, bool direct);
  ~FuseFile();
  FuseFile(const FuseFile&) = delete;
  FuseFile& operator=(const FuseFile&) = delete;

  /// Empty, or why it could not be mounted.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  [[nodiscard]] std::filesystem::path file() const { return folder_ / "data"; }

 private:
  void serve() const;

  std::filesystem::path folder_;
  std::string content_;
  std::string refusal_{};
  bool direct_;
  int device_ = -1;
  std::thread server_{};
};

}  // namespace stallcast::test
