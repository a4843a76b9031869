#include "probes/collect/storage/window.hpp"

namespace stallcast::collect::storage {

std::unique_ptr<ReadQueue> ReadQueue::make(std::string& reason) {
  reason = "this stallcast was built without liburing";
  return nullptr;
}

}  // namespace stallcast::collect::storage
