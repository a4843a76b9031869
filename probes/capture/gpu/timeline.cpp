#include "probes/capture/gpu/timeline.hpp"

#include <algorithm>
#include <utility>

namespace stallcast::gpu {
namespace {

constexpr std::uint64_t k_narrow_ns = 2'000'000;
constexpr std::uint64_t k_wide_ns = 200'000'000;  ///< a multiple of every width: where stretches are cut

using Span = std::pair<std::uint64_t, std::uint64_t>;
using Spans = std::vector<Span>;  // in order, apart from each other once merged

Spans merged(Spans spans) {
  std::sort(spans.begin(), spans.end());
  Spans out;
  for (const Span& span : spans) {
    if (!out.empty() && span.first <= out.back().second) {
      out.back().second = std::max(out.back().second, span.second);
    } else {
      out.push_back(span);
    }
  }
  return out;
}

/// What of `from` no span of `taken` covers; both merged.
Spans without(const Spans& from, const Spans& taken) {
  Spans out;
  std::size_t next = 0;
  for (auto [begin, end] : from) {
    while (next < taken.size() && taken[next].second <= begin) ++next;
    for (std::size_t i = next; i < taken.size() && taken[i].first < end; ++i) {
      if (taken[i].first > begin) out.emplace_back(begin, taken[i].first);
      begin = std::max(begin, std::min(end, taken[i].second));
    }
    if (begin < end) out.emplace_back(begin, end);
  }
  return out;
}

/// Adds each span's length to the bins that it lies in.
void spread(const Spans& spans, std::uint64_t begin_ns, std::uint64_t width_ns, std::vector<Bin>& bins,
            std::uint64_t Bin::*of) {
  for (auto [begin, end] : spans) {
    while (begin < end) {
      const std::uint64_t number = (begin - begin_ns) / width_ns;
      const std::uint64_t edge = std::min(end, begin_ns + (number + 1) * width_ns);
      bins[number].*of += edge - begin;
      begin = edge;
    }
  }
}

/// The part of what is pending that lies before `until_ns`; what lies beyond stays.
Spans take_before(std::vector<Interval>& pending, std::uint64_t until_ns) {
  Spans spans;
  std::vector<Interval> left;
  for (Interval& interval : pending) {
    if (interval.begin_ns < until_ns) spans.emplace_back(interval.begin_ns, std::min(interval.end_ns, until_ns));
    if (interval.end_ns <= until_ns) continue;
    if (interval.begin_ns < until_ns) {
      interval.begin_ns = until_ns;
      interval.bytes = 0;  // counted where it began
      interval.kernel = false;
    }
    left.push_back(interval);
  }
  pending = std::move(left);
  return merged(std::move(spans));
}

/// Cuts `bins` at gaps of more than a few empty ones.
void append_runs(std::uint32_t device, std::uint64_t begin_ns, std::uint64_t width_ns, const std::vector<Bin>& bins,
                 std::vector<Bins>& out) {
  constexpr std::size_t k_gap = 8;
  std::size_t empty = k_gap;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (bins[i].empty()) {
      ++empty;
      continue;
    }
    if (empty >= k_gap) {
      out.push_back({device, begin_ns + i * width_ns, width_ns, {}});
    } else {
      out.back().bins.resize(out.back().bins.size() + empty);
    }
    out.back().bins.push_back(bins[i]);
    empty = 0;
  }
}

}  // namespace

Timeline::Timeline(std::uint64_t begin_ns, std::uint64_t coarsen_after)
    : settled_ns_(begin_ns / k_wide_ns * k_wide_ns), width_ns_(k_narrow_ns), coarsen_after_(coarsen_after) {}

void Timeline::add(const Interval& interval) {
  Interval kept = interval;
  if (kept.begin_ns < settled_ns_) {
    ++late_;
    kept.begin_ns = settled_ns_;
  }
  if (kept.end_ns < kept.begin_ns) return;
  devices_[kept.device].of[static_cast<std::size_t>(kept.what)].push_back(kept);
  ++pending_count_;
}

std::uint64_t Timeline::earliest(const Pending& pending) {
  std::uint64_t first = UINT64_MAX;
  for (const auto& intervals : pending.of) {
    for (const Interval& interval : intervals) first = std::min(first, interval.begin_ns);
  }
  return first;
}

void Timeline::fold(std::uint32_t device, Pending& pending, std::uint64_t until_ns, std::vector<Bins>& out) const {
  // A rest of hours needs no bins.
  const std::uint64_t from_ns = std::max(settled_ns_, earliest(pending) / k_wide_ns * k_wide_ns);
  if (from_ns >= until_ns) return;
  std::vector<Bin> bins((until_ns - from_ns) / width_ns_);
  for (const auto& intervals : pending.of) {
    for (const Interval& interval : intervals) {
      if (interval.begin_ns >= until_ns) continue;
      Bin& bin = bins[(interval.begin_ns - from_ns) / width_ns_];
      if (interval.kernel) ++bin.kernels;
      if (interval.what != Activity::copy_in) continue;
      bin.bytes_in += interval.bytes;
      if (interval.pageable) bin.pageable_bytes += interval.bytes;
    }
  }
  std::array<Spans, k_activities> unions;
  for (std::size_t i = 0; i < k_activities; ++i) unions[i] = take_before(pending.of[i], until_ns);
  const auto& [busy, in, from, wait] = unions;
  Spans any = busy;
  any.insert(any.end(), in.begin(), in.end());
  any.insert(any.end(), from.begin(), from.end());
  const auto add = [&](const Spans& spans, std::uint64_t Bin::*of) { spread(spans, from_ns, width_ns_, bins, of); };
  add(busy, &Bin::busy_ns);
  add(in, &Bin::copy_in_ns);
  add(without(in, busy), &Bin::exposed_ns);
  add(from, &Bin::copy_out_ns);
  add(merged(std::move(any)), &Bin::any_ns);
  add(wait, &Bin::wait_ns);
  append_runs(device, from_ns, width_ns_, bins, out);
}

std::vector<Bins> Timeline::settle(std::uint64_t horizon_ns) {
  std::vector<Bins> out;
  const std::uint64_t until = horizon_ns / k_wide_ns * k_wide_ns;
  if (until <= settled_ns_) return out;
  pending_count_ = 0;
  for (auto& [device, pending] : devices_) {
    fold(device, pending, until, out);
    for (const auto& intervals : pending.of) pending_count_ += intervals.size();
  }
  for (const Bins& run : out) made_ += run.bins.size();
  settled_ns_ = until;
  if (made_ >= coarsen_after_ && width_ns_ < k_wide_ns) {
    width_ns_ *= 10;
    made_ = 0;
  }
  return out;
}

}  // namespace stallcast::gpu
