#!/usr/bin/env python3
"""Writes recurrent_values.h: what PyTorch's GRU and LSTM give for two sentences of different length.

    python3 make_recurrent_values.py > recurrent_values.h && clang-format -i recurrent_values.h

Needs PyTorch (python3-torch). Element j of parameter n (in the order of named_parameters) is 0.5 sin(0.37 j + n);
inputs are cos(0.9 j). The loss weighs outputs by sin(0.5 j), states by cos(j) and cells by sin(j).
"""
import torch

torch.set_default_dtype(torch.float64)
STEPS, BATCH, INPUTS, HIDDEN, LAYERS = 4, 2, 3, 2, 2


def numbered(like):
    return torch.arange(float(like.numel())).reshape(like.shape)


def by_layer(states, directions):
    """[layers * directions, batch, hidden] -> [layers, batch, directions * hidden]"""
    apart = states.reshape(LAYERS, directions, BATCH, HIDDEN)
    return apart.permute(0, 2, 1, 3).reshape(LAYERS, BATCH, directions * HIDDEN)


def row(name, values):
    print(f"     .{name} = {{{', '.join(f'{value:.12g}' for value in values.detach().flatten().tolist())}}},")


def case(kind, bidirectional):
    module = getattr(torch.nn, kind)(INPUTS, HIDDEN, num_layers=LAYERS, bidirectional=bidirectional)
    for number, (_, parameter) in enumerate(module.named_parameters()):
        parameter.data.copy_(0.5 * torch.sin(0.37 * numbered(parameter) + number))
    x = torch.cos(0.9 * numbered(torch.empty(STEPS, BATCH, INPUTS))).requires_grad_()
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor([4, 2]))
    outputs, state = module(packed)
    outputs, _ = torch.nn.utils.rnn.pad_packed_sequence(outputs, total_length=STEPS)  # 0 at the padding
    directions = 2 if bidirectional else 1
    states, cells = state if kind == "LSTM" else (state, torch.zeros(0))
    states = by_layer(states, directions)
    loss = (outputs * torch.sin(0.5 * numbered(outputs))).sum() + (states * torch.cos(numbered(states))).sum()
    if kind == "LSTM":
        cells = by_layer(cells, directions)
        loss = loss + (cells * torch.sin(numbered(cells))).sum()
    loss.backward()
    gradients = dict(module.named_parameters())
    print(f"    {{.cell = RecurrentCell::{kind.lower()}, .bidirectional = {str(bidirectional).lower()},")
    row("outputs", outputs)
    row("states", states)
    row("cells", cells)
    row("x_gradient", x.grad)
    row("weight_hh_l1_gradient", gradients["weight_hh_l1"].grad)
    row("bias_hh_l0_gradient", gradients["bias_hh_l0"].grad)
    print("    },")


print("""#pragma once
// Made by make_recurrent_values.py with PyTorch; not to be edited.
#include <vector>

#include "attn/nn/recurrent.h"

namespace attn::test {

struct RecurrentValues {
  RecurrentCell cell;
  bool bidirectional;
  std::vector<double> outputs, states, cells, x_gradient, weight_hh_l1_gradient, bias_hh_l0_gradient;
};

inline const std::vector<RecurrentValues> recurrent_values = {""")
case("GRU", True)
case("LSTM", False)
case("LSTM", True)
print("""};

}  // namespace attn::test""")
