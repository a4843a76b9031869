/// Profiles of jobs whose samples lie in files of their own, on storage that was probed.
#pragma once

#include <cmath>

#include "tests/model/made_profile.hpp"

namespace stallcast::made {

inline Distribution all_of(double value) {
  Distribution out;
  for (int i = 0; i < 100; ++i) out.add(value);
  return out;
}

/// Files of one sample each, read in calls of 64 KiB; opens and stats take `metadata_share` of the reading.
inline Profile in_files(const TrueJob& job, double metadata_share = 0.25) {
  Profile profile = profile_of(job);
  profile.dataset.layout = "files";
  profile.dataset.file_size_bytes = all_of(job.sample_bytes);
  auto& seen = profile.resources.distributions;
  const double read_s = profile.resources.read->mean.value();
  seen["sample_read_s"] = all_of(read_s);
  seen["sample_metadata_s"] = all_of(metadata_share * read_s);
  seen["sample_bytes"] = all_of(job.sample_bytes);
  seen["sample_opens"] = all_of(1.0);
  seen["sample_reads"] = all_of(std::ceil(job.sample_bytes / 65536.0));
  return profile;
}

/// What a storage probe saw of one reader, and of many.
inline void probe(Profile& profile, double first_byte_s, double stream, double ceiling) {
  const auto within = [](auto value) { return Estimate<decltype(value)>{value, 0.97 * value, 1.03 * value, 20}; };
  profile.storage.path = "/data";
  profile.storage.read = "whole_file";
  profile.storage.read_size = Bytes(profile.dataset.bytes_per_sample->value());
  profile.storage.ceiling_bandwidth = within(BytesPerSecond(ceiling));
  profile.storage.saved = 0.0;
  profile.storage.first_byte = within(Seconds(first_byte_s));
  profile.storage.stream_bandwidth = within(BytesPerSecond(stream));
}

}  // namespace stallcast::made
