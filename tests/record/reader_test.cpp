#include "probes/record/reader.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/record/encode_recording.hpp"

using namespace stallcast;
using namespace stallcast::record;

namespace {

ProcessInfo example_info() {
  ProcessInfo info;
  info.run_id = "run-1";
  info.host = "node0";
  info.executable = "/usr/bin/python3";
  info.restart = 2;
  info.pid = 4711;
  info.parent_pid = 4700;
  info.start_monotonic_ns = 11;
  info.start_realtime_ns = 22;
  info.is_fork_child = true;
  info.rank = 3;
  info.disabled = 1;
  info.dropped_records = 5;
  info.other_read_bytes = 6;
  info.other_read_ns = 7;
  info.other_reads = 8;
  info.other_opens = 9;
  info.stream_read_bytes = 10;
  info.stream_read_ns = 11;
  info.stream_reads = 12;
  info.mapped_bytes = 13;
  return info;
}

ProcessRecording example() {
  ProcessRecording recording;
  recording.info = example_info();
  recording.texts = {{TextKind::process, R"({"role":"worker"})"}, {TextKind::issue, "{}"}, {TextKind::mark, ""}};
  recording.waits.push_back({{0, 0, k_wait_first}, 1, 2, 3, 4, 5, 6, 7});
  recording.steps.push_back({{}, 8, 9});
  recording.batches.push_back({{0, 0, 1}, 2, 3, 4, 5, 6, 7, 8, 9, 10, {11, 12, 13, 14, 15, 16, 17}, 18, 0, 19});
  recording.samples.push_back({{0, 0, 3}, -1, 4, 5, 6, 7, 8, 9, 10, 11});
  recording.files.push_back({{0, 0, 2}, 3, 4, 5, 6, 7});
  recording.paths = {{77, 100, 5, "/data/a.jpg"}, {78, UINT64_MAX, 0, ""}};
  recording.phases.push_back({{0, 0, 4}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13});
  recording.parts.push_back({{0, 0, 17}, 1, 2, 3, 4, 1, 8, 5});
  return recording;
}

/// Bytes of two lists of plain records, headers included.
template <class T>
void check_same(const std::vector<T>& read, const std::vector<T>& written) {
  REQUIRE(read.size() == written.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    T expected = written[i];
    expected.header.kind = static_cast<std::uint16_t>(kind_of<T>());
    expected.header.bytes = sizeof(T);
    CHECK(std::memcmp(&read[i], &expected, sizeof(T)) == 0);
  }
}

std::size_t records_of(const ProcessRecording& recording) {
  return recording.texts.size() + recording.waits.size() + recording.steps.size() + recording.batches.size() +
         recording.samples.size() + recording.files.size() + recording.paths.size() + recording.phases.size() +
         recording.parts.size();
}

template <class T>
void put(std::vector<std::byte>& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
}

constexpr std::size_t k_version_at = offsetof(FileHeader, version);
constexpr std::size_t k_first_record = k_header_bytes + sizeof(BlockHeader);
constexpr std::size_t k_committed_at = k_header_bytes + offsetof(BlockHeader, committed);

}  // namespace

TEST_CASE("every kind of record reads back as it was written") {
  const ProcessRecording written = example();
  const auto bytes = encode(written);
  const auto parsed = parse_recording(bytes);
  REQUIRE(parsed.ok());
  const ProcessRecording& read = parsed.value();
  check_same(read.waits, written.waits);
  check_same(read.steps, written.steps);
  check_same(read.batches, written.batches);
  check_same(read.samples, written.samples);
  check_same(read.files, written.files);
  check_same(read.phases, written.phases);
  check_same(read.parts, written.parts);
  REQUIRE(read.texts.size() == 3);
  CHECK(read.texts[0].kind == TextKind::process);
  CHECK(read.texts[0].json == R"({"role":"worker"})");
  CHECK(read.texts[2].kind == TextKind::mark);
  CHECK(read.texts[2].json.empty());
  REQUIRE(read.paths.size() == 2);
  CHECK(read.paths[0].path == "/data/a.jpg");
  CHECK(read.paths[0].file_id == 77);
  CHECK(read.paths[0].size_bytes == 100);
  CHECK(read.paths[0].device == 5);
  CHECK(read.paths[1].path.empty());
  CHECK(read.torn_tails == 0);
  CHECK(read.broken_blocks == 0);
  CHECK(read.unknown_records == 0);
  CHECK(read.file_bytes == bytes.size());
}

