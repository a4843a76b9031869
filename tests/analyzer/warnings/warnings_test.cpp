/// Each row of the table: said where its evidence is there, not said where it is not.
#include "analyzer/warnings/warnings.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

std::string said(const Profile& profile, const std::string& id) {
  for (const DataIssue& issue : profile.issues) {
    if (issue.id == id) return issue.detail;
  }
  return {};
}

/// Two workers that are there for `seconds`, one reading of the log a second.
RunData long_run() {
  JobSpec spec = prep_bound();
  spec.batches = 400;
  spec.persistent = true;
  return make_run(spec);
}

/// The log's worker at each tick; the builder writes one down.
template <class Change>
void each_worker(RunData& run, Change change) {
  int number = 0;
  for (Tick& tick : run.log.ticks) {
    for (ProcessTick& process : tick.processes) {
      if (process.pid == k_first_consumer_pid + 1) change(process, number);
    }
    ++number;
  }
}

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("every row has its own name, a threshold that is explained, and a remedy") {
  std::set<std::string> ids;
  for (const sections::Warning& warning : sections::warning_table()) {
    CAPTURE(warning.id);
    CHECK(ids.insert(warning.id).second);
    CHECK(std::string(warning.hint).size() > 10);
    CHECK((warning.threshold == 0.0) == std::string(warning.of).empty());
  }
}

TEST_CASE("a healthy run is warned of nothing") {
  const Profile profile = analyze_run(long_run());
  for (const sections::Warning& warning : sections::warning_table()) {
    CAPTURE(warning.id);
    CHECK(said(profile, warning.id).empty());
  }
}

TEST_CASE("workers that may run on one core") {
  RunData run = long_run();
  each_worker(run, [](ProcessTick& process, int) { process.cpus = "3"; });
  CHECK(has(said(analyze_run(run), "workers-pinned"), "2 workers may run on 1 of "));
  each_worker(run, [](ProcessTick& process, int) { process.cpus = "0-1"; });
  CHECK(said(analyze_run(run), "workers-pinned").empty());  // two workers need no more
  each_worker(run, [](ProcessTick& process, int) { process.cpus = "garbage"; });
  CHECK(said(analyze_run(run), "workers-pinned").empty());
}

TEST_CASE("a core of its own for each worker is no complaint") {
  RunData run = long_run();
  for (Tick& tick : run.log.ticks) {
    ProcessTick other = tick.processes.back();
    other.pid = k_first_consumer_pid + 2;
    other.cpus = "5";
    tick.processes.back().cpus = "4";
    tick.processes.push_back(other);
  }
  CHECK(said(analyze_run(run), "workers-pinned").empty());
}

TEST_CASE("a quota that is used up in one period of ten") {
  RunData run = long_run();
  std::int64_t number = 0;
  for (Tick& tick : run.log.ticks) {
    tick.quota_periods = 1000 + 10 * number;
    tick.quota_throttled = 500 + number;
    tick.quota_throttled_ns = 7'000'000'000 + 50'000'000 * number++;
  }
  CHECK(has(said(analyze_run(run), "cpu-throttled"), "in 10 % of its periods"));
  for (Tick& tick : run.log.ticks) tick.quota_throttled = 500;  // all of it was before this job
  CHECK(said(analyze_run(run), "cpu-throttled").empty());
  for (Tick& tick : run.log.ticks) tick.quota_periods = -1;
  CHECK(said(analyze_run(run), "cpu-throttled").empty());
}

TEST_CASE("a virtual machine whose host ran others") {
  RunData run = long_run();
  const auto steal = [&](double cores) {
    for (Tick& tick : run.log.ticks) {
      tick.machine_cpus = 4;
      tick.machine_stolen_ns =
          9'000'000 + static_cast<std::int64_t>(cores * static_cast<double>(tick.t_ns - k_start_ns));
    }
  };
  CHECK(said(analyze_run(run), "cpu-stolen").empty());
  steal(0.12);
  CHECK(said(analyze_run(run), "cpu-stolen").empty());
  steal(0.48);
  CHECK(has(said(analyze_run(run), "cpu-stolen"), "gave 12 % of its cores' time to others"));
}

TEST_CASE("/dev/shm fills up") {
  RunData run = long_run();
  for (Tick& tick : run.log.ticks) tick.shm_free_bytes = 64'000'000;
  CHECK(said(analyze_run(run), "shm-nearly-full").empty());
  run.log.ticks[3].shm_free_bytes = 8'000'000;
  CHECK(has(said(analyze_run(run), "shm-nearly-full"), "56 MB were in use"));
  for (Consumer& consumer : run.consumers) consumer.phases_begin_ns = run.log.ticks[3].t_ns;
  CHECK(said(analyze_run(run), "shm-nearly-full").empty());  // from there on it may be what we stage
}

