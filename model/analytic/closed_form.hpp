/// The analytic form: step time of one rank from service demands, fast enough for sweeps.
///
/// Workers read and then compute, one after the other (so fetch and prep add inside a worker, as PyTorch's do), and
/// share cores and storage. What is in their way is estimated by mean-value analysis: each meets the others as often as
/// they are there on average, itself excluded (Schweitzer). Example: 2 workers, each 1 s at one disk, then 1 s at one
/// core: each meets the other nearly half of the time, reading and computing take about 1.4 s each, and the two make
/// about 0.7 batches a second, where min() of the stages would promise 1. How the workers' rate and the step combine is
/// read off the simulated curves of analytic/stall_curve.hpp. Against the event simulation (run_loader_shared) over
/// random machines: median error 0.4 %, 9 in 10 within 3 %, worst 10 % (two workers or more that share everything
/// equally).
#pragma once

#include "model/analytic/stall_curve.hpp"

namespace stallcast {

/// Seconds per batch of one rank on an idle machine, and what it shares.
struct ServiceDemands {
  int workers = 0;
  int prefetch = 2;
  bool in_order = true;
  double cores = 1.0;              ///< of this rank
  double device_s = 0.0;           ///< of the step: no core is needed
  double receive_s = 0.0;          ///< of the step: taking over a batch that is ready; to the consumer this is waiting
  double receive_cpu_s = 0.0;      ///< CPU seconds of receiving
  double step_cpu_s = 0.0;         ///< of the step: wall time of its computing when undisturbed
  double step_threads = 1.0;       ///< cores that it uses meanwhile
  double cpu_s = 0.0;              ///< of the making
  double other_s = 0.0;            ///< of the making: neither a core nor storage
  double latency_s = 0.0;          ///< of the making: waiting for storage, whoever else reads
  double disk_s = 0.0;             ///< of the making: service demand at the shared storage
  double limit_s = 0.0;            ///< the least time of a batch at that storage, which may have saved it up meanwhile
  bool limit_given = false;        ///< limit_s is the scenario's, not that of this storage as it was measured
  double prep_elsewhere_s = 0.0;   ///< the least time of a batch at hosts that only prepare
  double exchange_s = 0.0;         ///< of device_s: exchanging gradients
  double beyond_s = 0.0;           ///< the least time of a batch at what other nodes use as well
  bool beyond_is_network = false;  ///< that is the network, and not storage
  double cv_make = 0.0;
  double cv_step = 0.0;
};

struct StepTimes {
  double step_s = 0.0;       ///< from delivery to delivery
  double own_s = 0.0;        ///< the step itself, receiving included, as slow as the workers make it
  double making_s = 0.0;     ///< of one batch in one worker, all queueing included
  double core_slow = 1.0;    ///< how much longer computing takes in a worker for want of cores
  double disk_wait_s = 0.0;  ///< of the making: at the shared storage, queueing included
};

/// Steady state. Never faster than any stage alone.
[[nodiscard]] StepTimes evaluate(const ServiceDemands& input, StallCurves& curves);

/// How much longer service takes under processor sharing by `servers` among `present` others and Q more, each of `n`
/// there with probability p: one over the mean of min(1, servers / (1 + present + Q)).
[[nodiscard]] double mean_crowding(int n, double p, double present, double servers);

}  // namespace stallcast