TEST_CASE("the header reads back, every total of it") {
  const auto parsed = parse_recording(RecordingEncoder(example_info()).bytes());
  REQUIRE(parsed.ok());
  const ProcessInfo& info = parsed.value().info;
  CHECK(info.run_id == "run-1");
  CHECK(info.host == "node0");
  CHECK(info.executable == "/usr/bin/python3");
  CHECK(info.restart == 2);
  CHECK(info.pid == 4711);
  CHECK(info.parent_pid == 4700);
  CHECK(info.start_monotonic_ns == 11);
  CHECK(info.start_realtime_ns == 22);
  CHECK(info.is_fork_child);
  CHECK(info.rank == 3);
  CHECK(info.disabled == 1);
  CHECK(info.dropped_records == 5);
  CHECK(info.other_read_bytes == 6);
  CHECK(info.other_read_ns == 7);
  CHECK(info.other_reads == 8);
  CHECK(info.other_opens == 9);
  CHECK(info.stream_read_bytes == 10);
  CHECK(info.stream_read_ns == 11);
  CHECK(info.stream_reads == 12);
  CHECK(info.mapped_bytes == 13);
}

TEST_CASE("header texts that fill their field whole do not run on") {
  ProcessInfo info = example_info();
  info.host = std::string(500, 'h');
  auto bytes = RecordingEncoder(info).bytes();
  bytes[offsetof(FileHeader, host) + sizeof(FileHeader::host) - 1] = std::byte{'h'};  // no NUL at all
  const auto parsed = parse_recording(bytes);
  REQUIRE(parsed.ok());
  CHECK(parsed.value().info.host == std::string(64, 'h'));
}

TEST_CASE("records of several threads and blocks keep their order within a thread") {
  RecordingEncoder encoder(example_info());
  for (std::uint64_t i = 0; i < 4000; ++i) encoder.add(StepRecord{{}, i, 0}, static_cast<std::uint32_t>(i % 2));
  const auto parsed = parse_recording(encoder.bytes());
  REQUIRE(parsed.ok());
  REQUIRE(parsed.value().steps.size() == 4000);
  std::uint64_t next[2] = {0, 1};
  for (const StepRecord& step : parsed.value().steps) {
    CHECK(step.step == next[step.step % 2]);
    next[step.step % 2] += 2;
  }
}

TEST_CASE("a record that was begun and not finished is one torn tail, and what came before is whole") {
  RecordingEncoder encoder(example_info());
  encoder.add(StepRecord{{}, 1, 2}, 1);
  encoder.add(StepRecord{{}, 2, 3}, 2);
  encoder.tear(1, sizeof(WaitRecord));
  const auto parsed = parse_recording(encoder.bytes());
  REQUIRE(parsed.ok());
  CHECK(parsed.value().torn_tails == 1);
  CHECK(parsed.value().broken_blocks == 0);
  CHECK(parsed.value().steps.size() == 2);
}

TEST_CASE("a block that was allocated and not begun is nothing lost") {
  auto bytes = RecordingEncoder(example_info()).bytes();
  bytes.resize(bytes.size() + k_block_bytes, std::byte{0});
  put(bytes, offsetof(FileHeader, blocks), std::uint32_t{1});
  const auto parsed = parse_recording(bytes);
  REQUIRE(parsed.ok());
  CHECK(parsed.value().broken_blocks == 0);
  CHECK(records_of(parsed.value()) == 0);
}

