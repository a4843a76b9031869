#include "tests/reports/sample_profiles.hpp"

#include <cmath>
#include <random>
#include <utility>

#include "tests/reports/sample_parts.hpp"

namespace stallcast::testing {
namespace {

template <class Q>
Estimate<Q> estimate(double mean, double half, std::int64_t n = 600) {
  return {Q{mean}, Q{mean - half}, Q{mean + half}, n};
}

Estimate<Fraction> share(double mean, double half, std::int64_t n = 600) {
  return {mean, std::max(0.0, mean - half), std::min(1.0, mean + half), n};
}

/// Log-normal values with this median and sigma; the seed fixes them.
Distribution log_normal(double median, double sigma, unsigned seed) {
  std::mt19937 random(seed);
  Distribution d;
  // Sums of uniform numbers instead of std::normal_distribution, whose values differ between standard libraries.
  for (int i = 0; i < 2000; ++i) {
    double normal = -6.0;
    for (int k = 0; k < 12; ++k) normal += static_cast<double>(random()) / 4294967296.0;
    d.add(median * std::exp(sigma * normal));
  }
  return d;
}

const char* const k_needs_phases = "needs phases: this run recorded the command as it is";

void add_host_and_job(Profile& p) {
  p.tool_version = "0.1.0";
  p.outcome = {"measured", 0, "the command ended by itself and was measured"};
  p.command = {"python", "train.py", "--data", "data/jpeg", "--workers", "2"};
  p.host.name = "node-a";
  p.host.kernel = "6.1.0-26-amd64";
  p.host.cpu_model = "Xeon-class x86-64";
  p.host.logical_cpus = 2;
  p.host.physical_cpus = 1;
  p.host.usable_cpus = 2.0;
  p.host.memory = Bytes(8.0 * 1073741824.0);
  p.host.memory_limit = Measured<Bytes>::absent("no limit below the machine's memory is set");
  p.host.shm_free = Bytes(4.0 * 1073741824.0);
  p.job.framework = "pytorch";
  p.job.framework_version = "2.1.0";
  p.job.python_version = "3.11.2";
  p.job.loader_kind = "map";
  p.job.dataset_type = "ImageFolder";
  p.job.multiprocessing_context = "fork";
  p.job.batch_size = 32;
  p.job.num_workers = 2;
  p.job.prefetch_factor = 2;
  p.job.pin_memory = false;
  p.job.persistent_workers = false;
  p.job.in_order = true;
  p.job.drop_last = true;
  p.job.shuffled = true;
  p.job.dataset_samples = 12000;
  p.job.threads_per_worker = 1;
  p.job.batches_per_step = 1;
  p.job.loaders_seen = 1;
  p.job.ranks_seen = 1;
}

void add_data(Profile& p) {
  p.dataset.files_seen = 11200;
  p.dataset.bytes_seen = Bytes(1.232e9);
  p.dataset.bytes_total = Bytes(1.32e9);
  p.dataset.bytes_per_sample = BytesPerSample(110e3);
  p.dataset.file_size_bytes = log_normal(98e3, 0.45, 1);
  p.dataset.layout = "files";
  p.dataset.filesystem = "ext4";
  p.dataset.example_path = "data/jpeg/n01440764/n01440764_10026.JPEG";
}

void add_absent_phases(Profile& p) {
  using Rate = MeasuredEstimate<SamplesPerSecond>;
  p.rates.cached = p.rates.cold = Rate::absent(k_needs_phases);
  p.rates.supply_cached = p.rates.supply_cold = Rate::absent(k_needs_phases);
  p.stalls.prep = p.stalls.fetch = MeasuredEstimate<Fraction>::absent(k_needs_phases);
  p.overhead.held = p.overhead.measuring = Measured<Seconds>::absent(k_needs_phases);
  p.overhead.burst_batches = Measured<std::int64_t>::absent(k_needs_phases);
}

/// What the fields of a job with this step are: seconds of a step, shares of it, seconds per sample.
struct Shape {
  double step, wait, fetch, prep, read, cpu, storage_share;
};

void add_timeline(Profile& p, const Shape& s) {
  std::mt19937 random(7);
  double at = 0.0;
  for (int row = 0; row < 120; ++row) {
    const double jitter = 0.9 + 0.2 * static_cast<double>(random()) / 4294967296.0;
    const double begin = at;
    const double wait = 5.0 * s.step * s.wait * jitter;
    at += 5.0 * s.step * (1.0 - s.wait) + wait;
    p.timeline.push_back({begin, at, 5, wait, wait * 0.4, "as_is", s.step * (1.0 - s.wait) + wait * 0.4});
  }
  p.measured_s = at;
}

void add_shape(Profile& p, const Shape& s) {
  const double rate = 32.0 / s.step;
  p.rates.as_is = estimate<SamplesPerSecond>(rate, rate * 0.012);
  p.rates.synthetic = estimate<SamplesPerSecond>(rate / (1.0 - s.wait), rate * 0.02);
  p.stalls.as_is_wait = share(s.wait, 0.012);
  p.stalls.as_is_fetch = share(s.fetch, 0.018);
  p.stalls.as_is_prep = share(s.prep, 0.018);
  p.resources.step = estimate<Seconds>(s.step, s.step * 0.012);
  p.resources.wait = estimate<Seconds>(s.step * s.wait, s.step * 0.012);
  p.resources.compute = estimate<Seconds>(s.step * (1.0 - s.wait), s.step * 0.004);
  p.resources.worker_wall = estimate<SecondsPerSample>(s.read + s.cpu * 1.08, s.cpu * 0.01);
  p.resources.worker_cpu = estimate<SecondsPerSample>(s.cpu, s.cpu * 0.01);
  p.resources.worker_run_delay = estimate<SecondsPerSample>(s.cpu * 0.05, s.cpu * 0.01);
  p.resources.read = estimate<SecondsPerSample>(s.read, s.read * 0.03);
  p.resources.read_from_memory = estimate<SecondsPerSample>(0.00011, 0.00001);
  p.resources.collate = estimate<SecondsPerSample>(0.0003, 0.00002);
  p.resources.handover = estimate<SecondsPerSample>(0.0001, 0.00001);
  p.resources.tree_cpu = estimate<SecondsPerSample>(s.cpu * 1.2, s.cpu * 0.02);
  p.resources.consumer_cpu = estimate<SecondsPerSample>(s.cpu * 0.1, s.cpu * 0.01);
  p.resources.job_cpus = rate * s.cpu * 1.2;
  p.resources.other_cpus = 0.02;
  p.resources.bytes_from_storage = s.storage_share;
  p.resources.storage_bandwidth = BytesPerSecond(rate * 110e3 * s.storage_share);
  p.resources.worker_memory = Bytes(210e6);
  p.resources.anonymous_memory = Bytes(1.1e9);
  p.resources.page_cache_available = Bytes(7.4e9);
  p.resources.distributions["sample_read_s"] = log_normal(s.read * 0.8, 0.6, 2);
  p.resources.distributions["sample_prep_s"] = log_normal(s.cpu * 0.95, 0.3, 3);
  p.resources.distributions["step_s"] = log_normal(s.step, 0.1, 4);
  p.overhead.throughput = estimate<Fraction>(0.0011, 0.0031, 40);
  p.overhead.cpu = estimate<Fraction>(0.0032, 0.0012, 40);
  p.overhead.recording = Bytes(3.1e6);
  p.points.push_back({{}, "as_is", "attributed", p.rates.as_is, {}});
  p.ranks.push_back({0, "node-a", 4711, 600, p.rates.as_is, p.stalls.as_is_wait});
  add_timeline(p, s);
}

/// Three rounds of cold, cached and synthetic blocks after the steps as found; of the last one records are missing.
void add_phases(Profile& p) {
  const struct {
    const char* phase;
    double step, wait;
  } k_phases[] = {{"cold", 0.2336, 0.0922}, {"cached", 0.1576, 0.0145}, {"synthetic", 0.1414, 0.0}};
  double at = p.timeline.back().end_s + 1.5;
  for (std::int64_t round = 0; round < 3; ++round) {
    for (const auto& [phase, step, wait] : k_phases) {
      const double begin = at;
      for (int i = 0; i < 8; ++i, at += 2.0 * step) {
        p.timeline.push_back({at, at + 2.0 * step, 2, 2.0 * wait, 1.3 * wait, phase, step + 0.3 * wait});
      }
      p.phases.push_back({phase, round, begin, at, ""});
    }
  }
  p.phases.back().left_out = "records of its batches are missing";
}

Profile passive(const Shape& shape) {
  Profile p;
  add_host_and_job(p);
  add_data(p);
  add_shape(p, shape);
  add_absent_phases(p);
  return p;
}

}  // namespace

/// A profile's operators, as of torchvision's usual chain.
void add_operators(Profile& p) {
  const struct {
    const char *name, *where, *kind;
    double share;
  } k_rows[] = {{"__getitem__", "", "getitem", 0.52},
                {"RandomResizedCrop", "transform[0]", "operator", 0.24},
                {"ToTensor", "transform[3]", "operator", 0.11},
                {"Normalize", "transform[4]", "operator", 0.06},
                {"collate", "", "collate", 0.035},
                {"reading files", "", "read", 0.021},
                {"RandomHorizontalFlip", "transform[1]", "operator", 0.006},
                {"the rest of the batch", "", "rest", 0.008}};
  const double busy = p.resources.worker_wall->mean.value();
  unsigned seed = 20;
  for (const auto& [name, where, kind, part] : k_rows) {
    Operator& row = p.operators.emplace_back();
    row.name = name;
    row.where = where;
    row.kind = kind;
    row.samples = 9600;
    row.calls_per_sample = 1.0;
    row.wall = estimate<SecondsPerSample>(busy * part, busy * part * 0.02, 9600);
    row.busy = share(part, part * 0.02, 9600);
    if (row.kind == "operator" || row.kind == "getitem" || row.kind == "collate") {
      row.cpu = estimate<SecondsPerSample>(busy * part * 0.93, busy * part * 0.02, 9600);
      row.cpu_share = share(part * 1.01, part * 0.02, 9600);
      row.wall_s = log_normal(busy * part, 0.3, seed++);
    } else {
      row.cpu = MeasuredEstimate<SecondsPerSample>::absent("what reads compute is not told from what they wait");
      row.cpu_share = MeasuredEstimate<Fraction>::absent(row.cpu.reason());
      row.wall_s = Measured<Distribution>::absent(row.cpu.reason());
    }
  }
}

Profile compute_bound() {
  return passive({0.0940, 0.012, 0.002, 0.010, 0.00018, 0.0041, 0.0});
}

Profile prep_bound() {
  Profile p = passive({0.1510, 0.382, 0.012, 0.370, 0.00021, 0.0080, 0.0});
  add_operators(p);
  p.issues.push_back({"loader-start-up", Severity::info, 3,
                      "the first batch of a pass took 1.8 s longer than the others",
                      "persistent_workers=True keeps the workers between passes"});
  p.cpu = sampled();
  return p;
}

Profile with_wait(double wait, double half) {
  Profile p = prep_bound();
  p.stalls.as_is_wait = Estimate<Fraction>{wait, std::max(0.0, wait - half), wait + half, 100};
  p.stalls.as_is_prep = p.stalls.as_is_wait;
  p.stalls.as_is_fetch = Estimate<Fraction>{0.0, 0.0, 0.0, 100};
  return p;
}

Profile fetch_bound() {
  Profile p = passive({0.2410, 0.621, 0.540, 0.074, 0.0096, 0.0041, 0.93});
  p.dataset.bytes_total = Bytes(146.0e9);
  p.dataset.filesystem = "nfs4";
  p.dataset.folder = "/mnt/data/jpeg";
  p.dataset.format = "jpeg";
  p.dataset.small_files = 0.71;
  p.storage = provisioned();
  p.page_cache.epochs = {{1, Bytes(141e9), Bytes(141e9), 0.0},
                         {2, Bytes(141e9), Bytes(132.5e9), 0.06},
                         {3, Bytes(141e9), Bytes(129.7e9), 0.08}};
  p.page_cache.hit = Estimate<Fraction>{0.07, 0.0, 0.197, 2};
  p.page_cache.room = 0.21;
  p.job.dataset_samples = 1281167;
  p.host.logical_cpus = 16;
  p.host.usable_cpus_limited_by = "cgroup quota";
  p.issues.push_back({"read-bytes-of-others", Severity::warning, 1,
                      "other processes of this machine read 210 MB from the same device meanwhile", ""});
  return p;
}

Profile absent_heavy() {
  const std::string reason = "no training loader was found in the command";
  Profile p;
  p.tool_version = "0.1.0";
  p.outcome = {"no_loader", 0, "the command ended, but no training loader was found in it"};
  p.command = {"./simulate", "--steps", "1000"};
  p.host.name = "node-a";
  p.host.logical_cpus = 2;
  p.host.physical_cpus = 1;
  p.host.usable_cpus = 2.0;
  p.host.memory = Bytes(8.0 * 1073741824.0);
  p.job.loader_kind = "none";
  p.rates.as_is = MeasuredEstimate<SamplesPerSecond>::absent(reason);
  p.stalls.as_is_wait = p.stalls.as_is_prep = p.stalls.as_is_fetch = MeasuredEstimate<Fraction>::absent(reason);
  add_absent_phases(p);
  p.rates.synthetic = p.rates.cold;
  p.resources.bytes_from_storage = Measured<Fraction>::absent("/proc/PID/io could not be read: permission denied");
  p.overhead.throughput = MeasuredEstimate<Fraction>::absent("nothing was recorded");
  p.issues.push_back({"no-loader", Severity::warning, 1, "no PyTorch DataLoader was seen in 1 process",
                      "mark batches and steps through the C API, stallcast/capture.h"});
  return p;
}

Profile multi_rank() {
  Profile p = passive({0.1800, 0.214, 0.150, 0.060, 0.0042, 0.0048, 0.61});
  p.host.hosts_seen = 2;
  p.host.logical_cpus = p.host.physical_cpus = 8;
  p.host.usable_cpus = 8.0;
  p.job.ranks_seen = 4;
  p.job.ranks_expected = 4;
  p.job.pin_memory = true;
  p.ranks.clear();
  const double waits[] = {0.11, 0.12, 0.41, 0.10};
  for (int rank = 0; rank < 4; ++rank) {
    p.ranks.push_back({rank, rank < 2 ? "node-a" : "node-b", 4711 + rank, 600, estimate<SamplesPerSecond>(177.8, 2.0),
                       share(waits[rank], 0.02)});
  }
  p.rates.as_is = estimate<SamplesPerSecond>(711.0, 8.0);
  p.resources.job_cpus = 4.1;
  p.rates.synthetic = estimate<SamplesPerSecond>(905.0, 6.0);
  p.rates.cached = estimate<SamplesPerSecond>(812.0, 9.0);
  p.rates.cold = estimate<SamplesPerSecond>(548.0, 14.0);
  p.rates.supply_cached = estimate<SamplesPerSecond>(861.0, 12.0);
  p.rates.supply_cold = estimate<SamplesPerSecond>(560.0, 12.0);
  p.stalls.prep = share(0.062, 0.009);
  p.stalls.fetch = share(0.333, 0.021);
  p.stalls.method = "differential";
  p.premises = {{"cold", "storage_bytes", "at least 95 % of the bytes read come from storage", "99.2 %", true},
                {"cached", "residency", "all files of the block are resident", "all of 2,048 files", true}};
  p.points.clear();
  for (const auto& [phase, rate] : {std::pair{"synthetic", p.rates.synthetic}, std::pair{"cached", p.rates.cached},
                                    std::pair{"cold", p.rates.cold}, std::pair{"as_is", p.rates.as_is}}) {
    p.points.push_back({{{"workers", "2"}}, phase, "differential", rate, {}});
  }
  p.points[2].premises.push_back(p.premises[0]);
  const std::string refused = "the kernel refused perf_event_open (Permission denied; kernel.perf_event_paranoid is 3)";
  p.cpu.source = "perf_event_open";
  p.cpu.worker_samples = p.cpu.main_samples = Measured<std::int64_t>::absent(refused);
  p.cpu.counters.context_switches = p.cpu.counters.cycles = p.cpu.counters.llc_misses = p.cpu.worker_samples;
  add_phases(p);
  p.overhead.held = Seconds(6.2);
  p.overhead.measuring = Seconds(41.3);
  p.overhead.burst_batches = 24;
  return p;
}

const std::vector<std::string>& hostile_strings() {
  static const std::vector<std::string> strings = {
      "</script><script>alert(1)</script>",
      "<img src=x onerror=alert(1)>",
      "\"><svg/onload=alert(1)>",
      "' onmouseover='alert(1)",
      "{{command}} {{{command}}} {{#rows}}x{{/rows}} {{> partial}} {{=<% %>=}}",
      "<!-- --> ]]> <![CDATA[ &amp; &#60;",
      "javascript:alert(1) [x](javascript:alert(1)) ![x](https://example.org/x.png)",
      "|a|b| `code` **bold** ~~s~~ @user #1 https://example.org www.example.org",
      "line one\nline two\r\n# heading\n- item\n```\nfence",
      "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x08\x7f",
      "bell \a nul-free \t tab",
      "=HYPERLINK(\"https://example.org\")",
      "invalid \xff\xfe\xc0\xaf utf-8 \xed\xa0\x80 cut \xe2\x82",
      "right-to-left \xe2\x80\xaegpj.exe \xe2\x81\xa6 \xe2\x80\xa8 separators",
      std::string(400, 'x') + "-one-very-long-word",
      "quote \" backslash \\ label \\n {a=\"b\"} # EOF",
      "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e \xf0\x9f\x94\xa5 \xc3\xa9"};
  return strings;
}

Profile hostile() {
  const auto& s = hostile_strings();
  Profile p = fetch_bound();
  p.command.assign(s.begin(), s.end());
  p.outcome = {s[0], 3, s[1]};
  p.tool_version = s[2];
  p.host.name = s[3];
  p.host.kernel = s[4];
  p.host.cpu_model = s[5];
  p.host.usable_cpus_limited_by = s[9];
  p.job.framework = s[6];
  p.job.framework_version = s[7];
  p.job.python_version = s[8];
  p.job.loader_kind = s[10];
  p.job.dataset_type = s[1];
  p.job.multiprocessing_context = s[13];
  p.dataset.layout = s[14];
  p.dataset.filesystem = s[12];
  p.dataset.example_path = s[0] + s[12];
  p.rates.cold = MeasuredEstimate<SamplesPerSecond>::absent(s[8] + s[7]);
  p.points.push_back({{{s[0], s[1]}}, s[2], s[3], p.rates.as_is, {{s[4], s[5], s[6], s[7], false}}});
  p.premises.push_back({s[0], s[7], s[8], s[12], false});
  p.points.push_back({{}, s[0], "differential", p.rates.as_is, {}});  // a number rests on it: it is shown as broken
  p.ranks[0].host = s[0];
  p.ranks.push_back({1, s[15], 1, 1, p.rates.as_is, p.stalls.as_is_wait});
  p.resources.distributions[s[0]] = p.resources.distributions["step_s"];
  add_operators(p);
  p.operators[0].name = s[0];
  p.operators[0].where = s[12];
  p.operators[1].name = s[7];
  p.operators[2].where = s[8];
  p.operators[1].kind = p.operators[1].state = s[1];
  p.timeline[3].phase = s[11];
  p.timeline[4].phase = s[0];
  p.phases = {{s[0], 0, 20.0, 40.0, s[1]}, {s[13], 1, 40.0, 60.0, s[12]}};
  p.cpu = sampled();
  p.cpu.source = s[5];
  p.cpu.workers[0] = {s[0], s[3], s[14], p.cpu.workers[0].share};
  p.cpu.workers[1] = {s[8], s[7], s[12], p.cpu.workers[1].share};
  p.cpu.main[0] = {s[4], s[9], s[1], p.cpu.main[0].share};
  p.cpu.processes.push_back({1, s[0], s[13], 1});
  for (const std::string& text : s) p.issues.push_back({text, Severity::warning, 2, text, text});
  return p;
}

std::vector<NamedProfile> sample_profiles() {
  return {{"compute-bound", compute_bound()}, {"prep-bound", prep_bound()}, {"fetch-bound", fetch_bound()},
          {"absent-heavy", absent_heavy()},   {"multi-rank", multi_rank()}, {"hostile", hostile()}};
}

}  // namespace stallcast::testing
