#include "analyzer/storage/probe_result.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analyzer/profile/fields.hpp"
#include "analyzer/profile/json_writer.hpp"
#include "analyzer/storage/constants.hpp"
#include "analyzer/storage/fit.hpp"
#include "analyzer/storage/points.hpp"
#include "core/utf8.hpp"

namespace stallcast {
namespace {

StorageFilesFacts files_facts(const record::StorageFiles& files) {
  StorageFilesFacts facts;
  facts.filesystem = files.filesystem;
  facts.device = files.device;
  facts.seen = files.seen;
  facts.complete = files.complete;
  facts.sampled = static_cast<std::int64_t>(files.sizes_bytes.size());
  facts.empty = files.empty;
  facts.unreadable = files.unreadable;
  facts.not_files = files.not_files;
  facts.dangling_links = files.dangling_links;
  facts.resident_bytes = files.resident_share >= 0.0
                             ? Measured<Fraction>(files.resident_share)
                             : Measured<Fraction>::absent("only a file's owner or writer may ask what is in memory");
  std::vector<double> sizes = files.sizes_bytes;
  if (sizes.empty()) return facts;
  std::sort(sizes.begin(), sizes.end());
  Distribution distribution;
  double small = 0.0;
  for (const double size : sizes) {
    distribution.add(size);
    if (size < k_small_probed_file_bytes) small += 1.0;
  }
  const auto quantile = [&](double q) {
    return Bytes(sizes[static_cast<std::size_t>(q * static_cast<double>(sizes.size() - 1) + 0.5)]);
  };
  // Empty files are among those seen; the sample tells how many.
  const auto count = static_cast<double>(sizes.size());
  const double filled = count / (count + static_cast<double>(files.empty));
  facts.total = Bytes(distribution.mean * filled * static_cast<double>(files.seen));
  facts.size_p10 = quantile(0.1);
  facts.size_median = quantile(0.5);
  facts.size_p90 = quantile(0.9);
  facts.small_files = small / count;
  facts.sizes = std::move(distribution);
  return facts;
}

}  // namespace

namespace fields {

template <class A>
void describe(A& a, const StorageFilesFacts& v) {
  a.field("filesystem", v.filesystem);
  a.field("device", v.device);
  a.field("seen", v.seen);
  a.field("complete", v.complete);
  a.field("sampled", v.sampled);
  a.field("total_bytes", v.total);
  a.field("size_bytes", v.sizes);
  a.field("size_p10_bytes", v.size_p10);
  a.field("size_median_bytes", v.size_median);
  a.field("size_p90_bytes", v.size_p90);
  a.field("small_files_frac", v.small_files);
  a.field("resident_bytes_frac", v.resident_bytes);
  a.field("empty", v.empty);
  a.field("unreadable", v.unreadable);
  a.field("not_files", v.not_files);
  a.field("dangling_links", v.dangling_links);
}

template <class A>
void describe(A& a, const StorageScaling& v) {
  a.field("read", v.read);
  a.field("per_stream_reads_per_s", v.per_stream);
  a.field("contention", v.contention);
  a.field("coherence", v.coherence);
  a.field("residual_frac", v.residual_frac);
}

template <class A>
void describe(A& a, const StorageFit& v) {
  a.field("latency_s", v.latency);
  a.field("stream_bandwidth_bytes_per_s", v.stream_bandwidth);
  a.field("ceiling_bytes_per_s", v.ceiling_bytes);
  a.field("ceiling_files_per_s", v.ceiling_files);
  a.field("ceiling_reads_per_s", v.ceiling_reads);
  a.field("ceiling_metadata_per_s", v.ceiling_metadata);
  a.field("open_s", v.open);
  a.field("stat_s", v.stat);
  a.field("resident_latency_s", v.resident_latency);
  a.field("resident_stream_bandwidth_bytes_per_s", v.resident_stream_bandwidth);
  a.field("resident_ceiling_bytes_per_s", v.resident_ceiling_bytes);
  a.field("residual_frac", v.residual_frac);
  a.field("scaling", v.scaling);
}

template <class A>
void describe(A& a, const StoragePoint& v) {
  a.field("read", v.read);
  a.field("state", v.state);
  a.field("method", v.method);
  a.field("in_flight", v.in_flight);
  a.field("read_size_bytes", v.read_size);
  a.field("bandwidth_bytes_per_s", v.bandwidth);
  a.field("rate_reads_per_s", v.rate);
  a.field("latency_s", v.latency);
  a.field("latency_p99_s", v.latency_p99);
  a.field("cpu_cores", v.cpu_cores);
  a.field("failed_reads", v.failed_reads);
  a.field("premises", v.premises);
}

template <class A>
void describe(A& a, const StorageProfile& v) {
  a.field("schema_version", v.schema_version);
  a.field("tool_version", v.tool_version);
  a.field("path", v.path);
  a.field("evict", v.evict);
  a.field("engine", v.engine);
  a.field("budget_s", v.budget_s);
  a.field("elapsed_s", v.elapsed_s);
  a.field("files", v.files);
  a.field("fit", v.fit);
  a.field("points", v.points);
  a.field("issues", v.issues);
}

}  // namespace fields

StorageProfile analyze_storage(const record::StorageRecording& recording) {
  StorageProfile profile;
  profile.path = recording.files.path;
  profile.evict = recording.evict;
  profile.engine = recording.engine;
  profile.budget_s = recording.budget_s;
  profile.elapsed_s = recording.elapsed_s;
  profile.files = files_facts(recording.files);
  profile.issues = recording.issues;
  const std::vector<StoragePointData> points = storage_points(recording);
  profile.fit = fit_storage(recording, points, profile.issues);
  for (const StoragePointData& data : points) profile.points.push_back(data.point);
  return profile;
}

nlohmann::json to_json(const StorageProfile& profile) {
  nlohmann::json root = nlohmann::json::object();
  nlohmann::json absent = nlohmann::json::object();
  fields::JsonWriter writer(root, "", absent);
  fields::describe(writer, profile);
  root["absent"] = std::move(absent);
  return root;
}

}  // namespace stallcast
