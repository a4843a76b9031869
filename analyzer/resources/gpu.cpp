/// What the job's GPUs did in its steps as found: busy, fed, idle, and idle because there was no batch.
#include "analyzer/resources/gpu.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/resources/constants.hpp"
#include "analyzer/statistics/statistics.hpp"
#include "analyzer/steps/job.hpp"
#include "analyzer/steps/rank_view.hpp"

namespace stallcast::sections {
namespace {

/// One value for each step and device.
struct StepSeries {
  std::vector<double> step_s{};
  std::vector<double> busy_s{};
  std::vector<double> copy_in_s{};
  std::vector<double> exposed_s{};
  std::vector<double> any_s{};      ///< busy or copying
  std::vector<double> starved_s{};  ///< idle, while a batch was waited for
  std::vector<double> busy_in_wait_s{};
  std::vector<double> bytes_in{};
  std::vector<double> pageable{};
  std::vector<double> kernels{};
};

void add_step(const GpuCourse& device, const SteadyStep& step, StepSeries& out) {
  const double length = static_cast<double>(step.end_ns - step.begin_ns) * 1e-9;
  const auto wait_ns = static_cast<std::uint64_t>(step.wait_s * 1e9);
  const std::uint64_t asked_ns = step.end_ns - std::min(wait_ns, step.end_ns - step.begin_ns);
  const double waited = static_cast<double>(step.end_ns - asked_ns) * 1e-9;
  const auto in_step = [&](const Cumulative& of) { return of.between(step.begin_ns, step.end_ns); };
  out.step_s.push_back(length);
  out.busy_s.push_back(in_step(device.busy));
  out.copy_in_s.push_back(in_step(device.copy_in));
  out.exposed_s.push_back(device.exposed.between(step.begin_ns, asked_ns));
  out.any_s.push_back(in_step(device.any));
  out.busy_in_wait_s.push_back(std::min(waited, device.any.between(asked_ns, step.end_ns)));
  out.starved_s.push_back(std::max(0.0, waited - device.any.between(asked_ns, step.end_ns)));
  out.bytes_in.push_back(in_step(device.bytes_in));
  out.pageable.push_back(in_step(device.pageable));
  out.kernels.push_back(in_step(device.kernels));
}

/// Seconds in one optimizer step.
MeasuredEstimate<Seconds> per_step(const std::vector<double>& of_batches, double batches_per_step) {
  const std::vector<double> ones(of_batches.size(), 1.0);
  const Estimate<double> each = ratio_of_sums(of_batches, ones);
  return Estimate<Seconds>{Seconds(each.mean * batches_per_step),
                           Seconds(std::max(0.0, each.ci95_low) * batches_per_step),
                           Seconds(each.ci95_high * batches_per_step), each.n};
}

double sum_of(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum;
}

/// The mean of a part of each traced step over the mean length of steps; their errors are taken as independent.
Estimate<double> over_length(const std::vector<double>& part, const Estimate<double>& step_s) {
  const Estimate<double> each = ratio_of_sums(part, std::vector<double>(part.size(), 1.0));
  const double mean = each.mean / step_s.mean;
  const auto side = [&](double of_part, double of_step) {
    return std::hypot(of_part / step_s.mean, mean * of_step / step_s.mean);
  };
  return {mean, mean - side(each.mean - each.ci95_low, step_s.ci95_high - step_s.mean),
          mean + side(each.ci95_high - each.mean, step_s.mean - step_s.ci95_low), each.n};
}

MeasuredEstimate<Fraction> within_one(const Estimate<double>& of) {
  const auto cut = [](double share) { return std::clamp(share, 0.0, 1.0); };
  return Estimate<Fraction>{cut(of.mean), cut(of.ci95_low), cut(of.ci95_high), of.n};
}

/// Of steps that were not traced.
struct Untraced {
  std::vector<double> step_s{};
  std::vector<double> wait_s{};