TEST_CASE("a broken block is counted and the others are read") {
  for (const int damage : {0, 1, 2, 3, 4}) {
    CAPTURE(damage);
    RecordingEncoder encoder(example_info());
    encoder.add(StepRecord{{}, 1, 2}, 1);
    encoder.add(StepRecord{{}, 2, 3}, 2);
    auto bytes = encoder.bytes();
    if (damage == 0) put(bytes, k_header_bytes, std::uint32_t{0x12345678});
    if (damage == 1) put(bytes, k_committed_at, std::uint32_t{k_block_bytes + 8});
    if (damage == 2) put(bytes, k_committed_at, std::uint32_t{8});
    if (damage == 3) put(bytes, k_first_record + offsetof(RecordHeader, bytes), std::uint16_t{0});
    if (damage == 4) put(bytes, k_first_record + offsetof(RecordHeader, bytes), std::uint16_t{60000});
    const auto parsed = parse_recording(bytes);
    REQUIRE(parsed.ok());
    CHECK(parsed.value().broken_blocks == 1);
    REQUIRE(parsed.value().steps.size() == 1);
    CHECK(parsed.value().steps[0].step == 2);
  }
}

TEST_CASE("a record that is shorter than its kind breaks its block, not the reader") {
  for (const Kind kind :
       {Kind::wait, Kind::step, Kind::batch, Kind::sample, Kind::file, Kind::path, Kind::phase, Kind::mapped}) {
    RecordingEncoder encoder(example_info());
    const RecordHeader header{static_cast<std::uint16_t>(kind), sizeof(RecordHeader), 0};
    encoder.append(1, &header, sizeof(header));
    const auto parsed = parse_recording(encoder.bytes());
    REQUIRE(parsed.ok());
    CHECK(parsed.value().broken_blocks == 1);
    CHECK(records_of(parsed.value()) == 0);
  }
}

TEST_CASE("a phase record that was written before it counted pages has counted none") {
  ProcessRecording written;
  written.phases = {example().phases.front()};
  auto bytes = encode(written);
  std::uint32_t committed = 0;
  std::memcpy(&committed, bytes.data() + k_committed_at, sizeof(committed));
  put(bytes, k_first_record + offsetof(RecordHeader, bytes), static_cast<std::uint16_t>(k_least_phase_bytes));
  put(bytes, k_committed_at, static_cast<std::uint32_t>(committed - (sizeof(PhaseRecord) - k_least_phase_bytes)));
  const auto read = parse_recording(bytes);
  REQUIRE(read.ok());
  REQUIRE(read.value().phases.size() == 1);
  CHECK(read.value().broken_blocks == 0);
  CHECK(read.value().phases[0].largest_file == 12);
  CHECK(read.value().phases[0].page_bytes == 0);
}

TEST_CASE("a batch record that was written before it knew of the kernel's time has none") {
  ProcessRecording written;
  written.batches = {example().batches.front()};
  written.batches.front().system_ns = 5;
  auto bytes = encode(written);
  std::uint32_t committed = 0;
  std::memcpy(&committed, bytes.data() + k_committed_at, sizeof(committed));
  put(bytes, k_first_record + offsetof(RecordHeader, bytes), static_cast<std::uint16_t>(k_least_batch_bytes));
  put(bytes, k_committed_at, static_cast<std::uint32_t>(committed - (sizeof(BatchRecord) - k_least_batch_bytes)));
  const auto read = parse_recording(bytes);
  REQUIRE(read.ok());
  REQUIRE(read.value().batches.size() == 1);
  CHECK(read.value().broken_blocks == 0);
  CHECK(read.value().batches[0].cpu_ns == written.batches[0].cpu_ns);
  CHECK(read.value().batches[0].system_ns == 0);
}

TEST_CASE("a path that claims to be longer than its record ends with it") {
  RecordingEncoder encoder(example_info());
  encoder.add_path({1, 2, 3, "/data/b.jpg"});
  auto bytes = encoder.bytes();
  put(bytes, k_first_record + offsetof(RecordHeader, aux), std::uint32_t{60000});
  const auto parsed = parse_recording(bytes);
  REQUIRE(parsed.ok());
  REQUIRE(parsed.value().paths.size() == 1);
  CHECK(parsed.value().paths[0].path.substr(0, 11) == "/data/b.jpg");
  CHECK(parsed.value().paths[0].path.size() == 16);
}

