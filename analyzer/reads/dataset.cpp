#include "analyzer/reads/dataset.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "analyzer/load/file_format.hpp"
#include "analyzer/profile/dataset_bytes.hpp"
#include "analyzer/reads/constants.hpp"
#include "analyzer/reads/files_read.hpp"
#include "analyzer/reads/from_storage.hpp"
#include "analyzer/reads/network.hpp"
#include "analyzer/steps/distributions.hpp"
#include "analyzer/steps/timed_samples.hpp"

namespace stallcast::sections {
namespace {

constexpr const char* k_through_maps =
    "the data seem to be read through maps of their files (mmap), which is not seen: the workers have some, "
    "and hardly a byte of a sample was read";
constexpr const char* k_no_cold_block = "no cold block tells what came from storage";

/// Distinct samples that were read: later epochs read the same ones again. Negative where none was marked by itself.
std::int64_t samples_read(Nodes nodes) {
  std::vector<const record::SampleRecord*> samples;
  for (const record::ProcessRecording* process : processes_of(nodes)) {
    for (const record::SampleRecord& sample : process->samples) samples.push_back(&sample);
  }
  if (samples.empty()) return -1;
  const TimedSamples timed = evenly_timed(samples);
  std::set<std::int64_t> indices;
  std::int64_t without_index = 0;
  for (const record::SampleRecord* sample : timed.samples) {
    if (sample->index < 0) {
      ++without_index;
    } else {
      indices.insert(sample->index);
    }
  }
  return (static_cast<std::int64_t>(indices.size()) + without_index) * timed.period;
}

/// Samples of the training loader's first pass.
std::int64_t samples_of_a_pass(const std::vector<RankView>& ranks) {
  std::int64_t samples = 0;
  if (ranks.empty() || ranks.front().window.passes.empty()) return samples;
  for (const Delivery& delivery : ranks.front().window.passes.front()->deliveries) samples += delivery.wait.samples;
  return samples;
}

/// Samples that share files lie in shards. Where none was marked by itself, there are as many as the data set says, and
/// of a stream, as many as were delivered.
bool is_shard_layout(std::int64_t samples, std::int64_t files, std::int64_t dataset_samples,
                     const std::vector<RankView>& ranks) {
  if (samples < 0) samples = dataset_samples >= 0 ? dataset_samples : samples_of_a_pass(ranks);
  return samples > k_most_samples_per_own_file * files;
}

/// Of a data set of that many samples, as far as a run tells it. A sample's reads may hold what all of them read (an
/// index, the labels): where so many were drawn at random that no file was missed, it is no larger than its files.
Measured<Bytes> whole_data_set(const Dataset& dataset, const LoaderFacts& loader, std::int64_t samples) {
  const auto once = distinct_bytes_per_sample(dataset, Measured<std::int64_t>::absent("not asked"));
  const double per_sample = once ? once->value() : 0.0;
  const Bytes all(per_sample * static_cast<double>(loader.dataset_samples));
  const bool seen = dataset.layout == "shards" && loader.shuffled == 1 && dataset.file_size_bytes &&
                    dataset.file_size_bytes->n == *dataset.files_seen &&
                    samples >= k_samples_per_file_none_missed * *dataset.files_seen;
  return seen && dataset.bytes_seen ? std::min(all, *dataset.bytes_seen) : all;
}

/// The deepest folder below which nearly all of the bytes were read. Empty where that is the root or a folder in it:
/// what else lies there is none of the job's business.
std::string folder_of(const std::map<std::uint64_t, FileRead>& files) {
  std::map<std::string, double> bytes;  // read below each folder
  double all = 0.0;
  for (const auto& [id, file] : files) {
    const std::string& name = file.path->path;
    if (name.empty()) continue;
    all += file.read_bytes;
    if (name.front() != '/') continue;  // recordings of older versions: relative to a folder that is not known
    for (std::size_t slash = name.find('/', 1); slash != std::string::npos; slash = name.find('/', slash + 1)) {
      bytes[name.substr(0, slash)] += file.read_bytes;
    }
  }
  std::string deepest;
  for (const auto& [folder, below] : bytes) {
    const bool enough = below >= k_bytes_below_folder * all;
    if (enough && folder.find('/', 1) != std::string::npos && folder.size() > deepest.size()) deepest = folder;
  }
  return deepest;
}

Dataset no_files(const char* reason) {
  Dataset out;
  out.files_seen = Measured<std::int64_t>::absent(reason);
  out.bytes_seen = out.bytes_total = Measured<Bytes>::absent(reason);
  out.bytes_per_sample = Measured<BytesPerSample>::absent(reason);
  out.received_per_sample = Measured<BytesPerSample>::absent(reason);
  out.stored_bytes_per_sample = Measured<BytesPerSample>::absent(k_no_cold_block);
  out.file_size_bytes = Measured<Distribution>::absent(reason);
  out.small_files = Measured<Fraction>::absent(reason);
  out.layout = "unknown";
  return out;
}

/// Nobody knows how samples lie where they come from.
Dataset of_network(const std::vector<RankView>& ranks, std::int64_t samples) {
  Dataset out = no_files("the data come over the network");
  out.stored_bytes_per_sample = Measured<BytesPerSample>::absent("the data come over the network");
  out.layout = "network";
  out.received_per_sample = BytesPerSample(received_per_sample(ranks));
  out.bytes_per_sample = BytesPerSample(read_per_sample(ranks));
  out.bytes_total = samples > 0 ? Measured<Bytes>(Bytes(read_per_sample(ranks) * static_cast<double>(samples)))
                                : Measured<Bytes>::absent("the number of samples of the data set is not known");
  return out;
}

/// Whether hardly a byte of a sample came by read(), while a worker has files mapped. Of a process that trains nothing
/// is said: it may have mapped its model.
bool is_through_maps(Nodes nodes, const std::vector<RankView>& ranks) {
  if (ranks.empty() || ranks.front().window.loader.composition != "serial") return false;
  std::uint64_t mapped = 0;
  for (const record::ProcessRecording* process : processes_of(nodes)) {
    if (!process->batches.empty() && process->waits.empty()) mapped = std::max(mapped, process->info.mapped_bytes);
  }
  const auto is_made = [](const SteadyStep& step) { return step.delivery->made_known; };
  const auto& steps = ranks.front().window.steps;
  return mapped >= k_mapped_are_data && std::any_of(steps.begin(), steps.end(), is_made) &&
         read_per_sample(ranks) < static_cast<double>(record::k_hardly_read_bytes);
}

/// The key of the largest value; empty if there is none.
template <class Number>
std::string largest(const std::map<std::string, Number>& of) {
  const auto most =
      std::max_element(of.begin(), of.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most != of.end() ? most->first : std::string();
}

/// The type that most of the files lie on. Numbers of devices are each node's own.
std::string filesystem_of(Nodes nodes) {
  std::map<std::string, int> filesystems;
  for (const Launch& node : nodes) {
    for (const auto& [id, file] : files_read(*node.run)) {
      const auto type = node.run->log.filesystems.find(file.path->device);
      if (type != node.run->log.filesystems.end()) ++filesystems[type->second];
    }
  }
  return largest(filesystems);
}

void fill_sizes(const std::map<std::uint64_t, FileRead>& files, Dataset& out) {
  Distribution sizes;
  double bytes_seen = 0.0;
  std::map<std::string, double> formats;  // bytes in files of each
  std::int64_t small = 0;
  double most_read = 0.0;
  for (const auto& [id, file] : files) {
    const record::PathEntry* path = file.path;
    if (file.read_bytes > most_read) out.example_path = path->path;
    most_read = std::max(most_read, file.read_bytes);
    if (path->size_bytes == UINT64_MAX) continue;
    sizes.add(static_cast<double>(path->size_bytes));
    bytes_seen += static_cast<double>(path->size_bytes);
    if (path->size_bytes < k_small_file_bytes) ++small;
    formats[format_of(path->path)] += static_cast<double>(path->size_bytes);
  }
  if (sizes.n == 0) {
    out.small_files = Measured<Fraction>::absent("the sizes of the files were not seen");
    return;
  }
  out.file_size_bytes = sizes;
  out.bytes_seen = Bytes(bytes_seen);
  out.small_files = static_cast<double>(small) / static_cast<double>(sizes.n);
  const std::string main_format = largest(formats);
  if (formats[main_format] > k_main_format * bytes_seen) out.format = main_format;
}

}  // namespace

Dataset dataset_of(Nodes nodes, const std::vector<RankView>& ranks) {
  Dataset out;
  std::map<std::uint64_t, FileRead> files;  // of one path on several nodes, one file
  out.stored_bytes_per_sample = Measured<BytesPerSample>::absent(k_no_cold_block);
  for (const Launch& node : nodes) files.merge(files_read(*node.run));
  const std::int64_t data_set = ranks.empty() ? -1 : ranks.front().window.loader.dataset_samples;
  if (is_over_network(ranks)) return of_network(ranks, data_set);
  if (is_through_maps(nodes, ranks)) {
    out = no_files(k_through_maps);
    out.stored_bytes_per_sample = Measured<BytesPerSample>::absent(k_through_maps);
    out.layout = "mapped";
    return out;
  }
  if (files.empty()) return no_files("no sample was seen reading a file (mapped files are read unseen)");
  out.files_seen = static_cast<std::int64_t>(files.size());
  out.received_per_sample = BytesPerSample(received_per_sample(ranks));
  const std::int64_t distinct = samples_read(nodes);
  out.layout = is_shard_layout(distinct, *out.files_seen, data_set, ranks) ? "shards" : "files";
  out.folder = folder_of(files);
  out.filesystem = filesystem_of(nodes);
  fill_sizes(files, out);
  double bytes_read = 0.0;
  const std::vector<const record::SampleRecord*> samples = training_samples(nodes, ranks);
  for (const record::SampleRecord* sample : samples) bytes_read += static_cast<double>(sample->read_bytes);
  // What other threads read for a sample is told of its batch alone.
  const double of_batches = read_per_sample(ranks);
  const double of_samples = bytes_read / static_cast<double>(std::max<std::size_t>(samples.size(), 1));
  // Of a stream no sample's reads are told from another's.
  const bool aside = of_batches > k_read_aside_of_samples * of_samples;
  if (aside) {
    out.bytes_per_sample = BytesPerSample(of_batches);
  } else if (!samples.empty() && bytes_read <= 0.0) {
    out.bytes_per_sample =
        Measured<BytesPerSample>::absent("no sample was seen reading a byte of a file (mapped files are read unseen)");
  } else if (!samples.empty()) {
    out.bytes_per_sample = BytesPerSample(bytes_read / static_cast<double>(samples.size()));
  } else {
    out.bytes_per_sample = Measured<BytesPerSample>::absent("the reads of one sample were not told from another's");
  }
  if (out.bytes_per_sample && data_set > 0) {
    out.bytes_total = whole_data_set(out, ranks.front().window.loader, distinct);
  } else {
    out.bytes_total = Measured<Bytes>::absent(
        out.bytes_per_sample ? "the number of samples of the data set is not known" : out.bytes_per_sample.reason());
  }
  return out;
}

}  // namespace stallcast::sections
