#include "reports/words/storage_words.hpp"

#include <fmt/format.h>

#include "reports/words/constants.hpp"
#include "reports/words/escape.hpp"
#include "reports/words/format.hpp"

namespace stallcast::reports {
namespace {

const StorageRate* alone(const Storage& storage) {
  for (const StorageRate& rate : storage.rates) {
    if (rate.in_flight == 1 && usable(rate.bandwidth) != nullptr) return &rate;
  }
  return nullptr;
}

}  // namespace

std::string bandwidth_words(const Estimate<BytesPerSecond>& estimate) {
  const double mean = estimate.mean.value();
  return with_interval(mean, estimate.ci95_low.value(), estimate.ci95_high.value(), bandwidth_scale(mean));
}

std::string storage_words(const Storage& storage) {
  if (storage.path.empty()) return "";
  const auto* most = usable(storage.ceiling_bandwidth);
  std::string words = most != nullptr ? "at most " + bandwidth_words(*most)
                                      : "no ceiling was found (" + storage.ceiling_bandwidth.reason() + ")";
  if (const StorageRate* one = alone(storage))
    words += ", " + bandwidth_words(*one->bandwidth) + " with one read at once";
  if (storage.saved && *storage.saved >= k_saves_up_from) {
    words += fmt::format(
        "; what it could give while nobody reads is saved up, and {} of that can be read later (a token bucket)",
        percent(*storage.saved));
  }
  return words;
}

}  // namespace stallcast::reports
