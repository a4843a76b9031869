#include "tests/capture/phase_fuse.hpp"

#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace stallcast::test {
namespace {

constexpr std::uint64_t k_root = FUSE_ROOT_ID;
constexpr std::uint64_t k_file = 2;
constexpr std::uint64_t k_valid_s = 3600;

void reply(int device, std::uint64_t unique, int error, const void* body, std::size_t bytes) {
  fuse_out_header header{};
  header.len = static_cast<std::uint32_t>(sizeof(header) + bytes);
  header.error = -error;
  header.unique = unique;
  const iovec parts[] = {{&header, sizeof(header)}, {const_cast<void*>(body), bytes}};
  static_cast<void>(!::writev(device, parts, 2));
}

template <class Body>
void reply(int device, std::uint64_t unique, const Body& body) {
  reply(device, unique, 0, &body, sizeof(body));
}

fuse_attr attributes(std::uint64_t node, std::size_t size) {
  fuse_attr attr{};
  attr.ino = node;
  attr.mode = node == k_root ? S_IFDIR | 0755U : S_IFREG | 0644U;
  attr.nlink = 1;
  attr.size = node == k_root ? 0 : size;
  attr.blksize = 4096;
  attr.mtime = 1;
  return attr;
}

void look_up(int device, const fuse_in_header& request, const char* name, std::size_t size) {
  if (request.nodeid != k_root || std::strcmp(name, "data") != 0)
    return reply(device, request.unique, ENOENT, nullptr, 0);
  fuse_entry_out entry{};
  entry.nodeid = k_file;
  entry.entry_valid = k_valid_s;
  entry.attr_valid = k_valid_s;
  entry.attr = attributes(k_file, size);
  reply(device, request.unique, entry);
}

void initialise(int device, const fuse_in_header& request) {
  fuse_init_out out{};
  out.major = FUSE_KERNEL_VERSION;
  out.minor = 31;
  out.max_readahead = 131072;
  out.max_write = 4096;
  reply(device, request.unique, out);
}

}  // namespace

FuseFile::FuseFile(const std::filesystem::path& folder, std::string content, bool direct)
    : folder_(folder), content_(std::move(content)), direct_(direct) {
  device_ = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (device_ < 0) {
    refusal_ = std::string("/dev/fuse: ") + std::strerror(errno);
    return;
  }
  const std::string options = "fd=" + std::to_string(device_) + ",rootmode=40000,user_id=0,group_id=0,allow_other";
  if (::mount("stallcast-test", folder.c_str(), "fuse", MS_NODEV | MS_NOSUID | MS_RDONLY, options.c_str()) != 0) {
    refusal_ = std::string("mounting FUSE: ") + std::strerror(errno);
    ::close(device_);
    return;
  }
  server_ = std::thread([this] { serve(); });
}

FuseFile::~FuseFile() {
  if (!refusal_.empty()) return;
  ::umount2(folder_.c_str(), MNT_DETACH);
  server_.join();
  ::close(device_);
}

void FuseFile::serve() const {
  std::vector<char> buffer(FUSE_MIN_READ_BUFFER + 135168);
  for (;;) {
    const ssize_t got = ::read(device_, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < static_cast<ssize_t>(sizeof(fuse_in_header))) return;  // ENODEV: unmounted
    fuse_in_header request{};
    std::memcpy(&request, buffer.data(), sizeof(request));
    const char* body = buffer.data() + sizeof(request);
    if (request.opcode == FUSE_INIT) {
      initialise(device_, request);
    } else if (request.opcode == FUSE_LOOKUP) {
      look_up(device_, request, body, content_.size());
    } else if (request.opcode == FUSE_GETATTR) {
      fuse_attr_out out{};
      out.attr_valid = k_valid_s;
      out.attr = attributes(request.nodeid, content_.size());
      reply(device_, request.unique, out);
    } else if (request.opcode == FUSE_OPEN || request.opcode == FUSE_OPENDIR) {
      fuse_open_out out{};
      out.open_flags = direct_ ? FOPEN_DIRECT_IO : FOPEN_KEEP_CACHE;
      reply(device_, request.unique, out);
    } else if (request.opcode == FUSE_READ) {
      fuse_read_in wanted{};
      std::memcpy(&wanted, body, sizeof(wanted));
      const std::size_t from = std::min<std::size_t>(wanted.offset, content_.size());
      reply(device_, request.unique, 0, content_.data() + from,
            std::min<std::size_t>(wanted.size, content_.size() - from));
    } else if (request.opcode == FUSE_RELEASE || request.opcode == FUSE_RELEASEDIR || request.opcode == FUSE_FLUSH) {
      reply(device_, request.unique, 0, nullptr, 0);
    } else if (request.opcode != FUSE_FORGET && request.opcode != FUSE_BATCH_FORGET &&
               request.opcode != FUSE_INTERRUPT) {
      reply(device_, request.unique, ENOSYS, nullptr, 0);
    }
  }
}

}  // namespace stallcast::test
