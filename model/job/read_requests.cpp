#include "model/job/read_requests.hpp"

#include <algorithm>
#include <cmath>

namespace stallcast {
namespace {

constexpr double k_page = 4096.0;

double whole_pages(double bytes) {
  return std::ceil(bytes / k_page) * k_page;
}

/// get_init_ra_size() of the kernel.
double first_window(double bytes, double most) {
  double window = k_page;
  while (window < bytes) window *= 2.0;
  if (window <= most / 32.0) return window * 4.0;
  return window <= most / 4.0 ? window * 2.0 : most;
}

/// get_next_ra_size().
double next_window(double before, double most) {
  if (before < most / 16.0) return before * 4.0;
  return before <= most / 2.0 ? before * 2.0 : most;
}

}  // namespace

double read_requests(double bytes, double call_bytes, double read_ahead) {
  const double file = whole_pages(std::max(1.0, bytes));
  const double call = std::min(whole_pages(call_bytes), file);
  const double most = std::max(read_ahead, std::min(call, k_largest_request));
  double window = std::min(first_window(call, most), file);
  double fetched = window;
  double requests = std::ceil(window / k_largest_request);
  while (fetched < file) {
    if (window >= most) {  // it grows no more
      return requests + std::ceil((file - fetched) / most) * std::ceil(most / k_largest_request);
    }
    window = next_window(window, most);
    fetched += std::min(window, file - fetched);
    ++requests;
  }
  return requests;
}

}  // namespace stallcast
