#include "analyzer/load/file_format.hpp"

#include <doctest/doctest.h>

using stallcast::format_of;

TEST_CASE("what a file is, by its name") {
  CHECK(format_of("/data/train/n01440764/10026.JPEG") == "jpeg");
  CHECK(format_of("shard-000001.tar") == "tar");
  CHECK(format_of("/data/shard.tar.zst") == "tar, compressed");
  CHECK(format_of("/data/shard.tgz") == "tar, compressed");
  CHECK(format_of("/data/train.h5") == "hdf5");
  CHECK(format_of("/lmdb/data.mdb") == "lmdb");
  CHECK(format_of("/data.tar/train") == "");
  CHECK(format_of("/data/.jpg") == "");
  CHECK(format_of("/data/notes.xyz") == "");
  CHECK(format_of("/data/x.gz") == "");
  CHECK(format_of("") == "");
}
