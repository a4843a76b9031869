/// The writer alone, in this process and under its sanitizers, read back by the reader.
#include "probes/record/writer.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "probes/record/reader.hpp"

namespace stallcast::record {
namespace {

/// A run folder without a control file: the writer is given the control block directly.
class Fixture {
 public:
  Fixture() {
    std::string pattern = (std::filesystem::temp_directory_path() / "stallcast-writer-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    folder = pattern;
    std::strcpy(control->run_id, "writer-test");
    control->budget_bytes = 64ULL << 20;
    control->recording = 1;
  }
  ~Fixture() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  bool open() { return open_writer(*writer, control.get(), folder.c_str(), false); }

  [[nodiscard]] ProcessRecording read_back() const {
    auto recording = read_recording(writer->path);
    REQUIRE(recording.ok());
    return std::move(recording).value();
  }

  std::string folder{};
  std::unique_ptr<ControlBlock> control = std::make_unique<ControlBlock>();
  std::unique_ptr<Writer> writer = std::make_unique<Writer>();
};

void write_step(Writer& writer, Appender& to, std::uint64_t number) {
  auto* step = static_cast<StepRecord*>(reserve(writer, to, Kind::step, 0, sizeof(StepRecord)));
  if (step == nullptr) return;
  step->step = number;
  step->time_ns = number * 10;
  commit(to);
}

std::uint64_t remaining_steps(const ProcessRecording& recording) {
  std::uint64_t next = 0;
  for (const auto& step : recording.steps) {
    if (step.step == next) ++next;
  }
  return next;
}

constexpr std::uint64_t k_steps_in_a_block = (k_block_bytes - sizeof(BlockHeader)) / sizeof(StepRecord);

}  // namespace

namespace {

/// A variable of the environment as it is to be; as it was at the end.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) {
    const char* before = getenv(name);
    if (before != nullptr) before_ = before;
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  }
  ~Setting() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_{};
};

ProcessInfo info_under(const std::vector<std::pair<const char*, const char*>>& variables) {
  std::vector<std::unique_ptr<Setting>> settings;
  for (const RankVariables& names : k_rank_variables) {
    settings.push_back(std::make_unique<Setting>(names.rank, nullptr));
    settings.push_back(std::make_unique<Setting>(names.world, nullptr));
  }
  for (const char* name : k_job_variables) settings.push_back(std::make_unique<Setting>(name, nullptr));
  settings.push_back(std::make_unique<Setting>(k_restart_variable, nullptr));
  for (const auto& [name, value] : variables) settings.push_back(std::make_unique<Setting>(name, value));
  Fixture run;
  REQUIRE(run.open());
  const ProcessInfo info = run.read_back().info;
  while (!settings.empty()) settings.pop_back();
  return info;
}

}  // namespace

