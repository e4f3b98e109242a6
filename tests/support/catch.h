#pragma once
// Catch2 2.13 and 3 differ in their headers and in where Approx and the matchers live.
#ifdef ATTN_CATCH2_V3
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
