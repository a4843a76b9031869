#include "analyzer/storage/fit.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "analyzer/statistics/statistics.hpp"
#include "analyzer/storage/constants.hpp"

namespace stallcast {
namespace {

using record::StorageRead;
using record::StorageState;

template <class Q>
MeasuredEstimate<Q> as_estimate(const Estimate<double>& e) {
  return Estimate<Q>{Q(e.mean), Q(std::max(0.0, e.ci95_low)), Q(e.ci95_high), e.n};
}

template <class Q>
MeasuredEstimate<Q> as_estimate(const Measured<Estimate<double>>& e) {
  return e ? as_estimate<Q>(*e) : MeasuredEstimate<Q>::absent(e.reason());
}

MeasuredEstimate<Seconds> mean_seconds(const std::vector<double>& seconds, const char* reason) {
  if (seconds.size() < 2) return MeasuredEstimate<Seconds>::absent(reason);
  return as_estimate<Seconds>(mean_of(seconds));
}

/// Times of single reads by size: 4 KiB blocks, and files in classes of a factor of two.
class SizeClasses {
 public:
  void add(const StoragePointData& data) {
    for (const record::StorageWindow* window : data.windows) {
      for (const record::StorageSampledRead& read : window->sampled) {
        if (read.end_s < lead_seconds(*window) && window->sampled.size() > k_few_sampled_reads) continue;
        const int octave = static_cast<int>(std::floor(std::log2(std::max(1.0, read.bytes))));
        classes_[{data.read, octave}].push_back(read);
      }
    }
  }

  [[nodiscard]] std::vector<SizeClass> means() const {
    std::vector<SizeClass> result;
    for (const auto& [key, reads] : classes_) {
      if (reads.size() < k_fewest_reads_of_class) continue;
      SizeClass mean;
      mean.n = static_cast<std::int64_t>(reads.size());
      const auto count = static_cast<double>(reads.size());
      for (const auto& read : reads) {
        mean.bytes += read.bytes / count;
        mean.seconds += read.seconds / count;
      }
      double squares = 0.0;
      for (const auto& read : reads) squares += std::pow(read.seconds - mean.seconds, 2);
      mean.error_s = std::sqrt(squares / (count - 1.0) / count);
      result.push_back(mean);
    }
    return result;
  }

