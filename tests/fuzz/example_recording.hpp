/// A small recording that is valid in every part: what the fuzz targets of recording and tool log start from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "probes/record/layout.hpp"

namespace stallcast::fuzz {

inline constexpr std::uint64_t k_begin_ns = 1'000'000'000;
inline constexpr std::uint64_t k_step_ns = 100'000'000;
inline constexpr int k_batches = 60;

class Recording {
 public:
  Recording() : bytes_(record::k_header_bytes + record::k_block_bytes) {
    auto* header = new (bytes_.data()) record::FileHeader{};
    std::memcpy(header->magic, record::k_magic, sizeof(record::k_magic));
    header->version = record::k_version;
    header->header_bytes = record::k_header_bytes;
    header->block_bytes = record::k_block_bytes;
    header->pid = 71;
    header->start_monotonic_ns = k_begin_ns;
    header->rank = UINT32_MAX;
    header->blocks = 1;
    block_ = new (bytes_.data() + record::k_header_bytes) record::BlockHeader{};
    block_->magic = record::k_block_magic;
    block_->thread_id = 71;
    end_ = sizeof(record::BlockHeader);
  }

  template <class T>
  void add(record::Kind kind, std::uint32_t aux, T entry) {
    entry.header = {static_cast<std::uint16_t>(kind), static_cast<std::uint16_t>(sizeof(T)), aux};
    append(&entry, sizeof(T), sizeof(T));
  }

  void add_text(record::TextKind kind, const std::string& json) {
    const std::size_t padded = (json.size() + 7) / 8 * 8;
    const record::RecordHeader header{static_cast<std::uint16_t>(record::Kind::text),
                                      static_cast<std::uint16_t>(sizeof(header) + padded),
                                      static_cast<std::uint32_t>(kind)};
    append(&header, sizeof(header), sizeof(header));
    append(json.data(), json.size(), padded);
  }

  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  void append(const void* from, std::size_t length, std::size_t padded) {
    std::memcpy(bytes_.data() + record::k_header_bytes + end_, from, length);
    end_ += padded;
    block_->reserved = static_cast<std::uint32_t>(end_);
    block_->committed = static_cast<std::uint32_t>(end_);
  }

  std::vector<std::byte> bytes_;
  record::BlockHeader* block_ = nullptr;
  std::size_t end_ = 0;
};

/// One process that makes its own batches: 60 steps, every kind of record.
inline const Recording& example_recording() {
  static const Recording recording = [] {
    Recording made;
    made.add_text(record::TextKind::process, R"({"role":"consumer","python":"3.11","torch":"2.0","threads":1})");
    made.add_text(record::TextKind::loader,
                  R"({"loader_id":0,"kind":"map","batch_size":4,"num_workers":0,"dataset_samples":240})");
    made.add_text(record::TextKind::iterator, R"({"iterator_id":0,"loader_id":0,"epoch":0,"worker_pids":[]})");
    made.add_text(record::TextKind::mark, R"({"what":"evaluation","begin_ns":1100000000,"end_ns":1200000000})");
    made.add_text(record::TextKind::part, R"({"parts":[[16,"Resize","transform[0]"]]})");
    for (std::uint64_t batch = 0; batch < k_batches; ++batch) {
      const std::uint64_t now = k_begin_ns + batch * k_step_ns;
      made.add(record::Kind::sample, static_cast<std::uint32_t>(batch),
               record::SampleRecord{{}, 7, now, 20'000'000, 5'000'000, 1000, 100'000, 2, 1, 1});
      record::BatchRecord batch_record{};
      batch_record.batch = batch;
      batch_record.begin_ns = now;
      batch_record.end_ns = now + 60'000'000;
      batch_record.cpu_ns = 30'000'000;
      batch_record.io = {20'000'000, 400'000, 1000, 8, 4, 4, 0};
      batch_record.samples = 4;
      made.add(record::Kind::part, record::k_part_sample,
               record::PartRecord{{}, now, 9'000'000, 8'000'000, 5'001'000, 0, 1, 0});
      made.add(record::Kind::part, 16, record::PartRecord{{}, now, 6'000'000, 6'000'000, 0, 0, 1, 0});
      made.add(record::Kind::batch, UINT32_MAX, batch_record);
      made.add(record::Kind::wait, 0, record::WaitRecord{{}, 0, batch, now, now + 61'000'000, 4, UINT32_MAX, now});
      made.add(record::Kind::step, 0, record::StepRecord{{}, batch, now + 90'000'000});
    }
    made.add(record::Kind::file, 2, record::FileRecord{{}, 5, k_begin_ns, 1000, 4096, 100});
    return made;
  }();
  return recording;
}

}  // namespace stallcast::fuzz
