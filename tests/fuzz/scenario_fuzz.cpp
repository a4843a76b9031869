#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "model/predict/predict.hpp"

namespace {

using namespace stallcast;

void require(bool holds) {
  if (!holds) std::abort();
}

template <class Q>
Estimate<Q> exactly(double value) {
  return {Q(value), Q(value), Q(value), 100};
}

/// A small job that waits for storage, so that every key has something to act on.
Profile profile() {
  Profile out;
  out.host.usable_cpus = 4.0;
  out.job.batch_size = 8;
  out.job.num_workers = 2;
  out.job.prefetch_factor = 2;
  out.job.dataset_samples = 1000;
  out.job.ranks_seen = 1;
  out.rates.as_is = exactly<SamplesPerSecond>(100.0);
  out.resources.step = exactly<Seconds>(0.08);
  out.resources.compute = exactly<Seconds>(0.03);
  out.resources.worker_wall = exactly<SecondsPerSample>(0.02);
  out.resources.worker_cpu = exactly<SecondsPerSample>(0.008);
  out.resources.worker_run_delay = exactly<SecondsPerSample>(0.0);
  out.resources.read = exactly<SecondsPerSample>(0.012);
  out.resources.read_from_memory = exactly<SecondsPerSample>(0.0001);
  out.resources.consumer_cpu = exactly<SecondsPerSample>(0.0002);
  out.resources.bytes_from_storage = 0.9;
  out.resources.page_cache_available = Bytes(5e7);
  out.dataset.bytes_per_sample = BytesPerSample(1e5);
  out.dataset.bytes_total = Bytes(1e8);
  out.dataset.layout = "files";
  Distribution sizes;
  for (int i = 0; i < 20; ++i) sizes.add(1e5 + 1e3 * i);
  out.dataset.file_size_bytes = sizes;
  for (int i = 0; i < 20; ++i) {
    out.resources.distributions["sample_read_s"].add(0.012);
    out.resources.distributions["sample_metadata_s"].add(0.003);
    out.resources.distributions["sample_bytes"].add(1e5);
    out.resources.distributions["sample_reads"].add(2.0);
  }
  out.storage.path = "/data";
  out.storage.ceiling_bandwidth = exactly<BytesPerSecond>(5e7);
  out.storage.first_byte = exactly<Seconds>(0.004);
  out.storage.stream_bandwidth = exactly<BytesPerSecond>(1e8);
  Operator& resize = out.operators.emplace_back();
  resize.name = "Resize";
  resize.where = "transform[0]";
  resize.wall = resize.cpu = exactly<SecondsPerSample>(0.003);
  resize.busy = resize.cpu_share = exactly<Fraction>(0.4);
  return out;
}

Predictor& predictor() {
  static Predictor made = [] {
    auto result = Predictor::make(profile());
    require(result.ok());
    return std::move(result).value();
  }();
  return made;
}

}  // namespace

/// Each line is a setting; lines that begin with '~' are sweeps. What is accepted is answered with sane numbers.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t k_most_asked = 3;
  std::vector<std::string> settings;
  std::vector<std::string> sweeps;
  std::string line;
  for (std::size_t i = 0; i <= size && settings.size() + sweeps.size() < 8; ++i) {
    if (i < size && data[i] != '\n') {
      line += static_cast<char>(data[i]);
      continue;
    }
    if (!line.empty() && line.front() == '~') {
      sweeps.push_back(line.substr(1));
    } else if (!line.empty()) {
      settings.push_back(line);
    }
    line.clear();
  }
  const auto grid = parse_grid(settings, sweeps);
  if (!grid.ok()) {
    require(grid.error().code == ErrorCode::usage && !grid.error().what.empty());
    return 0;
  }
  for (std::size_t i = 0; i < std::min(k_most_asked, grid.value().size()); ++i) {
    const auto answer = predictor().predict_closed_form(grid.value()[i]);
    if (!answer.ok()) continue;
    const auto& rate = answer.value().throughput;
    require(std::isfinite(rate.mean.value()) && rate.mean.value() > 0.0);
    require(rate.ci90_low <= rate.mean && rate.mean <= rate.ci90_high);
    const auto& first = answer.value().first_epoch;
    require(!first || (*first && std::isfinite((*first)->value()) && **first >= *answer.value().epoch));
    require(answer.value().stall >= 0.0 && answer.value().stall <= 1.0);
  }
  return 0;
}
