/// What the rules of next steps look at, and those of them that stand in files of their own. Internal to
/// next_steps*.cpp.
#pragma once

#include <optional>

#include "reports/findings/constants.hpp"
#include "reports/findings/derived.hpp"
#include "reports/findings/findings.hpp"

namespace stallcast::reports {

/// A profile, and the shares of a step that count as reasons: 0 where they are not known, or not told from 0.
struct Case {
  const Profile& p;
  Derived d;
  double wait = 0.0;
  double fetch = 0.0;
  double prep = 0.0;
  double receive = 0.0;
  double sampler = 0.0;

  [[nodiscard]] bool waits() const { return wait >= k_moderate_from; }
  [[nodiscard]] bool fetches() const { return fetch >= k_moderate_from; }
  [[nodiscard]] bool prepares() const { return prep >= k_moderate_from; }
  [[nodiscard]] bool has_workers() const { return d.workers && *d.workers > 0.0; }
  [[nodiscard]] bool cores_are_idle() const { return d.cores_free && *d.cores_free >= k_free_core; }
  [[nodiscard]] bool workers_queue() const { return d.run_delay && *d.run_delay >= k_queueing_from; }
  [[nodiscard]] bool cores_are_free() const { return cores_are_idle() && !workers_queue(); }
  [[nodiscard]] bool cores_are_busy() const { return d.cores_free && *d.cores_free < k_free_core; }
  [[nodiscard]] bool over_network() const { return is_over_network(p); }
  /// The verdict is about storage, while what was found came from memory.
  [[nodiscard]] bool was_in_memory() const {
    const auto& stored = p.resources.bytes_from_storage;
    return d.cold && stored && *stored < k_from_storage_from;
  }
  [[nodiscard]] bool from_storage() const {
    return d.cold || !p.resources.bytes_from_storage || *p.resources.bytes_from_storage >= k_from_storage_from;
  }
};

using Rule = std::optional<NextStep> (*)(const Case&);

[[nodiscard]] bool has_issue(const Case& c, const char* id);

// Of runs that tell little (next_steps_unmeasured.cpp)
[[nodiscard]] std::optional<NextStep> make_it_run(const Case& c);
[[nodiscard]] std::optional<NextStep> no_loader(const Case& c);
[[nodiscard]] std::optional<NextStep> run_longer(const Case& c);
[[nodiscard]] std::optional<NextStep> look_within(const Case& c);

}  // namespace stallcast::reports
