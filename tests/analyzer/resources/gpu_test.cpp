/// The GPU's bins and the job's steps side by side: jobs whose truth is known.
#include <doctest/doctest.h>

#include <string>

#include "analyzer/analyze.hpp"
#include "tests/analyzer/run_builder.hpp"

using namespace stallcast;
using namespace stallcast::synthetic;

namespace {

constexpr std::uint64_t k_bin_ns = 1'000'000;

std::string list(const char* name, std::size_t bins, std::uint64_t value) {
  std::string text = std::string(",\"") + name + "\":[";
  for (std::size_t i = 0; i < bins; ++i) text += (i > 0 ? "," : "") + std::to_string(value);
  return text + "]";
}

/// In each step, from the delivery of its batch on: 40 ms of kernels, of a step's first 60 % at least; then nothing.
std::string recorded(const RunData& run, std::uint64_t busy_per_bin, std::uint64_t exposed_per_bin) {
  const Consumer& consumer = run.consumers[0];
  std::string text = R"({"kind":"gpu","version":1,"pid":)" + std::to_string(consumer.pid) +
                     R"(,"run_folder":"stallcast-)" + run.log.run_id +
                     R"(","begin_ns":1,"library":"libcupti.so.13","cupti_version":130000})" + "\n";
  text += R"({"kind":"device","device":0,"name":"NVIDIA H200","memory_bytes":150000000000,"multiprocessors":132,)"
          R"("pci":"0000:65:00.0","link_speed":"32.0 GT/s PCIe","link_width":"16"})"
          "\n";
  std::uint64_t covered = 0;
  for (const Delivery& delivery : consumer.passes[0].deliveries) {
    const std::string head = R"({"kind":"bins","device":0,"begin_ns":)" + std::to_string(delivery.wait.end_ns) +
                             R"(,"width_ns":)" + std::to_string(k_bin_ns);
    text += head + list("busy_ns", 40, busy_per_bin) + list("copy_in_ns", 40, exposed_per_bin) +
            list("exposed_ns", 40, exposed_per_bin) + list("copy_out_ns", 40, 0) +
            list("any_ns", 40, busy_per_bin + exposed_per_bin) + list("wait_ns", 40, 0) + list("bytes_in", 40, 1000) +
            list("pageable_bytes", 40, 250) + list("kernels", 40, 3) + "}\n";
    covered = delivery.wait.end_ns + 200'000'000;
  }
  return text + R"({"kind":"covered","until_ns":)" + std::to_string(covered) +
         R"(,"records":5000,"dropped":0,"late":0})"
         "\n";
}

RunData with_gpu(JobSpec spec, std::uint64_t busy_per_bin, std::uint64_t exposed_per_bin) {
  RunData run = make_run(spec);
  run.log.run_id = "77-88";
  run.gpus.push_back(parse_gpu_recording(recorded(run, busy_per_bin, exposed_per_bin)));
  return run;
}

