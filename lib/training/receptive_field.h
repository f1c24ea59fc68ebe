// Receptive fields of free inputs, chosen by mutual information.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ocellus::detail {

/// I of each input in (g) of ocellus/cortex_training.h, in nats. `active`: P_m, whose sum is 1;
/// `joint`: P_im, [minicolumn][input].
std::vector<double> mutual_information(std::span<const double> active,
                                       std::span<const double> joint);

/// Exchanges inputs of a field for others with more information: the least for the most, as long
/// as there is a gain, at most `exchanges` of them. `field`: numbers of inputs, ascending before
/// and after. The lower number decides between equals. Returns the number of exchanges.
int rewire(std::span<std::uint16_t> field, std::span<const double> information, int exchanges);

/// A random field: `field.size()` of `inputs` inputs, ascending. `hypercolumn` has its own one.
void draw_field(std::uint64_t seed, int hypercolumn, int inputs, std::span<std::uint16_t> field);

}  // namespace ocellus::detail
