#include "analyzer/steps/by_turns.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

#include "analyzer/steps/constants.hpp"

namespace stallcast {
namespace {

std::vector<Turn> in_order(const Consumer& consumer) {
  std::vector<Turn> all;
  for (const Pass& pass : consumer.passes) {
    for (const Delivery& delivery : pass.deliveries) all.push_back({&pass, &delivery});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Turn& a, const Turn& b) { return a.delivery->wait.end_ns < b.delivery->wait.end_ns; });
  return all;
}

/// Of one pass: how many of its batches were trained on at once, and when it gave its first and its last.
struct Course {
  std::size_t trained = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
};

std::map<const Pass*, Course> courses_of(const std::vector<Turn>& all, const Consumer& consumer) {
  std::map<const Pass*, Course> courses;
  auto step = consumer.steps.begin();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::uint64_t from_ns = all[i].delivery->wait.end_ns;
    const std::uint64_t asked_ns = i + 1 < all.size() ? all[i + 1].delivery->wait.begin_ns : UINT64_MAX;
    while (step != consumer.steps.end() && step->time_ns < from_ns) ++step;
    Course& course = courses[all[i].pass];
    if (course.begin_ns == 0) course.begin_ns = from_ns;
    course.end_ns = from_ns;
    if (step == consumer.steps.end() || step->time_ns > asked_ns) continue;
    ++course.trained;
    ++step;  // where nothing was waited for, it is as late as the next batch
  }
  return courses;
}

}  // namespace

std::vector<Turn> turns_of(const Consumer& consumer) {
  std::vector<Turn> all = in_order(consumer);
  std::map<const Pass*, Course> courses = courses_of(all, consumer);
  std::erase_if(courses, [](const auto& each) {
    const auto& [pass, course] = each;
    const auto batches = static_cast<double>(pass->deliveries.size());
    return pass->deliveries.size() < k_fewest_batches_by_turns ||
           static_cast<double>(course.trained) < k_trained_at_once * batches;
  });
  const auto takes_turns = [&courses](const auto& each) {
    return std::any_of(courses.begin(), courses.end(), [&each](const auto& other) {
      return other.first != each.first && other.second.begin_ns < each.second.end_ns &&
             each.second.begin_ns < other.second.end_ns;
    });
  };
  std::erase_if(all, [&](const Turn& turn) {
    const auto found = courses.find(turn.pass);
    return found == courses.end() || !takes_turns(*found);
  });
  // Waits that overlap are those of several threads, each with a training of its own.
  const bool overlap = std::adjacent_find(all.begin(), all.end(), [](const Turn& a, const Turn& b) {
                         return b.delivery->wait.begin_ns < a.delivery->wait.end_ns;
                       }) != all.end();
  if (overlap) all.clear();
  return all;
}

std::map<const Pass*, std::size_t> trained_at_once(const Consumer& consumer) {
  std::map<const Pass*, std::size_t> trained;
  for (const auto& [pass, course] : courses_of(in_order(consumer), consumer)) trained[pass] = course.trained;
  return trained;
}

}  // namespace stallcast
