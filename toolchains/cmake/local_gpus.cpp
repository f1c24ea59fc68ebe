// Prints the compute capabilities of this machine's GPUs, such as "87" or "90;120", or nothing. It
// asks the driver itself, because Jetson has no nvidia-smi everywhere.
#include <dlfcn.h>

#include <cstdio>
#include <set>

int main() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return 0;
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto count_devices = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
  const auto get_device = reinterpret_cast<int (*)(int*, int)>(dlsym(driver, "cuDeviceGet"));
  const auto get_attribute =
      reinterpret_cast<int (*)(int*, int, int)>(dlsym(driver, "cuDeviceGetAttribute"));
  if (init == nullptr || count_devices == nullptr || get_device == nullptr ||
      get_attribute == nullptr) {
    return 0;
  }
  constexpr int kComputeCapabilityMajor = 75, kComputeCapabilityMinor = 76;
  int count = 0;
  if (init(0) != 0 || count_devices(&count) != 0) return 0;
  std::set<int> capabilities;
  for (int i = 0; i < count; ++i) {
    int device = 0, major = 0, minor = 0;
    if (get_device(&device, i) == 0 &&
        get_attribute(&major, kComputeCapabilityMajor, device) == 0 &&
        get_attribute(&minor, kComputeCapabilityMinor, device) == 0) {
      capabilities.insert(10 * major + minor);
    }
  }
  const char* separator = "";
  for (const int capability : capabilities) {
    std::printf("%s%d", separator, capability);
    separator = ";";
  }
  return 0;
}
