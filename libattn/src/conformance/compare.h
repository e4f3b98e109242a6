#pragma once
// How far a result may be from the reference.
#include <string>

#include "attn/conformance/conformance.h"
#include "case.h"

namespace attn::conformance {

/// How far one output is from what it should be.
struct Difference {
  double nmse = 0;    ///< mean squared error over the mean square of the reference
  double error = 0;   ///< largest |a - b| / (atol scale + rtol |b|); infinite for a NaN out of place
  std::string worst;  ///< the element that it is largest at, found and expected

  bool within(const Bounds& bounds) const { return error <= 1 && nmse <= bounds.nmse; }
};

/// `expected` is in f64 and is rounded to the type of `found` first, so that what overflows there may be
/// infinite. With exact = true anything but equality is an infinite error.
Difference compare(const CaseTensor& found, const CaseTensor& expected, double magnitude, bool exact);

/// "[3, 0, 7]" for element `index`.
std::string position_of(const Shape& shape, std::size_t index);

}  // namespace attn::conformance
