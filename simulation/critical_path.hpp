/// Walks a finished run back from its end: which stage, at each moment, was the one that could not have been later.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "simulation/loader.hpp"

namespace stallcast::simulation {

/// Why the making of a batch began when it did.
enum class BegunBy : std::uint8_t {
  start,     ///< the iterator's start
  worker,    ///< its worker had to finish the batch before
  delivery,  ///< its index was sent when an earlier batch was delivered
};

/// What the walk needs to know of one delivery. Indices count deliveries.
struct Link {
  BegunBy begun_by = BegunBy::start;
  bool waited = false;        ///< the consumer had asked before the batch was ready
  std::size_t before = 0;     ///< the delivery of the batch that the worker made before, or that sent the index
  double cores_s = 0.0;       ///< of the making: while more wanted cores than there are
  double storage_s = 0.0;     ///< of the making: while more read than the disk serves at once
  double making_s = 0.0;      ///< all of the making, the above included
  double step_cores_s = 0.0;  ///< as cores_s, of the step that follows this delivery
  double step_s = 0.0;        ///< all of that step
};

/// Fills run.critical_s and run.binding. `link_of(i)` gives the Link of the i-th delivery.
template <class LinkOf>
void find_critical_path(std::size_t deliveries, LinkOf link_of, LoaderRun& run) {
  auto& seconds = run.critical_s;
  const auto add = [&seconds](Binding binding, double s) { seconds[static_cast<std::size_t>(binding)] += s; };
  std::size_t remaining = deliveries;
  bool step_counts = true;     // the step after this delivery lies on the path
  bool delivered_here = true;  // the path came to the delivery, not to the end of the batch's making
  while (remaining > 0) {
    const Link link = link_of(remaining - 1);
    if (step_counts) {
      add(Binding::cores, link.step_cores_s);
      add(Binding::step, link.step_s - link.step_cores_s);
    }
    if (delivered_here && !link.waited) {
      --remaining;
      step_counts = true;
      continue;
    }
    add(Binding::cores, link.cores_s);
    add(Binding::storage, link.storage_s);
    add(Binding::worker, link.making_s - link.cores_s - link.storage_s);
    if (link.begun_by == BegunBy::start) break;
    remaining = link.before + 1;
    step_counts = false;
    delivered_here = link.begun_by == BegunBy::delivery;
  }
  const auto largest = std::max_element(seconds.begin(), seconds.end());
  run.binding = static_cast<Binding>(largest - seconds.begin());
}

}  // namespace stallcast::simulation
