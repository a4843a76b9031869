#include <liburing.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/check.hpp"
#include "core/clock.hpp"
#include "probes/collect/storage/window.hpp"

namespace stallcast::collect::storage {
namespace {

/// One read in flight: the file it is of, and how far it is.
struct Slot {
  const ReadTask* task = nullptr;  ///< null: idle for good
  char* buffer = nullptr;
  int file = -1;
  std::uint64_t begin_ns = 0;
  std::uint64_t done = 0;      ///< bytes of the task in earlier pieces
  std::uint64_t of_piece = 0;  ///< bytes of the piece that have come
  [[nodiscard]] bool opening() const { return file < 0; }
};

class Uring final : public ReadQueue {
 public:
  Uring() = default;
  ~Uring() override {
    if (ready_) io_uring_queue_exit(&ring_);
  }

  /// 0, or the kernel's error. A kernel that has the second call (Linux 5.15) opens and reads files, too (5.6).
  int open() {
    const int failed = io_uring_queue_init(k_most_in_flight, &ring_, 0);
    ready_ = failed == 0;
    if (!ready_) return -failed;
    // File systems that cannot begin a read without waiting are read by threads of the kernel's, by default a few.
    unsigned most[2] = {k_most_in_flight, k_most_in_flight};
    return -io_uring_register_iowq_max_workers(&ring_, most);
  }

  void read(Window& window, std::span<char* const> buffers, std::vector<Entry>& log) override {
    STALLCAST_CHECK(buffers.size() <= k_most_in_flight && window.plan.pause_s <= 0.0);
    window_ = &window;
    log_ = &log;
    std::vector<Slot> slots(buffers.size());
    busy_ = 0;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      slots[i].buffer = buffers[i];
      begin_task(slots[i]);
    }
    while (busy_ > 0) {
      // Interrupted, or out of memory for a moment: what was sent stays in flight.
      const int sent = io_uring_submit_and_wait(&ring_, 1);
      STALLCAST_CHECK(sent >= 0 || sent == -EINTR || sent == -EAGAIN || sent == -EBUSY);
      io_uring_cqe* ended = nullptr;
      while (io_uring_peek_cqe(&ring_, &ended) == 0) {
        auto& slot = *static_cast<Slot*>(io_uring_cqe_get_data(ended));
        const int result = ended->res;
        io_uring_cqe_seen(&ring_, ended);
        --busy_;
        go_on(slot, result);
      }
    }
  }

 private:
  [[nodiscard]] bool in_pieces() const { return window_->plan.read == record::StorageRead::sequential; }

  io_uring_sqe* next_entry() {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    STALLCAST_CHECK(entry != nullptr);  // as many as there are slots, and each has one at most
    ++busy_;
    return entry;
  }

  void begin_task(Slot& slot) {
    slot.task = window_->take();
    if (slot.task == nullptr) return;
    slot.done = slot.of_piece = 0;
    slot.file = slot.task->file;
    if (slot.opening()) {
      io_uring_sqe* entry = next_entry();
      io_uring_prep_openat(entry, AT_FDCWD, slot.task->path, open_flags(window_->plan), 0);
      io_uring_sqe_set_data(entry, &slot);
    } else {
      begin_piece(slot);
    }
  }

  [[nodiscard]] static std::uint64_t piece_bytes(const Slot& slot) {
    return std::min(k_large_block_bytes, slot.task->range.bytes - slot.done);
  }

  void begin_piece(Slot& slot) {
    if (in_pieces() || slot.done == 0) slot.begin_ns = monotonic_ns();
    ask(slot);
  }

  void ask(Slot& slot) {
    const std::uint64_t wanted = asked_bytes(window_->plan, piece_bytes(slot)) - slot.of_piece;
    io_uring_sqe* entry = next_entry();
    io_uring_prep_read(entry, slot.file, slot.buffer + slot.of_piece, static_cast<unsigned>(wanted),
                       slot.task->range.offset + slot.done + slot.of_piece);
    io_uring_sqe_set_data(entry, &slot);
  }

  void fail(Slot& slot) {
    window_->failed.fetch_add(1);
    end_task(slot);
  }

  void end_task(Slot& slot) {
    if (slot.task->file < 0 && slot.file >= 0) close(slot.file);
    slot.file = -1;
    begin_task(slot);
  }

  void note(const Slot& slot, std::uint64_t bytes) {
    const std::uint64_t end_ns = monotonic_ns();
    log_->push_back({end_ns, static_cast<float>(end_ns - slot.begin_ns) * 1e-9F, static_cast<std::uint32_t>(bytes)});
  }

  /// What was asked for `slot` has ended: a descriptor, bytes, or an error.
  void go_on(Slot& slot, int result) {
    if (slot.opening()) {
      if (result < 0) return fail(slot);
      slot.file = result;
      return begin_piece(slot);
    }
    if (result == -EINTR || result == -EAGAIN) return ask(slot);
    if (result < 0) return fail(slot);
    const std::uint64_t room = piece_bytes(slot);
    slot.of_piece = std::min(room, slot.of_piece + static_cast<std::uint64_t>(result));
    if (result > 0 && slot.of_piece < room) return ask(slot);
    end_piece(slot, result == 0);
  }

  void end_piece(Slot& slot, bool at_end) {
    const std::uint64_t piece = slot.of_piece;
    slot.done += piece;
    slot.of_piece = 0;
    const bool whole = at_end || slot.done >= slot.task->range.bytes;
    if (in_pieces()) {
      if (piece > 0) note(slot, piece);
      if (whole || monotonic_ns() >= window_->deadline_ns) return end_task(slot);
      return begin_piece(slot);
    }
    if (!whole && monotonic_ns() <= window_->give_up_ns) return ask(slot);
    if (whole && slot.done > 0) note(slot, slot.done);
    end_task(slot);
  }

  io_uring ring_{};
  bool ready_ = false;
  int busy_ = 0;
  Window* window_ = nullptr;
  std::vector<Entry>* log_ = nullptr;
};

}  // namespace

std::unique_ptr<ReadQueue> ReadQueue::make(std::string& reason) {
  auto queue = std::make_unique<Uring>();
  if (const int failed = queue->open(); failed != 0) {
    reason = std::string("the kernel gives no io_uring as it is needed (Linux 5.15 does): ") + std::strerror(failed);
    return nullptr;
  }
  return queue;
}

}  // namespace stallcast::collect::storage
