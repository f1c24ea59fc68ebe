// A driver with GPUs of the compute capabilities in OCELLUS_TEST_GPUS, such as "8.7 9.0".
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {
int major_of(int device, int* minor) {
  const char* text = std::getenv("OCELLUS_TEST_GPUS");
  int major = 0;
  for (int i = 0; i <= device; ++i) {
    int length = 0;
    if (std::sscanf(text, "%d.%d%n", &major, minor, &length) != 2) return 0;
    text += length;
  }
  return major;
}
}  // namespace

extern "C" {
int cuInit(unsigned) {
  return std::getenv("OCELLUS_TEST_GPUS") == nullptr ? 100 : 0;
}
int cuDeviceGetCount(int* count) {
  int minor = 0;
  for (*count = 0; major_of(*count, &minor) != 0;) ++*count;
  return 0;
}
int cuDeviceGet(int* device, int i) {
  *device = i;
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  int minor = 0;
  const int major = major_of(device, &minor);
  *value = attribute == 75 ? major : minor;
  return attribute == 75 || attribute == 76 ? 0 : 1;
}
}
