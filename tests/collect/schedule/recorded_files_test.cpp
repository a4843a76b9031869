#include "probes/collect/schedule/recorded_files.hpp"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <thread>

#include "tests/collect/fake_root.hpp"
#include "tests/record/encode_recording.hpp"

namespace stallcast::collect::testing {
namespace {

using record::ControlBlock;
using State = FilesAhead::State;

constexpr std::int32_t k_pid = 70;

/// A rank whose samples are one file each, and that answers what it is asked.
struct Rank {
  FakeRoot run{};
  FakeRoot data{};
  std::unique_ptr<ControlBlock> control = std::make_unique<ControlBlock>();
  record::RecordingEncoder recording{[] {
    record::ProcessInfo info;
    info.run_id = "ahead";
    info.pid = k_pid;
    return info;
  }()};
  std::unique_ptr<RecordedFiles> files{};

  explicit Rank(std::int64_t samples_read) {
    control->phases[0].armed.store(1);
    control->phases[0].workers.store(2);
    files = std::make_unique<RecordedFiles>(run.path(), *control);
    for (std::int64_t index = 0; index < samples_read; ++index) {
      const std::string name = fmt::format("{}.jpg", index);
      data.put(name, std::string(5000, 'x'));
      recording.add_path({static_cast<std::uint64_t>(index) + 1, 5000, 8, (data.path() / name).string()});
      record::TouchedRecord touched{};
      touched.header = {static_cast<std::uint16_t>(record::Kind::touched), sizeof(touched), 0};
      touched.index = index;
      touched.file_id = static_cast<std::uint64_t>(index) + 1;
      touched.bytes = UINT64_MAX;
      recording.append(1, &touched, sizeof(touched));
    }
  }

  /// To the newest question; `answer` without its serial.
  void answer(const std::string& answer) {
    const std::string serial = fmt::format(R"({{"serial":{},)", control->ahead_serial.load());
    recording.add_text(record::TextKind::ahead, serial + answer);
    poll();
  }

