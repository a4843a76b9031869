#include "probes/collect/system/mounts.hpp"

#include <doctest/doctest.h>

namespace stallcast::collect::testing {

TEST_CASE("the mount of a path is the longest prefix of whole names, the last of equals") {
  const auto mounts = parse_mountinfo(
      "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
      "not a line of it\n"
      "40 27 0:50 / /data rw shared:1 master:2 - nfs4 server:/export rw\n"
      "41 27 0:51 / /data/with\\040space rw - fuse.sshfs host:/x rw\n"
      "42 27 0:52 / /data rw - xfs /dev/sdb1 rw\n");
  REQUIRE(mounts.size() == 4);
  CHECK(mount_of(mounts, "/home/me")->type == "ext4");
  CHECK(mount_of(mounts, "/database")->type == "ext4");
  CHECK(mount_of(mounts, "/data")->source == "/dev/sdb1");
  CHECK(mount_of(mounts, "/data/set")->device == "0:52");
  CHECK(mount_of(mounts, "/data/with space/a")->type == "fuse.sshfs");
  CHECK_FALSE(mount_of({}, "/data"));
  CHECK_FALSE(mount_of(parse_mountinfo(""), "/"));
}

}  // namespace stallcast::collect::testing
