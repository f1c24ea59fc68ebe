// Identifies a filter for a known blur with the installed library.
#include <ocellus/identification.h>

#include <cmath>
#include <cstdio>

int main() {
  const auto psf = ocellus::gaussian_psf(1.2);
  if (!psf) return 1;
  ocellus::IdentificationConfig config;
  config.support = 3;
  const auto found =
      ocellus::identify_from_psf(psf->values.data(), psf->width, psf->height, 2.0, config);
  if (!found) {
    std::fprintf(stderr, "%s\n", found.error().text);
    return 1;
  }
  std::printf("largest root %.3f, gain %.3f\n", found->properties.largest_root,
              found->properties.gain);
  return std::fabs(found->properties.gain - 1.0) < 0.1 ? 0 : 1;
}
