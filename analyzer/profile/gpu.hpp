/// What a profile says of GPUs: a part of profile/profile.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/measured.hpp"
#include "core/quantity.hpp"

namespace stallcast {

/// A device that a rank used.
struct GpuDevice {
  std::int64_t rank = 0;
  std::int64_t pid = 0;
  std::int64_t device = 0;
  std::string name{};
  Measured<Bytes> memory{};
  Measured<std::int64_t> multiprocessors{};
  std::string pci{};
  std::string link{};  ///< of PCIe, "32.0 GT/s PCIe x16"; empty: not known
};

/// What the GPUs did in the steps as found, by CUPTI's records; means over steps and devices. Busy is the time in which
/// at least one kernel (or fill, or copy within the device) ran, not the driver's "utilization".
struct Gpu {
  std::string source{};   ///< CUPTI; nothing: there is a GPU and nobody could look; empty: no GPU was used
  std::string library{};  ///< the libcupti that was used
  std::vector<GpuDevice> devices{};
  MeasuredEstimate<Fraction> busy{};      ///< of the time of a step
  MeasuredEstimate<Fraction> exposed{};   ///< copying to the device while nothing computed and no batch was waited for
  MeasuredEstimate<Fraction> idle{};      ///< neither computing nor copying
  MeasuredEstimate<Fraction> starved{};   ///< the part of idle in which a batch was waited for
  MeasuredEstimate<Seconds> busy_time{};  ///< in one optimizer step; likewise below
  MeasuredEstimate<Seconds> copy_in_time{};  ///< copying to the device
  MeasuredEstimate<Seconds> exposed_time{};
  Measured<Bytes> bytes_in{};
  Measured<double> kernels{};
  Measured<Fraction> pageable{};  ///< of bytes_in, from memory that is not pinned
  std::int64_t dropped = 0;       ///< records for which there was no memory
};

}  // namespace stallcast