  void poll() {
    const std::vector<std::byte> bytes = recording.bytes();
    run.put("ahead.0.host.70.rec", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    files->poll();
  }

  /// Once nothing is being read any more, or let go of.
  [[nodiscard]] State settled() const {
    return wait_for([this] { return files->state() != State::reading; }) ? files->state() : State::reading;
  }

  [[nodiscard]] bool is_next_held() const {
    return wait_for([this] { return files->is_next_held(); });
  }

  template <typename Done>
  static bool wait_for(Done done) {
    for (int i = 0; i < 2000 && !done(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return done();
  }
};

}  // namespace

TEST_CASE("files ahead: a rank is asked for its samples, whose files are then held, and let go of") {
  Rank rank(8);
  CHECK(rank.files->state() == State::idle);
  rank.files->ask(40, 2);
  CHECK(rank.control->ahead_first.load() == 40);
  CHECK(rank.control->ahead_batches.load() == 2);
  CHECK(rank.files->state() == State::asked);
  rank.answer(R"("indices":[[1,2]]})");
  CHECK(rank.files->state() == State::asked);  // there is more to come
  rank.answer(R"("indices":[[3,4]],"done":true})");
  CHECK(rank.settled() == State::held);
  rank.files->release();
  CHECK(rank.settled() == State::idle);
}

TEST_CASE("files ahead: what is asked for next takes the place of what is let go of") {
  Rank rank(8);
  rank.files->ask(40, 2);
  rank.answer(R"("indices":[[1,2]],"done":true})");
  REQUIRE(rank.settled() == State::held);
  rank.files->ask_next(80, 3);
  CHECK(rank.control->ahead_first.load() == 80);
  CHECK(rank.files->state() == State::held);
  CHECK_FALSE(rank.files->is_next_held());
  rank.answer(R"("indices":[[5,6,7]],"done":true})");
  CHECK(rank.is_next_held());
  rank.files->release();
  CHECK(rank.files->state() == State::held);  // the next ones
  CHECK_FALSE(rank.files->is_next_held());
  rank.files->release_all();
  CHECK(rank.settled() == State::idle);
}

TEST_CASE("files ahead: samples that come more than once are not held beside others, but by themselves") {
  Rank rank(8);
  rank.files->ask(40, 2);
  rank.answer(R"("indices":[[1,2,1]],"done":true})");
  REQUIRE(rank.settled() == State::held);
  rank.files->ask_next(80, 3);
  rank.answer(R"("indices":[[5,6],[6,7]],"done":true})");
  CHECK(rank.files->state() == State::held);
  rank.files->release();  // the next ones are in their place
  CHECK(rank.files->state() == State::failed);
  CHECK(rank.files->why_not() == "samples come more than once: cold batches before them might find theirs held");
}

TEST_CASE("files ahead: what several ranks have in common is not held beside others either") {
  Rank rank(8);
  rank.control->phases[1].armed.store(1);
  record::ProcessInfo info;
  info.run_id = "ahead";
  info.pid = k_pid + 1;
  record::RecordingEncoder second(info);
  const auto both = [&](const std::string& one, const std::string& other) {
    second.add_text(record::TextKind::ahead,
                    fmt::format(R"({{"serial":{},)", rank.control->ahead_serial.load()) + other);
    const std::vector<std::byte> bytes = second.bytes();
    rank.run.put("ahead.0.host.71.rec", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    rank.answer(one);
  };
  rank.files->ask(40, 1);
  both(R"("indices":[[1,2]],"done":true})", R"("indices":[[3,4]],"done":true})");
  REQUIRE(rank.settled() == State::held);
  rank.files->ask_next(80, 1);
  both(R"("indices":[[4,5]],"done":true})", R"("indices":[[6,7]],"done":true})");
  CHECK(rank.is_next_held());
  rank.files->ask_next(80, 1);
  both(R"("indices":[[4,5]],"done":true})", R"("indices":[[5,6]],"done":true})");
  rank.files->release();
  CHECK(rank.files->state() == State::failed);
}

TEST_CASE("files ahead: refusals, unknown samples and stale answers") {
  Rank rank(8);
  rank.files->ask(40, 2);
  rank.answer(R"("refused":"the sampler is steered"})");
  CHECK(rank.files->state() == State::failed);
  CHECK(rank.files->why_not() == "the sampler is steered");
  rank.files->release();
  rank.files->ask(40, 2);
  rank.answer(R"("indices":[["a"]],"done":true})");
  CHECK(rank.files->why_not() == "the sampler gives no whole numbers");
  rank.files->release();
  rank.files->ask(40, 2);
  rank.answer(R"("indices":[[1,100]],"done":true})");
  CHECK(rank.files->why_not() == "which files the next samples are read from is not known");
  rank.files->release();
  const std::uint32_t before = rank.control->ahead_serial.load();
  rank.files->ask(40, 2);
  rank.recording.add_text(record::TextKind::ahead, fmt::format(R"({{"serial":{},"refused":"late"}})", before));
  rank.poll();
  CHECK(rank.files->state() == State::asked);
}

TEST_CASE("files ahead: where unread samples lie in a file that they share is told by a table, or by its order") {
  Rank rank(0);
  rank.data.put("records.pack", std::string(600'000, 'x'));
  rank.recording.add_path({1, 600'000, 8, (rank.data.path() / "records.pack").string()});
  record::TouchedRecord touched{};
  touched.header = {static_cast<std::uint16_t>(record::Kind::touched), sizeof(touched), 0};
  touched.file_id = 1;
  touched.bytes = 1000;
  const auto place_of = [](std::int64_t index) {
    return static_cast<std::uint64_t>(index * 189 % 401) * 1000 + 100'000;
  };
  std::string numbers;
  for (touched.index = 0; touched.index < 400; touched.index += 2) {
    touched.offset = place_of(touched.index);
    rank.recording.append(1, &touched, sizeof(touched));
    numbers += fmt::format("[{},{}],", touched.index, place_of(touched.index));
  }
  rank.poll();
  std::string given = "[0]";
  for (int index = 2; index < 40; index += 2) given += fmt::format(",[{}]", index);
  rank.files->ask(40, 2);  // without a table there is no order: all of the file
  rank.answer(fmt::format(R"("given":[{}]}})", given));
  rank.answer(R"("indices":[[1,3]],"done":true})");
  CHECK(rank.settled() == State::held);
  CHECK(rank.files->held_bytes() > 500'000);
  rank.files->release();
  rank.files->ask(40, 2);
  rank.answer(fmt::format(R"("table":".table3","numbers":[{}[1,{}],[3,{}]]}})", numbers, place_of(1), place_of(3)));
  rank.answer(R"("indices":[[1,3]],"done":true})");
  CHECK(rank.settled() == State::held);
  CHECK(rank.files->held_bytes() < 5 * 4096);
}

TEST_CASE("files ahead: what is mapped is all that is read, also where each worker reads a header as it opens it") {
  Rank rank(4);
  rank.poll();
  rank.control->phases[0].passes.store(2);  // of two workers
  CHECK_FALSE(rank.files->only_maps());
  rank.control->maps_read.store(1);
  CHECK(rank.files->only_maps());
  rank.control->phases[0].passes.store(1);
  CHECK_FALSE(rank.files->only_maps());
  rank.control->phases[0].workers.store(0);  // the script itself
  CHECK_FALSE(rank.files->only_maps());
  rank.control->phases[0].passes.store(4);
  CHECK(rank.files->only_maps());
}

TEST_CASE("files ahead: samples that lie in files together are told; all files can be held") {
  Rank rank(8);
  rank.poll();
  CHECK_FALSE(rank.files->are_shared());
  CHECK_FALSE(rank.files->only_maps());
  record::TouchedRecord touched{};
  touched.header = {static_cast<std::uint16_t>(record::Kind::touched), sizeof(touched), 0};
  touched.file_id = 1;
  touched.bytes = UINT64_MAX;
  for (touched.index = 8; touched.index < 12; ++touched.index) rank.recording.append(1, &touched, sizeof(touched));
  rank.poll();
  CHECK(rank.files->are_shared());
  rank.files->ask_all();
  CHECK(rank.settled() == State::held);
  rank.files->release();
  CHECK(rank.settled() == State::idle);

  Rank none(0);
  none.files->ask_all();
  CHECK(none.files->why_not() == "no file was seen that its samples are read from");
}

}  // namespace stallcast::collect::testing
