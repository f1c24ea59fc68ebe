// Equation (3) of Ohmura et al. 2011 in double precision: the weighted 2x2 solution from three
// derivative planes.
#pragma once

#include <vector>

#include "ocellus/optical_flow.h"
#include "support/plane.h"

namespace ocellus::reference {

struct Flow {
  double u = 0.0;
  double v = 0.0;
  double smaller = 0.0;  ///< the smaller eigenvalue of the structure tensor: the confidence
  double larger = 0.0;
};

/// Gaussian weights of an odd window with sum 1. An infinite sigma gives a box.
std::vector<double> window_weights(int window, double sigma);

/// The sigma of a configuration's window, infinite for a box.
double window_sigma(const OpticalFlowConfig& config);

/// Sums over the window around (x, y). Derivatives outside the planes repeat the nearest one.
Flow solve_at(const test::PlaneD& ix, const test::PlaneD& iy, const test::PlaneD& it, int window,
              double sigma, int x, int y);

}  // namespace ocellus::reference
