#include "probes/capture/gpu/devices.hpp"

#include <cuda.h>
#include <dlfcn.h>

#include <array>
#include <cctype>
#include <fstream>

namespace stallcast::gpu {
namespace {

template <class Function>
Function* driver_function(const char* name) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  return driver != nullptr ? reinterpret_cast<Function*>(dlsym(driver, name)) : nullptr;
}

std::string line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

DeviceFacts device_facts(std::uint32_t device) {
  DeviceFacts facts;
  facts.device = device;
  const auto get = driver_function<CUresult(CUdevice*, int)>("cuDeviceGet");
  const auto name_of = driver_function<CUresult(char*, int, CUdevice)>("cuDeviceGetName");
  const auto memory_of = driver_function<CUresult(std::size_t*, CUdevice)>("cuDeviceTotalMem_v2");
  const auto attribute_of = driver_function<CUresult(int*, CUdevice_attribute, CUdevice)>("cuDeviceGetAttribute");
  const auto pci_of = driver_function<CUresult(char*, int, CUdevice)>("cuDeviceGetPCIBusId");
  CUdevice handle{};
  if (get == nullptr || get(&handle, static_cast<int>(device)) != CUDA_SUCCESS) return facts;
  std::array<char, 256> text{};
  if (name_of != nullptr && name_of(text.data(), static_cast<int>(text.size()) - 1, handle) == CUDA_SUCCESS) {
    facts.name = text.data();
  }
  std::size_t bytes = 0;
  if (memory_of != nullptr && memory_of(&bytes, handle) == CUDA_SUCCESS) facts.memory_bytes = bytes;
  int count = 0;
  if (attribute_of != nullptr &&
      attribute_of(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, handle) == CUDA_SUCCESS) {
    facts.multiprocessors = count;
  }
  text.fill('\0');
  if (pci_of == nullptr || pci_of(text.data(), static_cast<int>(text.size()) - 1, handle) != CUDA_SUCCESS) return facts;
  for (const char* c = text.data(); *c != '\0'; ++c) {
    facts.pci += static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
  }
  facts.link_speed = line_of("/sys/bus/pci/devices/" + facts.pci + "/current_link_speed");
  facts.link_width = line_of("/sys/bus/pci/devices/" + facts.pci + "/current_link_width");
  return facts;
}

}  // namespace stallcast::gpu
