// Gradients of whole models, dropout included, against central differences in f64.
#include "model_support.h"

namespace {

using namespace attn;
using namespace attn::test;

constexpr double step = 1e-5, tolerance = 1e-6;
constexpr std::int64_t steps = 4;

// A weight for every token, so that no token's gradient can stand for another's.
Tensor weighted_loss(const TranslationModel& model, const Tensor& random) {
  Context context = random.defined() ? Context(random) : Context();
  const auto logits = model.forward(small_source.batch(), small_input.batch(), context);
  const Tensor losses = token_losses(logits, small_labels, steps);
  const std::vector<double> by_batch = {0.5, 1.25, -0.75, 2.0, 1.5, 0.25, 0.0, 0.0};
  const auto weights =
      logits.order == TokenOrder::batch_major ? by_batch : permuted(by_batch, {2, steps, 1}, {1, 0, 2});
  return ops::sum(ops::multiply(losses, Tensor::from<double>(model.device(), weights, losses.shape())));
}

// The gradient of every element of the flat tensor of parameters.
std::vector<double> central_differences(const TranslationModel& model, const Tensor& random) {
  const Tensor flat = model.parameters().flat();
  std::vector<double> values = flat.to_vector<double>(), result;
  for (double& element : values) {
    const auto loss_at = [&](double value) {
      element = value;
      flat.assign<double>(values);
      return weighted_loss(model, random).item();
    };
    const double before = element, above = loss_at(before + step), below = loss_at(before - step);
    element = before;
    result.push_back((above - below) / (2 * step));
  }
  flat.assign<double>(values);
  return result;
}

void check_gradients(const NamedConfig& named, const std::shared_ptr<Device>& device, const Tensor& random) {
  INFO(named.name);
  const auto model = make_small(named.config, device);
  ParameterStore& store = model->parameters();
  const auto expected = central_differences(*model, random);
  Tape tape;
  store.train_with(tape);
  tape.backward(weighted_loss(*model, random));
  CHECK(relative_difference(store.flat_gradients().to_vector<double>(), expected) < tolerance);
  const Tensor differences = Tensor::from<double>(device, expected, store.flat().shape());
  for (const ParameterHandle& parameter : store.all()) {
    INFO(parameter->path);
    const auto found = parameter->gradient.to_vector<double>();
    CHECK(relative_difference(found, store.part(differences, *parameter).to_vector<double>()) < tolerance);
  }
}

}  // namespace

TEST_CASE("gradients of every model agree with central differences, with dropout") {
  const auto device = Device::open("reference");
  for (const NamedConfig& named : small_models(0.25))
    check_gradients(named, device, dropout_counter(device, 3, 11));
}

TEST_CASE("gradients of every model agree with central differences, without dropout") {
  const auto device = Device::open("reference");
  for (const NamedConfig& named : small_models(0.0)) check_gradients(named, device, {});
}

TEST_CASE("gradients of recurrent models agree with central differences where the padding is encoded") {
  const auto device = Device::open("reference");
  for (NamedConfig named : small_recurrent_models(0.25)) {
    named.config.encode_padding = true;
    check_gradients(named, device, dropout_counter(device, 3, 11));
  }
}

TEST_CASE("every backend gives the gradients of the reference, with dropout") {
  const auto reference = Device::open("reference");
  const auto gradients = [](const NamedConfig& named, const std::shared_ptr<Device>& device, DType type) {
    const auto model = make_small(named.config, device, type);
    Tape tape;
    model->parameters().train_with(tape);
    Context context(dropout_counter(device, 3, 11));
    const auto logits = model->forward(small_source.batch(), small_input.batch(), context);
    tape.backward(ops::sum(token_losses(logits, small_labels, steps)));
    return model->parameters().flat_gradients().to_vector<double>();
  };
  for (const Setting& setting : settings()) {
    for (const NamedConfig& named : small_models(0.25)) {
      INFO(setting.name << ", " << named.name);
      CHECK(relative_difference(gradients(named, setting.device, setting.type),
                                gradients(named, reference, DType::f64)) < setting.tolerance);
    }
  }
}
