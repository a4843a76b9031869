#include "analyzer/profile/loader_terms.hpp"

#include <algorithm>
#include <array>

namespace stallcast {
namespace {

constexpr std::array<LoaderTerms, 8> k_terms{{
    {"tf.data", "Give the tf.data pipeline more to work with",
     "map(..., num_parallel_calls=tf.data.AUTOTUNE) and prefetch(tf.data.AUTOTUNE) use more threads, cache() keeps "
     "what "
     "was read or decoded",
     "dataset.map(..., num_parallel_calls=tf.data.AUTOTUNE).batch(...).prefetch(tf.data.AUTOTUNE)"},
    {"dali", "Give the pipeline more threads",
     "num_threads and prefetch_queue_depth of the pipeline; decode on the device where it is idle",
     "Pipeline(batch_size, num_threads, device_id, prefetch_queue_depth=2)"},
    {"grain", "Have Grain make more batches at a time",
     "grain.ReadOptions(num_threads=..., prefetch_buffer_size=...) reads with more threads; "
     "mp_prefetch(grain.MultiprocessingOptions(num_workers=...)), or DataLoader(worker_count=...), prepares in "
     "processes",
     "dataset.mp_prefetch(grain.MultiprocessingOptions(num_workers={W}, per_worker_buffer_size={P}))"},
    {"keras", "Have Keras make more batches at a time",
     "PyDataset(workers=..., use_multiprocessing=True, max_queue_size=...) makes batches in processes, ahead of the "
     "steps; a generator has no such settings",
     "PyDataset(workers={W}, use_multiprocessing=True, max_queue_size={P})"},
    {"spdl", "Give the SPDL pipeline more to work with",
     "pipe(..., concurrency=...) of the slowest stage, build(num_threads=...), add_sink(buffer_size=...)",
     "PipelineBuilder().add_source(...).pipe(..., concurrency={W}).add_sink({P}).build(num_threads={W})"},
    {"torchdata.nodes", "Give the nodes more workers",
     "ParallelMapper(node, prepare, num_workers=...) of the slowest step, Prefetcher(node, prefetch_factor=...) before "
     "the loop",
     "Prefetcher(ParallelMapper(node, prepare, num_workers={W}), prefetch_factor={P})"},
    {"datasets", "Load in worker processes",
     "torch's DataLoader over the data set (with_format('torch')), num_workers=1 or more, makes batches during the "
     "steps",
     "DataLoader(dataset.with_format('torch'), num_workers={W}, prefetch_factor={P}, persistent_workers=True)"},
    {"ray.data", "Have Ray Data make more batches at a time",
     "iter_torch_batches(prefetch_batches=...), and map_batches(..., concurrency=...) of the slowest step",
     "map_batches(..., concurrency={W}), iter_torch_batches(prefetch_batches={P})"},
}};

void replace_all(std::string& text, std::string_view from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

const LoaderTerms* terms_of(std::string_view loader_kind) {
  const auto* found =
      std::find_if(k_terms.begin(), k_terms.end(), [&](const LoaderTerms& terms) { return terms.kind == loader_kind; });
  return found == k_terms.end() ? nullptr : found;
}

std::string line_of(const LoaderTerms& terms, int workers, int prefetch) {
  std::string line(terms.line);
  replace_all(line, "{W}", std::to_string(std::max(1, workers)));
  replace_all(line, "{P}", std::to_string(std::max(1, prefetch)));
  return line;
}

std::string line_of(const LoaderTerms& terms) {
  std::string line(terms.line);
  replace_all(line, "{W}", "...");
  replace_all(line, "{P}", "...");
  return line;
}

bool trains_without_torch(std::string_view framework) {
  return framework == "jax" || framework == "tensorflow";
}

}  // namespace stallcast
