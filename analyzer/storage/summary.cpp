#include "analyzer/storage/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "analyzer/profile/dataset_bytes.hpp"
#include "analyzer/profile/fields.hpp"
#include "analyzer/profile/json_reader.hpp"
#include "analyzer/profile/json_writer.hpp"
#include "analyzer/storage/constants.hpp"
#include "analyzer/storage/fit.hpp"
#include "core/write_file.hpp"

namespace stallcast {
namespace {

constexpr const char* k_file = "storage.json";
constexpr double k_megabyte = 1e6;

template <class Q>
MeasuredEstimate<Q> ceiling(const std::vector<FlightRate>& rates) {
  const Measured<Estimate<double>> most = ceiling_of(rates);
  if (!most) return MeasuredEstimate<Q>::absent(most.reason());
  return Estimate<Q>{Q(most->mean), Q(most->ci95_low), Q(most->ci95_high), most->n};
}

/// The better known of two rates with so many in flight stays. A job that reads less than fewer readers alone waits for
/// something else: it tells nothing of the storage.
void join(const JobReading& job, std::vector<FlightRate>& rates) {
  const FlightRate seen{static_cast<double>(job.in_flight), plain(job.bandwidth)};
  const bool held = std::any_of(rates.begin(), rates.end(), [&](const FlightRate& rate) {
    return rate.in_flight <= seen.in_flight && rate.rate.ci95_low > seen.rate.mean;
  });
  if (held) return;
  const auto at = std::lower_bound(rates.begin(), rates.end(), seen.in_flight,
                                   [](const FlightRate& rate, double n) { return rate.in_flight < n; });
  if (at == rates.end() || at->in_flight > seen.in_flight) {
    rates.insert(at, seen);
  } else if (seen.rate.ci95_low > at->rate.ci95_low) {
    *at = seen;
  }
}

bool counts(const StoragePoint& point, const std::string& read) {
  return point.read == read && point.state == "cold" && point.in_flight > 0 && point.rate && point.bandwidth;
}

/// Opening a file and waiting for its first byte, one reader alone; the open is left out where none was timed.
MeasuredEstimate<Seconds> first_byte(const StorageFit& fit) {
  if (!fit.latency || !fit.open) return fit.latency;
  const auto half = [](const Estimate<Seconds>& of) { return 0.5 * (of.ci95_high - of.ci95_low).value(); };
  const Seconds mean = fit.latency->mean + fit.open->mean;
  const Seconds wide(std::hypot(half(*fit.latency), half(*fit.open)));
  return Estimate<Seconds>{mean, mean - wide, mean + wide, std::min(fit.latency->n, fit.open->n)};
}

/// Bytes that storage gives for a sample that is not in memory.
Measured<BytesPerSample> stored_for_sample(const Profile& profile) {
  const bool ahead = more_than_needed(profile.dataset, profile.job.dataset_samples).has_value();
  return ahead ? profile.dataset.stored_bytes_per_sample
               : distinct_bytes_per_sample(profile.dataset, profile.job.dataset_samples);
}

/// What the run as found read, where the `readers` of each host were in reads for nearly all of the time.
std::optional<JobReading> reading_as_found(const Profile& profile, double readers, double sample_bytes) {
  const auto& rate = profile.rates.as_is;
  const auto& read = profile.resources.read;
  const auto& stored = profile.resources.bytes_from_storage;
  if (!rate || !read || !stored || !(*stored >= k_least_stored_as_found)) return std::nullopt;
  const double hosts = std::max(1, profile.host.hosts_seen);
  const double share = rate->mean.value() / hosts * read->mean.value() / readers;
  if (!(share >= k_least_waiting_share) || !(rate->ci95_low.value() > 0.0)) return std::nullopt;
  const double least = std::min(*stored, 1.0);
  const double most = 1.0 / std::min(share, 1.0);
  const auto of_host = [&](SamplesPerSecond of, double part) {
    return BytesPerSecond(of.value() * sample_bytes / hosts * part);
  };
  const Estimate<BytesPerSecond> bandwidth{of_host(rate->mean, 1.0), of_host(rate->ci95_low, least),
                                           of_host(rate->ci95_high, most), rate->n};
  return JobReading{std::llround(readers), bandwidth, true};
}

}  // namespace

Measured<Fraction> saved_in_pauses(const record::StorageRecording& recording,
                                   const MeasuredEstimate<BytesPerSecond>& ceiling) {
  if (!ceiling) return Measured<Fraction>::absent(ceiling.reason());
  const double most = ceiling->mean.value();
  double bytes = 0.0;
  double turns = 0.0;
  double standing = 0.0;  // bytes that a disk would have delivered
  for (const record::StorageWindow& window : recording.windows) {
    if (window.pause_s <= 0.0 || !state_is_proven(window)) continue;
    // Whole turns of reading and pausing: what came in after the last of them belongs to none.
    const double turn_s = 2.0 * window.pause_s;
    const double whole_turns = std::floor(std::max(window.stop_s, window.end_s) / turn_s + k_missing_of_turn);
    const double end_s = turn_s * whole_turns;
    double inside = 0.0;
    for (const record::StorageProgress& at : window.progress) {
      if (at.t_s <= end_s) inside = at.bytes;
    }
    bytes += inside;
    turns += end_s * most;
    // What is in flight when a pause begins still comes in.
    standing +=
        std::min(end_s * most, whole_turns * (window.pause_s * most + window.in_flight * window.bytes / window.reads));
  }
  if (turns <= standing) return Measured<Fraction>::absent("no cold reading with pauses was measured");
  return Fraction(std::clamp((bytes - standing) / (turns - standing), 0.0, 1.0));
}

Measured<Seconds> idle_read(const record::StorageRecording& recording) {
  std::vector<double> seconds;
  for (const record::StorageWindow& window : recording.windows) {
    if (window.pause_s <= 0.0 || !state_is_proven(window)) continue;
    // Parts of blocks say nothing of the whole.
    if (window.read == record::StorageRead::large_block && window.bytes < k_whole_block_bytes * window.reads) continue;
    double stretch = -1.0;
    for (const record::StorageSampledRead& read : window.sampled) {
      const double turn = std::floor((read.end_s - read.seconds) / (2.0 * window.pause_s));
      if (turn > stretch && read.end_s < (2.0 * turn + 1.0) * window.pause_s) seconds.push_back(read.seconds);
      stretch = std::max(stretch, turn);
    }
  }
  if (seconds.size() < k_fewest_reads_after_pause) return Measured<Seconds>::absent("too few reads came after a pause");
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return Seconds(*middle);
}

std::optional<JobReading> job_reading(const Profile& profile) {
  const auto bytes = stored_for_sample(profile);
  const double ranks =
      std::max(1.0, static_cast<double>(profile.job.ranks_seen) / std::max(1, profile.host.hosts_seen));
  if (!bytes || !profile.job.num_workers) return std::nullopt;
  const double readers = ranks * std::max<double>(1.0, static_cast<double>(*profile.job.num_workers));
  if (const auto as_found = reading_as_found(profile, readers, bytes->value())) return as_found;
  const Estimate<SamplesPerSecond>* most = nullptr;
  for (const auto* rate : {&profile.rates.cold, &profile.rates.supply_cold}) {
    if (rate == &profile.rates.supply_cold && *profile.job.num_workers == 0) continue;
    if (!*rate || !((*rate)->ci95_low.value() > 0.0)) continue;
    if (!most || (*rate)->ci95_low > most->ci95_low) most = &**rate;
  }
  if (!most) return std::nullopt;
  const auto of_host = [&](SamplesPerSecond rate) {
    return BytesPerSecond(rate.value() * bytes->value() / std::max(1, profile.host.hosts_seen));
  };
  return JobReading{static_cast<std::int64_t>(std::llround(readers)),
                    {of_host(most->mean), of_host(most->ci95_low), of_host(most->ci95_high), most->n}};
}

void check_supply(Profile& profile) {
  auto& supply = profile.rates.supply_cold;
  const auto bytes = stored_for_sample(profile);
  const auto& most = profile.storage.ceiling_bandwidth;
  if (!supply || !bytes || !most) return;
  const double hosts = std::max(1, profile.host.hosts_seen);
  if (supply->ci95_low.value() * bytes->value() / hosts <= most->ci95_high.value()) return;
  supply = MeasuredEstimate<SamplesPerSecond>::absent(fmt::format(
      "what was made from storage in so short a time came at {:.3g} MB/s, and for long it gives {:.3g}: it saves up "
      "while nobody reads",
      supply->mean.value() * bytes->value() / hosts / k_megabyte, most->mean.value() / k_megabyte));
  std::erase_if(profile.points, [](const Point& point) { return point.phase == "supply_cold"; });
}

namespace {

void take_in_order(const record::StorageInOrder& seen, Storage& out) {
  const auto known = [](double bytes, const std::string& reason) {
    return bytes > 0.0 ? Measured<Bytes>(Bytes(bytes)) : Measured<Bytes>::absent(reason);
  };
  out.read_ahead = known(seen.window_bytes, "no file was opened for it, or the kernel does not say");
  out.at_once = known(seen.at_once_bytes, seen.reason.empty() ? "files were not read in order" : seen.reason);
}

}  // namespace

Storage storage_summary(const record::StorageRecording& recording, const std::optional<JobReading>& job) {
  const StorageProfile probed = analyze_storage(recording);
  Storage out;
  out.path = probed.path;
  take_in_order(recording.in_order, out);
  const auto has = [&](const char* read) {
    return std::any_of(probed.points.begin(), probed.points.end(),
                       [&](const StoragePoint& point) { return counts(point, read); });
  };
  out.read = has("whole_file") ? "whole_file" : "large_block";
  std::vector<FlightRate> rates;
  std::vector<FlightRate> bandwidths;
  std::string reason = "no cold read was measured";
  for (const StoragePoint& point : probed.points) {
    if (rates.empty() && point.state == "cold" && !point.rate) reason = point.rate.reason();
    if (!counts(point, out.read)) continue;
    out.rates.push_back({point.in_flight, point.rate, point.bandwidth});
    out.read_size = point.read_size;
    rates.push_back({static_cast<double>(point.in_flight), plain(*point.rate)});
    bandwidths.push_back({static_cast<double>(point.in_flight), plain(*point.bandwidth)});
  }
  if (rates.empty()) {
    out.read_size = Measured<Bytes>::absent(reason);
    out.ceiling_rate = MeasuredEstimate<PerSecond>::absent(reason);
    out.ceiling_bandwidth = MeasuredEstimate<BytesPerSecond>::absent(reason);
    out.saved = Measured<Fraction>::absent(reason);
    out.idle_read = Measured<Seconds>::absent(reason);
    out.first_byte = MeasuredEstimate<Seconds>::absent(reason);
    out.stream_bandwidth = MeasuredEstimate<BytesPerSecond>::absent(reason);
    return out;
  }
  out.ceiling_rate = ceiling<PerSecond>(rates);
  out.ceiling_bandwidth = ceiling<BytesPerSecond>(bandwidths);
  if (job && (job->waiting || !out.ceiling_bandwidth)) {
    join(*job, bandwidths);
    out.ceiling_bandwidth = ceiling<BytesPerSecond>(bandwidths);
  }
  out.saved = saved_in_pauses(recording, out.ceiling_bandwidth);
  out.idle_read = idle_read(recording);
  out.first_byte = first_byte(probed.fit);
  out.stream_bandwidth = probed.fit.stream_bandwidth;
  return out;
}

Status save_storage(const Storage& storage, const std::filesystem::path& recordings) {
  nlohmann::json root = nlohmann::json::object();
  nlohmann::json absent = nlohmann::json::object();
  fields::JsonWriter writer(root, "", absent);
  fields::describe(writer, storage);
  root["absent"] = std::move(absent);
  return write_private_file(recordings / k_file,
                            root.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

Storage load_storage(const std::filesystem::path& recordings, std::vector<DataIssue>& issues) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(recordings / k_file, failed)) return {};
  std::ifstream stream(recordings / k_file, std::ios::binary);
  const nlohmann::json root = nlohmann::json::parse(stream, nullptr, /*allow_exceptions=*/false);
  fields::ReadState state;
  Storage storage;
  fields::JsonReader reader(root, "", state);
  if (root.is_object() && root.contains("absent") && root["absent"].is_object()) state.absent = &root["absent"];
  fields::describe(reader, storage);
  if (!state.error) return storage;
  add_issue(issues, {"torn-storage", Severity::info, 1,
                     "what was measured of the storage cannot be read again: " + state.error->what, ""});
  return {};
}

}  // namespace stallcast
