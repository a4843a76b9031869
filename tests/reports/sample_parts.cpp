#include "tests/reports/sample_parts.hpp"

namespace stallcast::testing {

Cpu sampled() {
  const std::string no_hardware = "this machine has no such counter (a virtual machine without them)";
  Cpu cpu;
  cpu.source = "perf_event_open";
  cpu.sampled_hz = 97.0;
  cpu.kernel = true;
  cpu.worker_samples = 8204;
  cpu.main_samples = 2310;
  cpu.workers = {
      {"JPEG decode", "libjpeg.so.62.3.0", "", Estimate<Fraction>{0.61, 0.59, 0.63, 8204}},
      {"image operations (Pillow)", "_imaging.cpython-311-x86_64-linux-gnu.so", "",
       Estimate<Fraction>{0.14, 0.13, 0.15, 8204}},
      {"memory copy", "libc.so.6", "memmove", Estimate<Fraction>{0.09, 0.08, 0.10, 8204}},
      {"Python interpreter", "python3.11", "_PyEval_EvalFrameDefault", Estimate<Fraction>{0.08, 0.07, 0.09, 8204}},
      {"kernel (page faults, reads)", "[kernel]", "clear_page_erms", Estimate<Fraction>{0.05, 0.04, 0.06, 8204}},
      {"other", "libz.so.1.2.13", "", Estimate<Fraction>{0.03, 0.02, 0.04, 8204}}};
  cpu.main = {
      {"convolution (torch)", "libtorch_cpu.so", "dnnl_primitive_execute", Estimate<Fraction>{0.83, 0.81, 0.85, 2310}},
      {"Python interpreter", "python3.11", "_PyEval_EvalFrameDefault", Estimate<Fraction>{0.17, 0.15, 0.19, 2310}}};
  cpu.counters.span = Seconds(58.0);
  cpu.counters.task_clock = Seconds(108.4);
  cpu.counters.context_switches = 41234;
  cpu.counters.migrations = 310;
  cpu.counters.minor_faults = 1902345;
  cpu.counters.major_faults = 12;
  cpu.counters.cycles = cpu.counters.instructions = cpu.counters.llc_misses =
      Measured<std::int64_t>::absent(no_hardware);
  cpu.counters.hardware_running = Measured<Fraction>::absent(no_hardware);
  cpu.processes = {{4712, "pt_data_worker", "worker", 4102}, {4711, "python3", "main", 2310}};
  return cpu;
}

Storage provisioned() {
  Storage storage;
  storage.path = "/mnt/data/jpeg";
  storage.read = "whole_file";
  storage.read_size = Bytes(110e3);
  const double rates[] = {310.0, 590.0, 905.0, 911.0};
  for (std::size_t i = 0; i < std::size(rates); ++i) {
    StorageRate& rate = storage.rates.emplace_back();
    rate.in_flight = std::int64_t{1} << i;
    rate.rate = Estimate<PerSecond>{PerSecond(rates[i]), PerSecond(0.97 * rates[i]), PerSecond(1.03 * rates[i]), 3};
    const auto bytes = [&](double factor) { return BytesPerSecond(110e3 * factor * rates[i]); };
    rate.bandwidth = Estimate<BytesPerSecond>{bytes(1.0), bytes(0.97), bytes(1.03), 3};
  }
  storage.ceiling_rate = Estimate<PerSecond>{PerSecond(908.0), PerSecond(890.0), PerSecond(926.0), 6};
  storage.ceiling_bandwidth =
      Estimate<BytesPerSecond>{BytesPerSecond(99.9e6), BytesPerSecond(97.9e6), BytesPerSecond(101.9e6), 6};
  storage.saved = 0.94;
  storage.idle_read = Seconds(0.0031);
  return storage;
}

}  // namespace stallcast::testing