  void add(const SteadyWindow& window) {
    for (const SteadyStep& step : window.steps) {
      step_s.push_back(static_cast<double>(step.end_ns - step.begin_ns) * 1e-9);
      wait_s.push_back(step.wait_s);
    }
  }
};

/// Tracing makes steps longer, and waits shorter by as much, and not what the device does in one: the shares are of the
/// steps without it, where there are any.
///
/// Worked example: 20 ms of kernels in traced steps of 28 ms, which take 25 ms otherwise: busy for 80 % of the step. Of
/// the 25 ms a batch is waited for in 9, and in the first 4 of a traced wait the device was still busy: starved for
/// 20 %.
void fill_shares(const StepSeries& series, const Untraced& untraced, Gpu& out) {
  const auto share = [&](const std::vector<double>& part) {
    if (untraced.step_s.empty()) return ratio_of_sums(part, series.step_s);
    return over_length(part, ratio_of_sums(untraced.step_s, std::vector<double>(untraced.step_s.size(), 1.0)));
  };
  out.busy = within_one(share(series.busy_s));
  out.exposed = within_one(share(series.exposed_s));
  const Estimate<double> any = share(series.any_s);
  out.idle = within_one({1.0 - any.mean, 1.0 - any.ci95_high, 1.0 - any.ci95_low, any.n});
  if (untraced.step_s.empty()) {
    out.starved = within_one(ratio_of_sums(series.starved_s, series.step_s));
  } else {
    const Estimate<double> wait = ratio_of_sums(untraced.wait_s, untraced.step_s);
    const Estimate<double> busy = share(series.busy_in_wait_s);
    const double low = std::hypot(wait.mean - wait.ci95_low, busy.ci95_high - busy.mean);
    const double high = std::hypot(wait.ci95_high - wait.mean, busy.mean - busy.ci95_low);
    const double mean = wait.mean - busy.mean;
    out.starved = within_one({mean, mean - low, mean + high, busy.n});
  }
  if (out.starved->mean > out.idle->mean) out.starved = out.idle;
}

void fill(const StepSeries& series, const Untraced& untraced, double batches_per_step, Gpu& out) {
  fill_shares(series, untraced, out);
  out.busy_time = per_step(series.busy_s, batches_per_step);
  out.copy_in_time = per_step(series.copy_in_s, batches_per_step);
  out.exposed_time = per_step(series.exposed_s, batches_per_step);
  const auto steps = static_cast<double>(series.step_s.size()) / batches_per_step;
  out.bytes_in = Bytes(sum_of(series.bytes_in) / steps);
  out.kernels = sum_of(series.kernels) / steps;
  const double bytes = sum_of(series.bytes_in);
  out.pageable = bytes > 0.0 ? Measured<Fraction>(sum_of(series.pageable) / bytes)
                             : Measured<Fraction>::absent("nothing was copied to the device");
}

void mark_absent(const std::string& reason, Gpu& out) {
  for (auto* share : {&out.busy, &out.exposed, &out.idle, &out.starved})
    *share = MeasuredEstimate<Fraction>::absent(reason);
  for (auto* time : {&out.busy_time, &out.copy_in_time, &out.exposed_time})
    *time = MeasuredEstimate<Seconds>::absent(reason);
  out.bytes_in = Measured<Bytes>::absent(reason);
  out.kernels = Measured<double>::absent(reason);
  out.pageable = Measured<Fraction>::absent(reason);
}

const GpuRecording* recording_of(const RunData& run, std::int64_t pid) {
  const auto found =
      std::find_if(run.gpus.begin(), run.gpus.end(), [&](const GpuRecording& gpu) { return gpu.pid == pid; });
  return found != run.gpus.end() ? &*found : nullptr;
}

/// Why a rank's records cannot be used; empty if they can.
std::string reason_against(const GpuRecording& recording) {
  if (recording.devices.empty()) {
    if (!recording.absent.empty()) return recording.absent;
    return recording.always || recording.opened > 0
               ? "no work was seen on a GPU"
               : "the GPU was not recorded: the main thread took too few batches, or another takes them";
  }
  const double all = static_cast<double>(recording.records + recording.dropped);
  if (static_cast<double>(recording.dropped) > k_most_dropped_gpu_records * all) {
    return std::to_string(recording.dropped) + " of " + std::to_string(recording.records + recording.dropped) +
           " records did not fit into the probe's memory";
  }
  return {};
}

/// What kept the probe out of a job that had a GPU at hand: as the run's log has it, or what is left then.
std::string reason_for_no_probe(const std::vector<RankView>& ranks) {
  for (const RankView& rank : ranks) {
    for (const DataIssue& issue : rank.run->issues) {
      if (issue.id == "gpu-probe-yields" || issue.id == "gpu-probe-off") return issue.detail;
    }
  }
  return "nothing of a GPU was recorded: the probe is off unless STALLCAST_GPU_PROBE=on, or CUDA was not started where "
         "the job trains, or this stallcast was built without it (stallcast doctor tells)";
}

void add_devices(const RankView& rank, const GpuRecording& recording, Gpu& out) {
  for (const auto& [number, course] : recording.devices) {
    GpuDevice device;
    device.pid = recording.pid;
    device.rank = static_cast<int>(std::max<std::int64_t>(0, rank.consumer->rank));
    device.device = number;
    device.name = course.name;
    if (course.memory_bytes > 0) device.memory = Bytes(static_cast<double>(course.memory_bytes));
    if (course.multiprocessors > 0) device.multiprocessors = course.multiprocessors;
    device.pci = course.pci;
    device.link = course.link;
    out.devices.push_back(std::move(device));
  }
}

}  // namespace

Gpu gpu_of(const std::vector<RankView>& ranks, double batches_per_step) {
  Gpu out;
  StepSeries series;
  Untraced untraced;
  std::string reason;
  for (const RankView& rank : ranks) {
    const GpuRecording* recording = recording_of(*rank.run, rank.consumer->pid);
    if (recording == nullptr) continue;
    out.source = "CUPTI";
    out.library = recording->library;
    out.dropped += recording->dropped;
    const std::string against = reason_against(*recording);
    if (!against.empty()) {
      reason = against;
      continue;
    }
    add_devices(rank, *recording, out);
    if (!recording->always) untraced.add(rank.window);
    for (const SteadyStep& step : recording->always ? rank.window.steps : rank.window.traced) {
      if (step.begin_ns < recording->begin_ns || step.end_ns > recording->covered_ns) continue;
      for (const auto& [number, course] : recording->devices) add_step(course, step, series);
    }
  }
  const bool could = std::any_of(ranks.begin(), ranks.end(), uses_cuda);
  if (out.source.empty() && could) out.source = "nothing";
  if (out.source.empty()) reason = "no GPU was used";
  if (out.source == "nothing") reason = reason_for_no_probe(ranks);
  if (reason.empty() && series.step_s.size() < k_fewest_traced_steps) {
    reason = "fewer than " + std::to_string(k_fewest_traced_steps) + " steady steps lie within what the GPU probe saw";
  }
  if (!reason.empty()) {
    mark_absent(reason, out);
  } else {
    fill(series, untraced, batches_per_step, out);
  }
  return out;
}

}  // namespace stallcast::sections
