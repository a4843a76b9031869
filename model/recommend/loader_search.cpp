#include "model/recommend/loader_search.hpp"

#include "analyzer/profile/loader_terms.hpp"
#include "model/recommend/constants.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace stallcast {
namespace {

struct Candidate {
  LoaderChoice choice{};
  double rate = 0.0;
};

double rate_of(Predictor& predictor, const Scenario& settings, const LoaderChoice& choice) {
  const auto rate = predictor.closed_form_rate(with_loader(settings, choice));
  return rate.ok() ? rate.value() : 0.0;
}

}  // namespace

int most_workers(const JobModel& job, double cores, std::vector<std::string>& notes) {
  const double by_cores = std::ceil(2.0 * std::min(cores, 512.0));
  int most =
      static_cast<int>(std::clamp(std::max({by_cores, 2.0 * job.workers, 4.0}), 1.0, double{k_most_tried_workers}));
  if (job.worker_bytes && job.page_cache_bytes) {
    const double more = k_memory_for_workers * *job.page_cache_bytes / (*job.worker_bytes * job.ranks_per_host);
    const int by_memory = job.workers + static_cast<int>(std::min(1e6, std::floor(more)));
    if (by_memory < most) {
      most = std::max(job.workers, by_memory);
      notes.push_back("memory allows at most " + std::to_string(most) + " workers");
    }
  }
  if (job.shm_free_bytes && *job.shm_free_bytes < k_small_shm_bytes && job.workers > 0 && most > job.workers) {
    most = job.workers;
    notes.emplace_back(
        "/dev/shm is small: more workers than now may not find room for their batches there; enlarge it "
        "(docker run --shm-size) to use more");
  }
  return most;
}

LoaderChoice find_knee(Predictor& predictor, const Scenario& settings, const LoaderChoice& found, int most) {
  const double as_found = rate_of(predictor, settings, found);
  std::vector<Candidate> candidates;
  double best = as_found;
  for (int workers = 1; workers <= most; ++workers) {
    for (const int prefetch : std::array{2, 4}) {
      LoaderChoice choice = found;
      choice.workers = workers;
      choice.prefetch = prefetch;
      choice.persistent_workers = true;
      candidates.push_back({choice, rate_of(predictor, settings, choice)});
      best = std::max(best, candidates.back().rate);
    }
  }
  LoaderChoice alone = found;
  alone.workers = 0;
  alone.persistent_workers = false;
  if (rate_of(predictor, settings, alone) > k_worth_no_workers * best) return alone;
  if (as_found >= k_near_best * best) return found;
  for (const Candidate& candidate : candidates) {
    if (candidate.rate >= k_near_best * best) return candidate.choice;
  }
  return found;
}

Scenario with_loader(const Scenario& settings, const LoaderChoice& choice) {
  Scenario scenario = settings;
  scenario.workers = choice.workers;
  scenario.items.push_back({"workers", std::to_string(choice.workers)});
  if (choice.workers > 0) {
    scenario.prefetch = choice.prefetch;
    scenario.items.push_back({"prefetch", std::to_string(choice.prefetch)});
  }
  return scenario;
}

std::string loader_line(const Profile& profile, const LoaderChoice& choice) {
  const Job& job = profile.job;
  const LoaderTerms* terms = terms_of(job.loader_kind);
  if (terms != nullptr) return job.num_workers ? line_of(*terms, choice.workers, choice.prefetch) : line_of(*terms);
  const bool own_loop = job.loader_kind == "function" || job.loader_kind == "python";
  const std::string maker = own_loop ? job.dataset_type : "";
  const bool changes = job.num_workers && *job.num_workers != choice.workers;
  if (!maker.empty() && choice.workers == 0 && !changes) return maker + " as it is, in the training process";
  if (!maker.empty() && choice.workers > 0 && trains_without_torch(job.framework)) {
    return maker + " behind grain's IterDataset.mp_prefetch(grain.MultiprocessingOptions(num_workers=" +
           std::to_string(choice.workers) + ", per_worker_buffer_size=" + std::to_string(choice.prefetch) + "))";
  }
  std::string line = maker.empty() ? "DataLoader(dataset" : maker + " behind DataLoader(dataset";
  if (job.batch_size) line += ", batch_size=" + std::to_string(*job.batch_size);
  if (job.shuffled.value_or(false)) line += ", shuffle=True";
  line += ", num_workers=" + std::to_string(choice.workers);
  if (choice.workers > 0) {
    line += ", prefetch_factor=" + std::to_string(choice.prefetch);
    line += std::string(", persistent_workers=") + (choice.persistent_workers ? "True" : "False");
  }
  if (choice.pin_memory) line += std::string(", pin_memory=") + (*choice.pin_memory ? "True" : "False");
  if (job.drop_last.value_or(false)) line += ", drop_last=True";
  if (job.in_order && !*job.in_order) line += ", in_order=False";
  return line + ")";
}

}  // namespace stallcast