TEST_CASE("a process says which rank of which job it is, as its launcher does") {
  const ProcessInfo alone = info_under({});
  CHECK(alone.rank == UINT32_MAX);
  CHECK(alone.world_size == 0);
  CHECK(alone.job.empty());
  CHECK_FALSE(alone.elastic);
  const ProcessInfo torch = info_under({{"RANK", "3"},
                                        {"WORLD_SIZE", "8"},
                                        {"OMPI_COMM_WORLD_RANK", "1"},
                                        {"OMPI_COMM_WORLD_SIZE", "2"},
                                        {"TORCHELASTIC_RUN_ID", "abc"},
                                        {"TORCHELASTIC_RESTART_COUNT", "0"},
                                        {"SLURM_JOB_ID", "17"}});
  CHECK(torch.rank == 3);
  CHECK(torch.world_size == 8);
  CHECK(torch.job == "TORCHELASTIC_RUN_ID=abc");
  CHECK(torch.elastic);
  CHECK(torch.restart == 0);
  const ProcessInfo mpi = info_under({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
  CHECK(mpi.rank == 1);
  CHECK(mpi.world_size == 2);
  // A batch script of Slurm is task 0 of no step; torchrun calls a job without a name "none".
  const ProcessInfo batch =
      info_under({{"SLURM_PROCID", "0"}, {"SLURM_JOB_ID", "17"}, {"TORCHELASTIC_RUN_ID", "none"}});
  CHECK(batch.rank == UINT32_MAX);
  CHECK(batch.world_size == 0);
  CHECK(batch.job == "SLURM_JOB_ID=17");
  const ProcessInfo step = info_under({{"SLURM_PROCID", "4"}, {"SLURM_STEP_NUM_TASKS", "6"}});
  CHECK(step.rank == 4);
  CHECK(step.world_size == 6);
  const std::string longest(400, 'x');
  CHECK(info_under({{"SLURM_JOB_ID", longest.c_str()}}).job.size() == k_job_bytes - 1);
}

TEST_CASE("records come back in order across blocks") {
  Fixture run;
  REQUIRE(run.open());
  Appender thread{.block = nullptr, .offset = 0, .thread_id = 7};
  for (std::uint64_t i = 0; i < 2 * k_steps_in_a_block + 5; ++i) write_step(*run.writer, thread, i);
  const auto recording = run.read_back();
  CHECK(recording.info.run_id == "writer-test");
  CHECK(remaining_steps(recording) == 2 * k_steps_in_a_block + 5);
  CHECK(recording.steps.size() == 2 * k_steps_in_a_block + 5);
  CHECK(run.control->used_bytes.load() == k_header_bytes + 3 * k_block_bytes);
  CHECK(recording.file_bytes == run.control->used_bytes.load());
}

TEST_CASE("a record that was begun and not committed is a torn tail, and the next one takes its place") {
  Fixture run;
  REQUIRE(run.open());
  Appender thread{.block = nullptr, .offset = 0, .thread_id = 7};
  write_step(*run.writer, thread, 0);
  auto* torn = reserve(*run.writer, thread, Kind::step, 0, sizeof(StepRecord));
  std::memset(static_cast<char*>(torn) + sizeof(RecordHeader), 0xff, sizeof(StepRecord) - sizeof(RecordHeader));
  auto recording = run.read_back();
  CHECK(recording.steps.size() == 1);
  CHECK(recording.torn_tails == 1);
  write_step(*run.writer, thread, 1);
  recording = run.read_back();
  CHECK(remaining_steps(recording) == 2);
  CHECK(recording.torn_tails == 0);
}

TEST_CASE("a thread takes over what another gave back, and its records are its own") {
  Fixture run;
  REQUIRE(run.open());
  Appender first{.block = nullptr, .offset = 0, .thread_id = 7};
  write_step(*run.writer, first, 0);
  const BlockHeader* block = first.block;
  give_back(*run.writer, first);
  CHECK(first.block == nullptr);
  Appender second{.block = nullptr, .offset = 0, .thread_id = 8};
  write_step(*run.writer, second, 1);
  CHECK(second.block == block);
  CHECK(run.writer->header->blocks.load() == 1);
  const auto* handover = reinterpret_cast<const RecordHeader*>(reinterpret_cast<const char*>(block) +
                                                               sizeof(BlockHeader) + sizeof(StepRecord));
  CHECK(handover->kind == static_cast<std::uint16_t>(Kind::thread));
  CHECK(handover->aux == 8);
  const auto recording = run.read_back();
  CHECK(remaining_steps(recording) == 2);
  CHECK(recording.unknown_records == 0);
}

TEST_CASE("a block too full for the next record is not taken over") {
  Fixture run;
  REQUIRE(run.open());
  Appender first{.block = nullptr, .offset = 0, .thread_id = 7};
  write_step(*run.writer, first, 0);
  give_back(*run.writer, first);
  Appender second{.block = nullptr, .offset = 0, .thread_id = 8};
  REQUIRE(reserve(*run.writer, second, Kind::text, 0, k_block_bytes - sizeof(BlockHeader)) != nullptr);
  commit(second);
  CHECK(run.writer->header->blocks.load() == 2);
}

TEST_CASE("beyond the budget nothing stays taken and everything is counted") {
  Fixture run;
  run.control->budget_bytes = k_header_bytes + k_block_bytes;
  REQUIRE(run.open());
  Appender thread{.block = nullptr, .offset = 0, .thread_id = 7};
  for (std::uint64_t i = 0; i < k_steps_in_a_block + 3; ++i) write_step(*run.writer, thread, i);
  CHECK(run.control->used_bytes.load() == run.control->budget_bytes);
  CHECK(run.control->refused_blocks.load() == 1);
  CHECK_FALSE(recording(*run.writer));
  const auto back = run.read_back();
  CHECK(back.info.disabled == static_cast<std::uint32_t>(DisableReason::budget));
  CHECK(back.info.dropped_records == 3);
  CHECK(back.steps.size() == k_steps_in_a_block);
}

TEST_CASE("what matters least is dropped first") {
  Fixture run;
  REQUIRE(run.open());
  const auto fits = [&](std::uint64_t used_percent, Kind kind) {
    run.control->used_bytes = run.control->budget_bytes / 100 * used_percent;
    Appender thread{.block = nullptr, .offset = 0, .thread_id = 7};
    return reserve(*run.writer, thread, kind, 0, 64) != nullptr;
  };
  CHECK(fits(70, Kind::file));
  CHECK_FALSE(fits(76, Kind::file));
  CHECK(fits(76, Kind::sample));
  CHECK(fits(76, Kind::path));
  CHECK_FALSE(fits(91, Kind::sample));
  CHECK_FALSE(fits(91, Kind::path));
  for (const Kind kind : {Kind::text, Kind::wait, Kind::step, Kind::batch}) CHECK(fits(91, kind));
  CHECK(run.writer->header->dropped_records.load() == 3);
}

TEST_CASE("threads that need blocks at once all get one") {
  Fixture run;
  REQUIRE(run.open());
  constexpr std::uint32_t k_threads = 8;
  constexpr std::uint64_t k_steps = 10'000;
  std::vector<std::thread> threads;
  for (std::uint32_t id = 1; id <= k_threads; ++id) {
    threads.emplace_back([&run, id] {
      Appender own{.block = nullptr, .offset = 0, .thread_id = id};
      for (std::uint64_t i = 0; i < k_steps; ++i) write_step(*run.writer, own, i);
      give_back(*run.writer, own);
    });
  }
  for (auto& thread : threads) thread.join();
  const auto recording = run.read_back();
  CHECK(recording.steps.size() + recording.info.dropped_records == k_threads * k_steps);
  CHECK(recording.info.dropped_records == 0);
  CHECK(recording.broken_blocks == 0);
}

TEST_CASE("a second recording of the same process gets a name of its own") {
  Fixture run;
  REQUIRE(run.open());
  auto again = std::make_unique<Writer>();
  REQUIRE(open_writer(*again, run.control.get(), run.folder.c_str(), false));
  CHECK(std::string(run.writer->path) != again->path);
  CHECK(std::string(again->path).ends_with("-1.rec"));
}

TEST_CASE("a folder that is not there ends the recording before it began") {
  Fixture run;
  CHECK_FALSE(open_writer(*run.writer, run.control.get(), "/nonexistent/folder", false));
  CHECK(run.writer->ended.load() == static_cast<std::uint32_t>(DisableReason::failed));
  CHECK(run.control->used_bytes.load() == 0);
  CHECK(run.control->refused_blocks.load() == 1);
  auto far = std::make_unique<Writer>();
  CHECK_FALSE(open_writer(*far, run.control.get(), std::string(900, 'x').c_str(), false));
}

}  // namespace stallcast::record
