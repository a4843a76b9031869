#include "probes/capture/sample.hpp"

namespace stallcast::capture {

FileInSample& file_in_sample(Thread& thread, std::uint64_t file_id, std::int32_t fd, std::uint64_t begin_ns) {
  FileInSample* eldest = &thread.sample.files[0];
  FileInSample* free = nullptr;
  for (auto& file : thread.sample.files) {
    if (file.file_id == file_id) return file;
    if (file.file_id == 0) {
      free = &file;
    } else if (file.begin_ns < eldest->begin_ns) {
      eldest = &file;
    }
  }
  if (free == nullptr) {
    write_file(thread, *eldest);
    free = eldest;
  }
  *free = FileInSample{
      .file_id = file_id, .begin_ns = begin_ns, .read_ns = 0, .read_bytes = 0, .meta_ns = 0, .reads = 0, .fd = fd};
  return *free;
}

FileInSample* line_in_sample(Thread& thread, std::uint64_t file_id) {
  for (auto& file : thread.sample.files) {
    if (file.file_id == file_id) return &file;
  }
  return nullptr;
}

void write_file(Thread& thread, FileInSample& file) {
  auto* room = reserve<record::FileRecord>(thread, record::Kind::file, file.reads);
  if (room != nullptr) {
    room->file_id = file.file_id;
    room->begin_ns = file.begin_ns;
    room->read_ns = file.read_ns;
    room->read_bytes = file.read_bytes;
    room->meta_ns = file.meta_ns;
    record::commit(thread.out);
  }
  file.file_id = 0;
}

void add_io(record::IoTotals& sum, const record::IoTotals& part) {
  sum.read_ns += part.read_ns;
  sum.read_bytes += part.read_bytes;
  sum.meta_ns += part.meta_ns;
  sum.reads += part.reads;
  sum.opens += part.opens;
  sum.stats += part.stats;
}

}  // namespace stallcast::capture
