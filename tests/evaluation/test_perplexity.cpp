#include <cmath>

#include "attn/evaluation/perplexity.h"
#include "support/catch.h"
#include "support/error_of.h"

using namespace attn;

TEST_CASE("perplexity is the exponential of the mean negative log-likelihood") {
  CHECK(perplexity(0.0, 3) == 1.0);
  CHECK(perplexity(4.0 * std::log(10.0), 4) == Approx(10.0));
}

TEST_CASE("perplexity of a huge loss is infinite and of no tokens an error") {
  CHECK(std::isinf(perplexity(1e6, 1)));
  CHECK(std::isnan(perplexity(std::nan(""), 1)));
  const auto error = test::error_of([] { perplexity(1.0, 0); });
  REQUIRE(error);
  CHECK(error->code() == ExitCode::input_data);
}
