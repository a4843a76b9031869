#include "core/quantity.hpp"

stallcast::SecondsPerSample per_sample() {
  return stallcast::Samples(1.0) / stallcast::Seconds(1.0);
}
