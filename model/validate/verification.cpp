#include "model/validate/verification.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "model/validate/constants.hpp"
#include "model/validate/verification_premises.hpp"

namespace stallcast {
namespace {

const Premise* broken(std::span<const Premise> premises) {
  const auto found = std::find_if(premises.begin(), premises.end(), [](const Premise& p) { return !p.holds; });
  return found == premises.end() ? nullptr : &*found;
}

const char* hint_for(const std::string& check) {
  if (check == "real_storage") {
    return "the real storage was slower than the emulated one: read the files once before, so that they lie in memory, "
           "or ask for less";
  }
  if (check == "emulated_storage" || check == "emulated_reads") {
    return "the emulation sees reads of regular files by this command's own processes; mapped files go past it";
  }
  if (check == "kernel_limits" || check == "limits_at_the_end") {
    return "something else on this machine manages control groups: see the issues of the run (-o DIR)";
  }
  if (check == "limited_reads") {
    return "the kernel limits reads of local disks, and none of what is in memory: evict the files, or put them on "
           "such "
           "a disk";
  }
  if (check == "cpus") return "the command chooses its CPUs itself, or does not say how many it has";
  return "the command must make a DataLoader over the same data as the profiled one (type, length, batch, order): is "
         "it "
         "the same command? Otherwise profile it again";
}

void say_not_applied(const Premise& premise, Verification& out) {
  out.verdict = Verdict::not_applied;
  out.words = "not applied: " + premise.check + " should have been " + premise.expected + ", and was " + premise.seen;
  out.hint = hint_for(premise.check);
}

void say_not_comparable(const Premise& premise, Verification& out) {
  out.verdict = Verdict::not_comparable;
  if (premise.check == "storage_bytes") {
    out.words =
        "not comparable: the profile's run read " + premise.expected + " from storage, this one " + premise.seen;
    out.hint =
        "bring the files into the state they were in (memory or storage), or profile again as they are now: stallcast "
        "profile --phases as_is";
    return;
  }
  out.words = "not comparable: " + premise.check + " was " + premise.expected + " in the profiled run and " +
              premise.seen + " in this one";
  out.hint = "verify the command, on the machine, that was profiled; or profile what there is now";
}

/// Share of their time that the workers were ready to run and had no core.
std::optional<double> core_wait(const Profile& profile) {
  const auto& wait = profile.resources.worker_run_delay;
  const auto& wall = profile.resources.worker_wall;
  if (!wait || !wall || !(wall->mean.value() > 0.0)) return std::nullopt;
  return wait->mean / wall->mean;
}

/// A run that was slower than predicted, and whose workers wanted for cores as the profiled one's did not.
void suspect_others(const Profile& before, const AppliedSettings& applied, const Profile& run, Verification& out) {
  const auto then = core_wait(before);
  const auto now = core_wait(run);
  if (applied.cpus || !then || !now || *now < *then + k_much_more_core_wait || *out.err_frac < 0.0) return;
  out.hint = "the workers waited for a free core " + percent_words(*now) + " of their time, " + percent_words(*then) +
             " in the profiled run: were other programs at work?";
}

void judge(Verification& out) {
  const Estimate<SamplesPerSecond>& seen = *out.measured;
  const auto& said = out.prediction.throughput;
  const bool overlap = said.ci90_low <= seen.ci95_high && seen.ci95_low <= said.ci90_high;
  out.err_frac = said.mean / seen.mean - 1.0;
  out.verdict = overlap ? Verdict::agrees : Verdict::disagrees;
  out.words = overlap ? "the prediction agrees with the run: their intervals overlap"
                      : "the prediction does not agree with the run: their intervals do not overlap";
}

}  // namespace

Verification verify(const Profile& before, const Prediction& prediction, const AppliedSettings& applied,
                    const Profile& run, std::span<const RankSetting> ranks) {
  Verification out;
  out.prediction = prediction;
  out.applied = applied.keys;
  out.outcome = run.outcome;
  out.measured = run.rates.as_is;
  if (!out.measured || !(out.measured->mean.value() > 0.0)) {
    out.words = "not measured: " + (out.measured ? "no samples were counted" : out.measured.reason());
    out.hint = "let the command run longer; stallcast profile --phases as_is says what it sees of it";
    out.measured = MeasuredEstimate<SamplesPerSecond>::absent(out.words);
    return out;
  }
  out.premises = applied_premises(applied, run, ranks);
  if (const Premise* premise = broken(out.premises)) {
    say_not_applied(*premise, out);
    out.measured = MeasuredEstimate<SamplesPerSecond>::absent(out.words);
    return out;
  }
  std::vector<Premise> others = comparable_premises(before, applied, run, ranks);
  out.premises.insert(out.premises.end(), others.begin(), others.end());
  if (const Premise* premise = broken(others)) {
    say_not_comparable(*premise, out);
    return out;
  }
  judge(out);
  if (out.verdict == Verdict::disagrees) suspect_others(before, applied, run, out);
  return out;
}

Point verified_point(const Verification& verification) {
  Point point;
  for (const ScenarioItem& item : verification.prediction.scenario) point.setting[item.key] = item.value;
  point.method = "verify";
  point.estimate = verification.measured;
  point.premises = verification.premises;
  return point;
}

}  // namespace stallcast