TEST_CASE("busy, exposed and starved shares of a step add up with the truth") {
  const RunData run = with_gpu(fetch_bound(), 750'000, 100'000);  // 30 ms of kernels, 4 ms of copies that nothing hides
  const Profile profile = analyze_run(run);
  const Gpu& gpu = profile.gpu;
  CHECK(gpu.source == "CUPTI");
  REQUIRE(gpu.busy.has_value());
  const double step = profile.resources.step->mean.value();
  CHECK(near(gpu.busy_time->mean.value(), 0.030, 0.01));
  CHECK(near(gpu.exposed_time->mean.value(), 0.004, 0.01));
  CHECK(near(gpu.busy->mean, 0.030 / step, 0.02));
  CHECK(near(gpu.idle->mean, 1.0 - 0.034 / step, 0.02));
  // Computing takes longer than 40 ms here, so that all of the waiting finds the device idle.
  CHECK(near(gpu.starved->mean, profile.stalls.as_is_wait->mean, 0.05));
  CHECK(gpu.starved->mean < gpu.idle->mean);
  CHECK(gpu.busy->ci95_low < gpu.busy->mean);
  CHECK(near(*gpu.kernels, 120.0, 0.01));
  CHECK(near(gpu.bytes_in->value(), 40'000.0, 0.01));
  CHECK(near(*gpu.pageable, 0.25, 1e-6));
  REQUIRE(gpu.devices.size() == 1);
  CHECK(gpu.devices[0].name == "NVIDIA H200");
  CHECK(gpu.devices[0].link == "32.0 GT/s PCIe x16");
}

/// Steps `first` to `last` were traced.
RunData traced_between(std::size_t first, std::size_t last) {
  RunData run = with_gpu(fetch_bound(), 750'000, 100'000);
  const auto& deliveries = run.consumers[0].passes[0].deliveries;
  run.gpus[0].always = false;
  run.gpus[0].windows.push_back(
      {deliveries[first].wait.end_ns - 1, deliveries[first].wait.end_ns, deliveries[last].wait.end_ns});
  return run;
}

TEST_CASE("of a GPU that was traced in a window, the steps in it tell; the job's rates are of the others") {
  const RunData run = traced_between(40, 60);
  const Profile profile = analyze_run(run);
  const Profile always = analyze_run(with_gpu(fetch_bound(), 750'000, 100'000));
  REQUIRE(profile.gpu.busy.has_value());
  CHECK(profile.gpu.busy->n == 20);
  CHECK(near(profile.gpu.busy_time->mean.value(), 0.030, 0.01));
  CHECK(near(profile.gpu.busy->mean, always.gpu.busy->mean, 0.05));
  CHECK(near(profile.gpu.idle->mean, always.gpu.idle->mean, 0.05));
  CHECK(profile.rates.as_is->n == always.rates.as_is->n - 21);  // and the one in which it was switched on
}

TEST_CASE("what tracing adds to a step is no idleness of the device") {
  RunData run = traced_between(40, 60);
  const Profile before = analyze_run(run);
  // The script takes 20 ms more in each traced step, so that all after it comes later.
  std::uint64_t later = 0;
  auto& deliveries = run.consumers[0].passes[0].deliveries;
  for (std::size_t i = 0; i < deliveries.size(); ++i) {
    if (i > 40 && i <= 60) later += 20'000'000;
    deliveries[i].wait.begin_ns += later;
    deliveries[i].wait.end_ns += later;
  }
  RunData slower = run;
  slower.gpus.clear();
  slower.gpus.push_back(parse_gpu_recording(recorded(slower, 750'000, 100'000)));
  slower.gpus[0].always = false;
  slower.gpus[0].windows.push_back(
      {deliveries[40].wait.end_ns - 1, deliveries[40].wait.end_ns, deliveries[60].wait.end_ns});
  const Profile after = analyze_run(slower);
  CHECK(near(after.gpu.busy->mean, before.gpu.busy->mean, 0.02));
  CHECK(near(after.gpu.idle->mean, before.gpu.idle->mean, 0.02));
  CHECK(near(after.rates.as_is->mean.value(), before.rates.as_is->mean.value(), 0.01));
}

TEST_CASE("what tracing takes of a wait is added to it: the device is as idle then") {
  RunData run = traced_between(40, 60);
  const Profile before = analyze_run(run);
  // The script asks 8 ms later in each traced step, and has its batch at the same time.
  auto& deliveries = run.consumers[0].passes[0].deliveries;
  for (std::size_t i = 41; i <= 60; ++i) deliveries[i].wait.begin_ns += 8'000'000;
  const Profile after = analyze_run(run);
  CHECK(before.gpu.starved->mean > 0.1);
  CHECK(near(after.gpu.starved->mean, before.gpu.starved->mean, 0.02));
  CHECK(after.gpu.starved->ci95_low < after.gpu.starved->mean);
}

TEST_CASE("ranks wait for the one that is traced: its windows are taken out of all, and told of its own") {
  RunData run = traced_between(40, 60);
  const Profile own = analyze_run(run);
  run.gpus[0].pid += 1;
  const Profile other = analyze_run(run);
  CHECK(other.rates.as_is->n == own.rates.as_is->n);
  CHECK(!other.gpu.busy.has_value());
}

TEST_CASE("a job that nobody could look into is not one without a GPU") {
  RunData run = make_run(fetch_bound());
  run.log.run_id = "77-88";
  GpuRecording looked;
  looked.pid = run.consumers[0].pid;
  looked.library = "libcupti.so.13";
  looked.always = false;
  run.gpus.push_back(looked);
  CHECK(analyze_run(run).gpu.busy.reason().find("main thread took too few batches") != std::string::npos);
  run.gpus[0].opened = 1;
  CHECK(analyze_run(run).gpu.busy.reason() == "no work was seen on a GPU");
}

TEST_CASE("where most steps were traced, they are the job's, too") {
  const Profile profile = analyze_run(traced_between(10, 150));
  const Profile always = analyze_run(with_gpu(fetch_bound(), 750'000, 100'000));
  CHECK(profile.rates.as_is->n == always.rates.as_is->n);
}

TEST_CASE("lines of windows that cannot be are damaged ones") {
  const std::string good = R"({"kind":"window","open_ns":10,"begin_ns":12,"end_ns":20})";
  CHECK(parse_gpu_recording(good + "\n").windows.size() == 1);
  for (const char* bad : {R"({"kind":"window","open_ns":10,"begin_ns":9,"end_ns":20})",
                          R"({"kind":"window","open_ns":10,"begin_ns":20,"end_ns":19})",
                          R"({"kind":"window","open_ns":15,"begin_ns":22,"end_ns":30})"}) {
    CAPTURE(bad);
    const GpuRecording recording = parse_gpu_recording(good + "\n" + bad + "\n");
    CHECK(recording.windows.size() == 1);
    CHECK(recording.bad_lines == 1);
  }
}

TEST_CASE("no GPU, no section; a GPU that nobody could look at, a reason") {
  RunData run = make_run(fetch_bound());
  CHECK(analyze_run(run).gpu.source.empty());
  CHECK(analyze_run(run).gpu.busy.reason() == "no GPU was used");
  run.consumers[0].description = R"({"role": "consumer", "cuda": true})";
  const Gpu gpu = analyze_run(run).gpu;
  CHECK(gpu.source == "nothing");
  CHECK(gpu.busy.reason().find("CUDA was not started") != std::string::npos);
}

TEST_CASE("what kept the probe out is the reason") {
  for (const char* id : {"gpu-probe-yields", "gpu-probe-off"}) {
    CAPTURE(id);
    RunData run = make_run(fetch_bound());
    run.consumers[0].description = R"({"role": "consumer", "cuda": true})";
    run.issues.push_back({"other-load", Severity::info, 1, "of something else", ""});
    run.issues.push_back({id, Severity::info, 1, "in these words", ""});
    CHECK(analyze_run(run).gpu.busy.reason() == "in these words");
  }
}

TEST_CASE("what cannot be trusted is absent") {
  RunData run = with_gpu(fetch_bound(), 500'000, 0);
  run.gpus[0].dropped = 500;
  CHECK(analyze_run(run).gpu.busy.reason().find("500 of 5500 records") != std::string::npos);
  run = with_gpu(fetch_bound(), 500'000, 0);
  run.gpus[0].covered_ns = k_start_ns;  // it yielded before the steady part
  CHECK(analyze_run(run).gpu.busy.reason().find("fewer than 8") != std::string::npos);
  run = with_gpu(fetch_bound(), 500'000, 0);
  run.gpus[0].devices.clear();
  run.gpus[0].absent = "CUPTI gives no records: held (39)";
  CHECK(analyze_run(run).gpu.busy.reason() == "CUPTI gives no records: held (39)");
}

TEST_CASE("what of the copies came from pageable memory is told where there were copies") {
  RunData run = with_gpu(fetch_bound(), 500'000, 0);
  CHECK(analyze_run(run).gpu.pageable.has_value());
  for (auto& [number, course] : run.gpus[0].devices) course.bytes_in = course.pageable = Cumulative{};
  const Gpu gpu = analyze_run(run).gpu;
  CHECK(gpu.pageable.reason() == "nothing was copied to the device");
  CHECK(gpu.bytes_in->value() == 0.0);
}

TEST_CASE("damaged lines are counted, and the rest is read") {
  const RunData run = make_run(fetch_bound());
  const std::string good = recorded(run, 500'000, 0);
  const GpuRecording torn = parse_gpu_recording(good.substr(0, good.size() / 2));
  CHECK(torn.bad_lines == 1);
  CHECK(torn.devices.size() == 1);
  for (const char* bad : {"[]", "7", R"({"kind":"bins"})", R"({"kind":"bins","busy_ns":[1],"begin_ns":5,"width_ns":0})",
                          R"({"kind":"bins","busy_ns":[1],"begin_ns":18446744073709551615,"width_ns":9})",
                          R"({"kind":"bins","busy_ns":[1,2],"copy_in_ns":[1],"begin_ns":5,"width_ns":9})",
                          R"({"kind":"bins","busy_ns":["x"],"begin_ns":5,"width_ns":9})"}) {
    CAPTURE(bad);
    CHECK(parse_gpu_recording(std::string(bad) + "\n").bad_lines == 1);
  }
  CHECK(parse_gpu_recording("{\"kind\":\"of a later version\"}\n").bad_lines == 0);
}

TEST_CASE("a quantity that grows in stretches") {
  Cumulative course;
  CHECK(course.between(0, 100) == 0.0);
  course.add(10, 20, 5.0);
  course.add(40, 50, 1.0);
  CHECK(course.between(0, 10) == 0.0);
  CHECK(course.between(10, 15) == doctest::Approx(2.5));
  CHECK(course.between(15, 45) == doctest::Approx(3.0));
  CHECK(course.between(0, 1000) == doctest::Approx(6.0));
}

}  // namespace
