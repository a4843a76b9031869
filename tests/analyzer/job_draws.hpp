/// What a job's times and texts are, before they are played: the parts of the builder that need no state.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "probes/record/reader.hpp"
#include "simulation/loader.hpp"
#include "tests/analyzer/run_builder.hpp"

namespace stallcast::synthetic {

using Random = std::mt19937_64;

struct Draws {
  std::vector<simulation::BatchWork> work{};
  std::vector<simulation::StepWork> steps{};
};

/// A log-normal value of this mean and coefficient of variation; the mean itself where that is 0.
[[nodiscard]] double log_normal(double mean, double cv, Random& random);

/// Log-normal times for `batches` batches and steps.
[[nodiscard]] Draws draw(const JobSpec& spec, int batches, Random& random);

[[nodiscard]] bool is_recorded(const JobSpec& spec, double at_s);

/// What the interposer sees of a batch: the storage's time and what resident bytes cost.
[[nodiscard]] record::IoTotals io_of(const JobSpec& spec, const simulation::BatchWork& work);

/// Sample, file and path records of a batch: sample i of the data set lies in file i.
void add_samples(const JobSpec& spec, const record::BatchRecord& batch, record::ProcessRecording& maker);

[[nodiscard]] std::string loader_text(const JobSpec& spec, int id, const char* dataset, int workers, bool shuffled);
[[nodiscard]] std::string iterator_text(std::uint64_t iterator, int loader, int epoch,
                                        const std::vector<std::int64_t>& worker_pids);

}  // namespace stallcast::synthetic
