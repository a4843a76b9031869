/// What a build without liburing reads by, and says. A program of its own: it is linked with that build's source.
#include <doctest/doctest.h>

#include <string>

#include "probes/collect/storage/reader.hpp"

namespace stallcast::collect {

TEST_CASE("a build without liburing reads by threads, and says so to who asked for the kernel's queue") {
  const StorageReader asked(StorageEngine::io_uring);
  CHECK(std::string(asked.engine()) == "threads");
  CHECK(asked.no_queue_reason() == "this stallcast was built without liburing");
  CHECK(StorageReader(StorageEngine::threads).no_queue_reason().empty());
}

}  // namespace stallcast::collect