TEST_CASE("kinds of a later minor version are passed over and counted, thread changes are not") {
  RecordingEncoder encoder(example_info());
  const RecordHeader later[2] = {{999, 16, 0}, {}};
  const RecordHeader thread{static_cast<std::uint16_t>(Kind::thread), sizeof(RecordHeader), 5};
  encoder.append(1, later, sizeof(later));
  encoder.append(1, &thread, sizeof(thread));
  encoder.add(StepRecord{{}, 1, 2});
  const auto parsed = parse_recording(encoder.bytes());
  REQUIRE(parsed.ok());
  CHECK(parsed.value().unknown_records == 1);
  CHECK(parsed.value().steps.size() == 1);
}

TEST_CASE("a newer version is refused by name") {
  auto bytes = encode(example());
  put(bytes, k_version_at, std::uint32_t{k_version + 6});
  const auto parsed = parse_recording(bytes);
  REQUIRE_FALSE(parsed.ok());
  CHECK(parsed.error().code == ErrorCode::bad_input);
  CHECK(parsed.error().what.find("version " + std::to_string(k_version + 6)) != std::string::npos);
  CHECK(parsed.error().what.find("up to version " + std::to_string(k_version)) != std::string::npos);
  CHECK_FALSE(parsed.error().hint.empty());
}

TEST_CASE("a file cut at any 8 bytes gives what is whole in it, or an error") {
  RecordingEncoder encoder(example_info());
  for (std::uint64_t i = 0; i < 2000; ++i) encoder.add(StepRecord{{}, i, 0}, 1);
  encoder.add(StepRecord{{}, 0, 0}, 2);
  const auto whole = encoder.bytes();
  std::size_t most = 0;
  for (std::size_t size = 0; size < whole.size(); size += 8) {
    const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const auto parsed = parse_recording(cut);
    if (size < sizeof(FileHeader)) {
      REQUIRE_FALSE(parsed.ok());
      REQUIRE(parsed.error().code == ErrorCode::bad_input);
      continue;
    }
    REQUIRE(parsed.ok());
    const std::size_t steps = parsed.value().steps.size();
    const bool inside_first = size >= k_first_record && size < k_first_record + 2000 * sizeof(StepRecord);
    if (inside_first) REQUIRE(steps == (size - k_first_record) / sizeof(StepRecord));
    if (inside_first) REQUIRE(parsed.value().broken_blocks == 2);  // the one that is cut, and the one that is missing
    REQUIRE(steps >= most);
    most = steps;
  }
  CHECK(most == 2001);
}

TEST_CASE("garbage is no recording, and a header of garbage none that crashes") {
  std::mt19937_64 random(4);
  const auto whole = encode(example());
  for (int round = 0; round < 500; ++round) {
    std::vector<std::byte> noise(static_cast<std::size_t>(random() % 9000));
    for (std::byte& byte : noise) byte = static_cast<std::byte>(random());
    const auto nothing = parse_recording(noise);
    REQUIRE_FALSE(nothing.ok());
    CHECK(nothing.error().code == ErrorCode::bad_input);
    // Everything behind the magic and the version at random: sizes, counts, offsets, records.
    auto bytes = whole;
    for (std::size_t at = 12; at < 32; ++at) bytes[at] = static_cast<std::byte>(random());
    for (int edit = 0; edit < 40; ++edit) {
      bytes[k_header_bytes + random() % 1024] = static_cast<std::byte>(random());
    }
    const auto parsed = parse_recording(bytes);
    if (!parsed.ok()) CHECK(parsed.error().code == ErrorCode::bad_input);
  }
}

TEST_CASE("a file that cannot be read is bad input, named") {
  const auto missing = read_recording("no/such/file.rec");
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().what.find("no/such/file.rec") != std::string::npos);
  const auto folder = std::filesystem::temp_directory_path() / ("stallcast-reader-test-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder / "folder.rec");
  const auto directory = read_recording(folder / "folder.rec");
  REQUIRE_FALSE(directory.ok());
  CHECK(directory.error().code == ErrorCode::bad_input);
  std::ofstream(folder / "empty.rec");
  const auto empty = read_recording(folder / "empty.rec");
  REQUIRE_FALSE(empty.ok());
  CHECK(empty.error().what.find("empty.rec") != std::string::npos);
  std::filesystem::remove_all(folder);
}