TEST_CASE("memory on swap") {
  RunData run = long_run();
  each_worker(run, [](ProcessTick& process, int) {
    process.rss_bytes = 900'000'000;
    process.swap_bytes = 5'000'000;
  });
  CHECK(said(analyze_run(run), "swapping").empty());
  each_worker(run, [](ProcessTick& process, int number) { process.swap_bytes = number < 5 ? 0 : 300'000'000; });
  CHECK(has(said(analyze_run(run), "swapping"), "300 MB of the job's memory (25 %)"));
}

TEST_CASE("memory that is given back to the kernel and taken anew for each sample") {
  RunData run = long_run();
  const auto faults = [&](std::int64_t a_tick) {
    each_worker(run, [=](ProcessTick& process, int number) {
      process.cpu_ns = 900'000'000L * number;
      process.minor_faults = 50'000 + a_tick * number;
    });
  };
  run.log.fresh_page_s = 0.5e-6;
  faults(200'000);                                       // 0.1 s of 0.9
  CHECK(said(analyze_run(run), "memory-anew").empty());  // what a batch takes is not known
  record::ProcessRecording& consumer =
      *std::find_if(run.processes.begin(), run.processes.end(),
                    [](const record::ProcessRecording& process) { return process.info.pid == k_first_consumer_pid; });
  consumer.texts.push_back({record::TextKind::mark, R"({"what":"prepared","loader_id":1,"bytes":40960,"samples":1})"});
  CHECK(has(said(analyze_run(run), "memory-anew"),
            "page faults of 0.5 us each (measured here), 11 % of the job's CPU time"));
  each_worker(run, [](ProcessTick& process, int number) { process.rss_bytes = 4096L * 200'000 * number; });
  CHECK(said(analyze_run(run), "memory-anew").empty());  // it was kept
  each_worker(run, [](ProcessTick& process, int) { process.rss_bytes = 4096L * 200'000; });
  CHECK_FALSE(said(analyze_run(run), "memory-anew").empty());
  run.log.fresh_page_s = -1.0;
  CHECK(said(analyze_run(run), "memory-anew").empty());  // what a page costs is not known
  run.log.fresh_page_s = 0.5e-6;
  faults(20'000);
  CHECK(said(analyze_run(run), "memory-anew").empty());
}

TEST_CASE("memory that grows, by the proportional set where there is one") {
  RunData run = long_run();
  each_worker(run, [](ProcessTick& process, int number) { process.anon_bytes = 300'000'000 + 20'000'000L * number; });
  const std::string grown = said(analyze_run(run), "memory-growth");
  CHECK(has(grown, "the memory of 1 worker grew by 1.2 GB a minute"));
  // Pages that the fork has shared count as the worker's own from the beginning; their copies are seen here alone.
  each_worker(run, [](ProcessTick& process, int number) {
    process.anon_bytes = 300'000'000;
    if (number % 2 == 0) process.pss_anon_bytes = 100'000'000 + 10'000'000L * number;
  });
  CHECK(has(said(analyze_run(run), "memory-growth"), "600 MB a minute"));
  each_worker(run,
              [](ProcessTick& process, int number) { process.pss_anon_bytes = number < 5 ? 50'000'000 : 400'000'000; });
  CHECK(said(analyze_run(run), "memory-growth").empty());  // it took its buffers, and that was it
}

TEST_CASE("memory that grows, read at uneven times") {
  RunData run = long_run();
  int readings = 0;
  each_worker(run, [&](ProcessTick&, int) { ++readings; });
  each_worker(run, [&](ProcessTick& process, int number) {  // one cost so much that the next came late
    process.anon_bytes = number < 4 || number > readings - 3 ? 300'000'000 + 20'000'000L * number : -1;
  });
  CHECK(has(said(analyze_run(run), "memory-growth"), "1.2 GB a minute"));
}

TEST_CASE("memory that grows is put away on swap") {
  RunData run = long_run();
  each_worker(run, [](ProcessTick& process, int number) {
    process.anon_bytes = 300'000'000;
    process.swap_bytes = 20'000'000L * number;
  });
  CHECK(has(said(analyze_run(run), "memory-growth"), "the memory of 1 worker grew by 1.2 GB a minute"));
  each_worker(run, [](ProcessTick& process, int number) {
    process.anon_bytes = 600'000'000 - 20'000'000L * number;
    process.swap_bytes = 20'000'000L * number;
  });
  CHECK(said(analyze_run(run), "memory-growth").empty());  // all that happened is that it moved there
}

TEST_CASE("one worker that is slower than the others") {
  RunData run = long_run();
  for (Delivery& delivery : run.consumers[0].passes[0].deliveries) {
    record::BatchRecord& made = delivery.made;
    if (delivery.made_known && made.header.aux == 1) made.end_ns += (made.end_ns - made.begin_ns) / 2;
  }
  CHECK(has(said(analyze_run(run), "slow-worker"), "worker 1 takes 1.5 times as long"));
}

TEST_CASE("one rank that waits longer than the others") {
  JobSpec spec = compute_bound();
  spec.ranks = 3;
  const RunData run = make_run(spec);
  Profile profile = analyze_run(run);
  REQUIRE(profile.ranks.size() == 3);
  const std::vector<sections::RankView> none;
  CHECK(sections::slow_rank({run, none, profile}, 0.05).empty());
  profile.ranks[1].wait = Estimate<Fraction>{0.30, 0.28, 0.32, 100};
  CHECK_FALSE(profile.job.ranks_together);  // no launcher says that they are ranks, and no exchange was seen
  CHECK(sections::slow_rank({run, none, profile}, 0.05).empty());
  profile.job.ranks_together = true;
  CHECK(has(sections::slow_rank({run, none, profile}, 0.05), "rank 1 "));
  profile.ranks[1].wait = Estimate<Fraction>{0.30, 0.02, 0.58, 5};
  CHECK(sections::slow_rank({run, none, profile}, 0.05).empty());  // it cannot be told
}

TEST_CASE("OpenCV's own threads in every worker") {
  RunData run = long_run();
  const double cores = run.log.host->usable_cpus;
  for (record::ProcessRecording& process : run.processes) {
    for (record::TextEntry& entry : process.texts) {
      if (!has(entry.json, "\"role\":\"worker\"")) continue;
      entry.json = R"({"role":"worker","torch_threads":1,"opencv_threads":)" + std::to_string(int(cores) + 1) + "}";
    }
  }
  CHECK(has(said(analyze_run(run), "opencv-threads"), "each of 2 workers"));
}

TEST_CASE("what the kernel reads ahead and nobody takes") {
  const RunData run = long_run();
  const std::vector<sections::RankView> none;
  Profile profile;
  profile.dataset.bytes_per_sample = BytesPerSample(40e3);
  profile.dataset.stored_bytes_per_sample = BytesPerSample(180e3);
  profile.stalls.fetch = Estimate<Fraction>{0.5, 0.45, 0.55, 5};
  CHECK(has(sections::read_ahead_unused({run, none, profile}, 2.0), "4.1 times"));
  profile.dataset.stored_bytes_per_sample = BytesPerSample(52e3);
  CHECK(sections::read_ahead_unused({run, none, profile}, 2.0).empty());
  profile.dataset.stored_bytes_per_sample = BytesPerSample(180e3);
  profile.stalls.fetch = Estimate<Fraction>{0.01, 0.0, 0.02, 5};
  CHECK(sections::read_ahead_unused({run, none, profile}, 2.0).empty());  // it holds nobody up
}

TEST_CASE("pageable memory matters where there is a GPU") {
  RunData run = long_run();
  for (auto& [id, loader] : run.consumers[0].loaders) loader.pin_memory = 0;
  CHECK(said(analyze_run(run), "not-pinned").empty());
  run.consumers[0].description = R"({"role": "consumer", "cuda": true})";
  CHECK_FALSE(said(analyze_run(run), "not-pinned").empty());
  // The driver was started, as torch does to see whether there is a device; nothing was given to it.
  GpuRecording looked;
  looked.pid = run.consumers[0].pid;
  looked.library = "libcupti.so.13";
  looked.opened = 1;
  run.gpus.push_back(looked);
  CHECK(said(analyze_run(run), "not-pinned").empty());
  run.gpus[0].records = 1000;
  CHECK_FALSE(said(analyze_run(run), "not-pinned").empty());
  for (auto& [id, loader] : run.consumers[0].loaders) loader.pin_memory = 1;
  CHECK(said(analyze_run(run), "not-pinned").empty());
}

}  // namespace

namespace {

/// The recordings of a stream of two workers, which are kept, with its passes' ends seen.
RunData stream_run(int passes = 1) {
  JobSpec spec = prep_bound();
  spec.batches = 120;
  spec.passes = passes;
  spec.persistent = true;
  RunData run = make_recordings(spec);
  for (record::ProcessRecording& process : run.processes) {
    for (record::TextEntry& entry : process.texts) {
      if (entry.kind != record::TextKind::loader) continue;
      nlohmann::json text = nlohmann::json::parse(entry.json);
      text["kind"] = "iterable";
      entry.json = text.dump();
    }
  }
  return run;
}

record::FileRecord file_read(std::uint64_t id, std::uint64_t begin_ns, std::uint64_t bytes) {
  return {.header = {}, .file_id = id, .begin_ns = begin_ns, .read_ns = 1, .read_bytes = bytes, .meta_ns = 0};
}

/// Each batch's maker is said to be that worker.
template <class Worker>
Profile made_by(Worker worker_of) {
  RunData run = stream_run();
  join_run(run);
  for (Pass& pass : run.consumers.front().passes) {
    for (Delivery& delivery : pass.deliveries) delivery.made.header.aux = worker_of(delivery.wait.batch);
  }
  return analyze_run(run);
}

}  // namespace

TEST_CASE("a worker of a stream that makes no batch is named, and workers of which one has far more to do") {
  const Profile without = made_by([](std::uint64_t) { return 0U; });
  CHECK(has(said(without, "worker-without-data"), "1 of 2 workers made no batch"));
  CHECK(said(without, "uneven-workers").empty());
  const Profile uneven = made_by([](std::uint64_t batch) { return batch < 20 && batch % 2 == 1 ? 1U : 0U; });
  CHECK(said(uneven, "worker-without-data").empty());
  CHECK(has(said(uneven, "uneven-workers"), "made 110 batches, another 10"));
  const Profile even = made_by([](std::uint64_t batch) { return static_cast<std::uint32_t>(batch % 2); });
  for (const char* id : {"worker-without-data", "uneven-workers", "data-not-split"}) CHECK(said(even, id).empty());
}

TEST_CASE("a stream that each worker reads as a whole is named") {
  enum class Reads { all, others, halves, apart, in_turn, open, twice };
  constexpr std::uint64_t k_size = 1 << 20;
  for (const Reads reads :
       {Reads::all, Reads::others, Reads::halves, Reads::apart, Reads::in_turn, Reads::open, Reads::twice}) {
    RunData run = stream_run(2);
    std::uint64_t worker = 0;
    for (record::ProcessRecording& process : run.processes) {
      if (!process.waits.empty()) continue;
      process.files.clear();
      process.paths.clear();
      std::map<std::uint64_t, std::uint64_t> passes;  // iterator, its first batch
      for (const auto& batch : process.batches) passes.emplace(batch.iterator_id, batch.begin_ns);
      REQUIRE(passes.size() == 2);
      for (std::uint64_t file = 0; file < 6; ++file) {
        const std::string folder = reads == Reads::others ? "/usr/lib/locale/" : "/data/";
        process.paths.push_back({100 + file, k_size, 1, folder + std::to_string(file)});
        std::uint64_t turn = worker;  // of those who keep half of the files, or swap them after each pass
        for (const auto& [iterator, begin_ns] : passes) {
          const bool is_own = file % 2 == turn % 2;
          if (reads == Reads::in_turn) ++turn;
          if (!is_own && reads >= Reads::apart) continue;
          const std::uint64_t bytes = reads == Reads::halves                          ? k_size / 2
                                      : reads == Reads::open || reads == Reads::twice ? 2 * k_size
                                                                                      : k_size;
          process.files.push_back(file_read(100 + file, begin_ns + 1, bytes));
          if (reads == Reads::open) break;  // one record, when it is closed after both passes
        }
      }
      ++worker;
    }
    REQUIRE(worker == 2);
    for (record::ProcessRecording& process : run.processes) {  // its model: no worker reads that
      if (process.waits.empty()) continue;
      process.files.push_back(file_read(900, 1, 100 * k_size));
      process.paths.push_back({900, 100 * k_size, 1, "/models/resnet.bin"});
    }
    join_run(run);
    const std::string seen = said(analyze_run(run), "data-not-split");
    CAPTURE(static_cast<int>(reads));
    CHECK(seen.empty() == (reads != Reads::all));
    if (reads == Reads::all) CHECK(has(seen, "each of 2 workers read all of the 6 files"));
  }
}