 private:
  std::map<std::pair<StorageRead, int>, std::vector<record::StorageSampledRead>> classes_{};
};

struct StreamCost {
  MeasuredEstimate<Seconds> latency{};
  MeasuredEstimate<BytesPerSecond> bandwidth{};
};

StreamCost absent_cost(const std::string& reason) {
  return {MeasuredEstimate<Seconds>::absent(reason), MeasuredEstimate<BytesPerSecond>::absent(reason)};
}

/// One stream: latency and bandwidth from the single reads with nothing else in flight.
StreamCost stream_cost(std::span<const StoragePointData> points, StorageState state) {
  SizeClasses classes;
  bool files = false;
  std::string reason = "no single stream was measured";
  const auto add = [&](StorageRead read) {
    bool added = false;
    for (const StoragePointData& data : points) {
      if (data.state != state || data.read != read) continue;
      if (data.in_flight > 1) continue;
      if (data.windows.empty()) {
        reason = data.point.rate.reason();
      } else {
        classes.add(data);
        reason = "too few reads of a single stream were timed one by one";
        added = true;
      }
    }
    return added;
  };
  files = add(StorageRead::whole_file);
  add(StorageRead::small_block);
  if (!files) add(StorageRead::large_block);
  const std::vector<SizeClass> means = classes.means();
  if (means.empty()) return absent_cost(reason);
  const auto line = fit_size_line(means);
  if (!line) return absent_cost("all reads are of about one size: latency and bandwidth cannot be told apart");
  const double t = student_t(0.95, line->degrees);
  StreamCost cost;
  const double half_s = t * line->latency_error_s;
  cost.latency = as_estimate<Seconds>(
      Estimate<double>{line->latency_s, line->latency_s - half_s, line->latency_s + half_s, line->n});
  const double half = t * line->s_per_byte_error;
  if (line->s_per_byte - half > 0.0) {
    cost.bandwidth = as_estimate<BytesPerSecond>(Estimate<double>{
        1.0 / line->s_per_byte, 1.0 / (line->s_per_byte + half), 1.0 / (line->s_per_byte - half), line->n});
  } else {
    cost.bandwidth =
        MeasuredEstimate<BytesPerSecond>::absent("larger reads do not take measurably longer than small ones");
  }
  return cost;
}

/// The rates of one kind of read over reads in flight, in bytes or in reads per second.
std::vector<FlightRate> series_of(std::span<const StoragePointData> points, StorageRead read, StorageState state,
                                  bool bytes) {
  std::vector<FlightRate> rates;
  for (const StoragePointData& data : points) {
    const StoragePoint& point = data.point;
    if (data.read != read || data.state != state || !point.rate || (bytes && !point.bandwidth)) continue;
    rates.push_back({static_cast<double>(data.in_flight), bytes ? plain(*point.bandwidth) : plain(*point.rate)});
  }
  return rates;
}

/// Why a series has no ceiling: the reason of its points where it has none.
Measured<Estimate<double>> ceiling_or_reason(std::span<const StoragePointData> points, StorageRead read,
                                             StorageState state, bool bytes) {
  const std::vector<FlightRate> rates = series_of(points, read, state, bytes);
  if (!rates.empty()) return ceiling_of(rates);
  for (const StoragePointData& data : points) {
    if (data.state != state || (data.read != read && data.in_flight != 0)) continue;
    if (!data.point.rate && (data.read == read || state == StorageState::cold)) {
      return Measured<Estimate<double>>::absent(data.point.rate.reason());
    }
  }
  return Measured<Estimate<double>>::absent("no such reads were measured");
}

/// Where the kernel answers by itself, as it does for a local disk, its cores are what limits, not the storage.
void fit_metadata(std::span<const StoragePointData> points, double usable_cpus, StorageFit& fit) {
  const auto most = ceiling_or_reason(points, StorageRead::metadata, StorageState::resident, false);
  fit.ceiling_metadata = as_estimate<PerSecond>(most);
  if (!most || usable_cpus <= 0.0) return;
  double busy = 0.0;
  for (const StoragePointData& data : points) {
    if (data.read == StorageRead::metadata && data.point.cpu_cores) busy = std::max(busy, *data.point.cpu_cores);
  }
  if (busy < k_busy_opening_cores * usable_cpus) return;
  fit.ceiling_metadata = MeasuredEstimate<PerSecond>::absent(fmt::format(
      "opening {:.3g} files a second kept the machine's cores busy: storage is not what limits it", most->mean));
}

void fit_ceilings(std::span<const StoragePointData> points, StorageFit& fit) {
  constexpr StorageState cold = StorageState::cold;
  const auto reads = ceiling_or_reason(points, StorageRead::small_block, cold, false);
  const auto files = ceiling_or_reason(points, StorageRead::whole_file, cold, false);
  fit.ceiling_reads = as_estimate<PerSecond>(reads);
  Measured<Estimate<double>> bytes = ceiling_or_reason(points, StorageRead::whole_file, cold, true);
  for (const StorageRead read : {StorageRead::large_block, StorageRead::sequential}) {
    const auto other = ceiling_or_reason(points, read, cold, true);
    if (other && (!bytes || other->ci95_low > bytes->ci95_low)) bytes = other;  // not the luckiest
  }
  // Files whose number is the limit say nothing about bytes, and the other way round.
  const auto file_bytes = ceiling_or_reason(points, StorageRead::whole_file, cold, true);
  const bool count_binds = files && reads && reads->mean < k_count_binds * files->mean;
  const bool only_files = file_bytes && bytes && bytes->mean == file_bytes->mean;
  const bool bytes_bind =
      file_bytes && bytes && !count_binds && (only_files || file_bytes->mean > k_bytes_bind * bytes->mean);
  fit.ceiling_files = as_estimate<PerSecond>(files);
  if (bytes_bind) {
    fit.ceiling_files = MeasuredEstimate<PerSecond>::absent(
        fmt::format("the bytes of these files are the limit before their number is ({:.4g} files/s)", files->mean));
  }
  fit.ceiling_bytes = as_estimate<BytesPerSecond>(bytes);
  if (count_binds && only_files) {
    fit.ceiling_bytes = MeasuredEstimate<BytesPerSecond>::absent(
        fmt::format("the number of these files is the limit before their bytes are ({:.4g} bytes/s)", bytes->mean));
  }
}

/// What the fit says of `bytes` a read with `in_flight` at once; nothing where the ceiling of such reads is not known.
std::optional<double> fitted_rate(const StorageFit& fit, const StoragePointData& data, double bytes) {
  const bool whole = data.read == StorageRead::whole_file;
  const double open_s = whole && fit.open ? fit.open->mean.value() : 0.0;
  const double one_s = open_s + fit.latency->mean.value() + bytes / fit.stream_bandwidth->mean.value();
  const auto& ceiling = whole ? fit.ceiling_files : fit.ceiling_reads;
  if (data.in_flight > 1 && !ceiling && !(whole && fit.ceiling_bytes)) return std::nullopt;
  double rate = data.in_flight / one_s;
  if (ceiling) rate = std::min(rate, ceiling->mean.value());
  if (fit.ceiling_bytes) rate = std::min(rate, fit.ceiling_bytes->mean.value() / bytes);
  return rate;
}

/// Root mean square of the relative distance between the fit and the cold points that it stands for.
Measured<double> residual_of(std::span<const StoragePointData> points, const StorageFit& fit) {
  if (!fit.latency || !fit.stream_bandwidth) return Measured<double>::absent("no stream was fitted");
  double squares = 0.0;
  double count = 0.0;
  for (const StoragePointData& data : points) {
    const bool fitted = data.read == StorageRead::whole_file || data.read == StorageRead::small_block;
    if (data.state != StorageState::cold || !fitted || !data.point.rate || !data.point.read_size) continue;
    const auto rate = fitted_rate(fit, data, data.point.read_size->value());
    if (!rate) continue;
    squares += std::pow(*rate / data.point.rate->mean.value() - 1.0, 2);
    count += 1.0;
  }
  if (count == 0.0) return Measured<double>::absent("no point that was read cold has a rate");
  return std::sqrt(squares / count);
}

void fit_scaling(std::span<const StoragePointData> points, StorageFit& fit) {
  for (const StorageRead read : {StorageRead::whole_file, StorageRead::small_block, StorageRead::large_block}) {
    const std::vector<FlightRate> rates = series_of(points, read, StorageState::cold, false);
    const auto usl = fit_usl(rates);
    if (!usl) continue;
    fit.scaling.push_back(
        {storage_read_name(read), PerSecond(usl->per_stream), usl->contention, usl->coherence, usl->residual_frac});
  }
}

/// A rate that falls while it is measured is a burst that runs out: credits of a cloud disk, a cache that fills.
void look_for_burst(std::span<const StoragePointData> points, std::vector<DataIssue>& issues) {
  for (const StoragePointData& data : points) {
    if (data.state != StorageState::cold || data.windows.size() < k_fewest_windows_to_halve) continue;
    const std::size_t half = data.windows.size() / 2;
    SteadyPart sums[2];
    for (std::size_t i = 0; i < data.windows.size(); ++i) {
      const SteadyPart part = steady_part(*data.windows[i]);
      sums[i < half ? 0 : 1].bytes += part.bytes;
      sums[i < half ? 0 : 1].seconds += part.seconds;
    }
    const double before = sums[0].bytes / sums[0].seconds;
    const double after = sums[1].bytes / sums[1].seconds;
    if (!(after < k_burst_ran_out * before)) continue;
    issues.push_back({"storage-burst", Severity::warning, 1,
                      fmt::format("{} with {} in flight fell from {:.3g} to {:.3g} bytes/s while it was measured",
                                  data.point.read, data.in_flight, before, after),
                      "a burst allowance may have run out: measure for longer with --budget"});
    return;
  }
}

void look_for_busy_cores(std::span<const StoragePointData> points, double usable_cpus, std::vector<DataIssue>& issues) {
  double most = 0.0;
  for (const StoragePointData& data : points) {
    if (data.state == StorageState::cold && data.point.cpu_cores) most = std::max(most, *data.point.cpu_cores);
  }
  if (usable_cpus <= 0.0 || most < k_busy_reading_cores * usable_cpus) return;
  issues.push_back(
      {"storage-cpu-bound", Severity::warning, 1,
       fmt::format("reading kept {:.1f} of {:.1f} cores busy: these ceilings are the machine's, not its storage's",
                   most, usable_cpus),
       ""});
}

}  // namespace

StorageFit fit_storage(const record::StorageRecording& recording, std::span<const StoragePointData> points,
                       std::vector<DataIssue>& issues) {
  StorageFit fit;
  fit.open = mean_seconds(recording.files.open_s, "fewer than two files were opened");
  fit.stat = mean_seconds(recording.files.stat_s, "fewer than two files were looked at");
  const StreamCost cold = stream_cost(points, StorageState::cold);
  fit.latency = cold.latency;
  fit.stream_bandwidth = cold.bandwidth;
  const StreamCost resident = stream_cost(points, StorageState::resident);
  fit.resident_latency = resident.latency;
  fit.resident_stream_bandwidth = resident.bandwidth;
  fit_ceilings(points, fit);
  fit_metadata(points, recording.usable_cpus, fit);
  Measured<Estimate<double>> memory = ceiling_or_reason(points, StorageRead::whole_file, StorageState::resident, true);
  if (!memory) memory = ceiling_or_reason(points, StorageRead::large_block, StorageState::resident, true);
  fit.resident_ceiling_bytes = as_estimate<BytesPerSecond>(memory);
  fit.residual_frac = residual_of(points, fit);
  fit_scaling(points, fit);
  look_for_burst(points, issues);
  look_for_busy_cores(points, recording.usable_cpus, issues);
  return fit;
}

}  // namespace stallcast
