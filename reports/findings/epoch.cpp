#include "reports/findings/epoch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/findings/constants.hpp"
#include "reports/words/format.hpp"

namespace stallcast::reports {
namespace {

constexpr double k_hour_s = 3600.0;

/// Why the rate and the size of the data set do not make an epoch; empty if they do.
std::string why_none(const Profile& p, const MeasuredEstimate<SamplesPerSecond>& rate) {
  if (!p.job.dataset_samples || *p.job.dataset_samples <= 0) {
    return "the number of samples of the data set is not known" +
           (p.job.dataset_samples ? std::string() : ": " + p.job.dataset_samples.reason());
  }
  const auto* known = usable(rate);
  if (known == nullptr) return "the rate was not measured: " + rate.reason();
  if (!(known->ci95_low.value() > 0.0)) return "the interval of the rate reaches down to 0";
  if (!(known->ci95_high > known->ci95_low)) return "the rate has no interval";
  if (p.job.ranks_seen < p.job.ranks_expected) {
    return fmt::format("only {} of {} ranks were seen, so the rate of the whole job is not known", p.job.ranks_seen,
                       p.job.ranks_expected);
  }
  return "";
}

/// `share` of the epoch: from the least to the most that both intervals allow.
Estimate<Seconds> share_of(const Estimate<Seconds>& epoch, const Estimate<Fraction>& share) {
  const double ends[] = {epoch.ci95_low.value() * share.ci95_low, epoch.ci95_low.value() * share.ci95_high,
                         epoch.ci95_high.value() * share.ci95_low, epoch.ci95_high.value() * share.ci95_high};
  return {epoch.mean * share.mean, Seconds(*std::min_element(ends, ends + 4)),
          Seconds(*std::max_element(ends, ends + 4)), std::min(epoch.n, share.n)};
}

EpochPart part_of(const char* key, std::string label, const Estimate<Seconds>& time, const Epochs& epochs) {
  EpochPart part{key, std::move(label), time, std::nullopt};
  if (!epochs.price) return part;
  const double factor = epochs.price->per_machine_hour * epochs.machines / k_hour_s;
  part.cost = Estimate<double>{time.mean.value() * factor, time.ci95_low.value() * factor,
                               time.ci95_high.value() * factor, time.n};
  return part;
}

Estimate<Seconds> whole_of(const Epochs& epochs, const Estimate<SamplesPerSecond>& rate) {
  const auto time = [&](SamplesPerSecond r) { return Seconds(static_cast<double>(epochs.samples) / r.value()); };
  return {time(rate.mean), time(rate.ci95_high), time(rate.ci95_low), rate.n};
}

Epoch epoch_of(const Breakdown& b, const Estimate<SamplesPerSecond>& rate, const Epochs& epochs) {
  const Estimate<Seconds> whole = whole_of(epochs, rate);
  Epoch epoch{b.state, b.title, {}, std::nullopt, part_of("whole", "in all", whole, epochs)};
  for (const Slice& slice : b.slices) {
    epoch.parts.push_back(part_of(slice.key.c_str(), slice.label, share_of(whole, slice.share), epochs));
  }
  epoch.lost = part_of("lost", "lost to waiting", share_of(whole, b.wait), epochs);
  return epoch;
}

/// "32 USD", "$32", "32".
std::string with_currency(const std::string& amount, const Price& price) {
  if (price.currency.empty()) return amount;
  const char first = price.currency.front();
  const bool letters = (first >= 'A' && first <= 'Z') || (first >= 'a' && first <= 'z');
  return letters ? amount + " " + price.currency : price.currency + amount;
}

bool is_zero(const EpochPart& part) {
  return part.time.ci95_low.value() <= 0.0;
}

/// Places that tell the ends of an interval apart.
int money_places(const Estimate<double>& cost) {
  const double half = (cost.ci95_high - cost.ci95_low) / 2.0;
  return half > 0.0 ? static_cast<int>(std::clamp(-std::floor(std::log10(half)), 0.0, 9.0)) : 2;
}

}  // namespace

std::vector<const Epoch*> telling_passes(const Epochs& epochs) {
  std::vector<const Epoch*> passes;
  const auto apart = [](const Estimate<Seconds>& a, const Estimate<Seconds>& b) {
    return a.ci95_low > b.ci95_high || b.ci95_low > a.ci95_high;
  };
  for (const Epoch& epoch : epochs.passes) {
    const Epoch& first = epochs.passes.front();
    const bool lost = epoch.lost && first.lost && apart(epoch.lost->time, first.lost->time);
    if (&epoch == &first || lost || apart(epoch.whole.time, first.whole.time)) passes.push_back(&epoch);
  }
  return passes;
}

Epochs epochs_of(const Profile& p, const std::vector<Breakdown>& breakdowns, const std::optional<Price>& price) {
  Epochs epochs;
  epochs.price = price;
  epochs.samples = p.job.dataset_samples.value_or(0);
  epochs.machines = std::max(1, p.host.hosts_seen);
  if (usable(p.gpu.exposed) == nullptr) {
    epochs.no_copy = "they were not traced; waiting for them counts as compute";
  }
  std::vector<Breakdown> known = breakdowns;
  if (known.empty()) known.push_back({"as_is", "as the run was found", "", {}, {}});
  for (const Breakdown& b : known) {
    const auto& rate = b.state == "cold" ? p.rates.cold : p.rates.as_is;
    const std::string reason = why_none(p, rate);
    if (reason.empty()) {
      epochs.passes.push_back(epoch_of(b, *rate, epochs));
    } else if (epochs.absent.empty()) {
      epochs.absent = reason;
    }
  }
  if (!epochs.passes.empty()) epochs.absent.clear();
  if (const auto* pause = usable(p.stalls.epoch_pause); pause != nullptr && !epochs.passes.empty()) {
    if (pause->mean.value() >= k_least_pause * epochs.passes.front().whole.time.mean.value()) epochs.pause = *pause;
  }
  return epochs;
}

std::string epoch_time_words(const EpochPart& part) {
  if (!is_zero(part)) return duration(part.time);
  return part.time.ci95_high.value() > 0.0 ? "0 (up to " + duration(part.time.ci95_high) + ")" : "0";
}

std::string epoch_cost_words(const EpochPart& part, const Epochs& epochs) {
  if (!part.cost || !epochs.price) return "";
  const Estimate<double>& cost = *part.cost;
  const int places = money_places(cost);
  const std::string high = fmt::format("{:.{}f}", std::max(0.0, cost.ci95_high), places);
  if (is_zero(part)) return with_currency("0", *epochs.price) + " (up to " + high + ")";
  return fmt::format("{} ({:.{}f} to {})", with_currency(fmt::format("{:.{}f}", cost.mean, places), *epochs.price),
                     cost.ci95_low, places, high);
}

std::string price_words(const Epochs& epochs) {
  if (!epochs.price) return "";
  const std::string each =
      epochs.machines > 1 ? fmt::format("for each of {} machines", epochs.machines) : std::string("for the machine");
  return fmt::format("at {} an hour {}",
                     with_currency(fmt::format("{:.10g}", epochs.price->per_machine_hour), *epochs.price), each);
}

std::string epoch_note(const Epochs& epochs) {
  if (!epochs.pause) return "Steady steps only; start-up, evaluation and checkpoints come on top.";
  return "Steady steps only. On top come " + duration(*epochs.pause) +
         " at the beginning of each epoch, until its first batch is there, and start-up, evaluation and checkpoints.";
}

}  // namespace stallcast::reports
