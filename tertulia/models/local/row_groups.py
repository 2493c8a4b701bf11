"""Keys and values of rows that continue prefixes: of one prefix, or of several of about the same length.

A `Group` is the rows of one prefix. A `Stack` has several prefixes in one tensor per layer, so that one product serves
all: the prefixes end at one column and are padded in front, and behind them it is as in a group.

Shapes: R rows of a prefix, G prefixes, P tokens of the longest, H query heads, K key-value heads, d head size, n new
tokens, t reply tokens that there is room for, T columns.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import torch
from torch import Tensor, nn

from tertulia.models.local.prefix import Prefix

#: Tokens of the replies for which room is made at a time.
GROWTH = 32

#: Prefixes share a tensor if the shortest has at least this share of the longest's tokens, and as many rows.
_ALIKE = 0.7

#: Prefixes without new tokens that a product may bridge: it is cheaper than two products.
_BRIDGED = 2


class Options(Protocol):
    """The options of a layer's attention that a group looks at (`attention.AttentionOptions`)."""

    @property
    def scaling(self) -> float:
        """Factor on the logits."""

    @property
    def window(self) -> int | None:
        """Width of the sliding window in tokens; `None` if there is none."""


class Group:
    """Rows of one prefix, with their keys and values in one tensor per layer, `(K, P + R · t, d)`.

    Behind the prefix there is a column per row for the first token of the replies, then for the second, and so on. A
    token attends to the prefix and to its row's columns up to its own; the others are masked. So a single product
    serves all R rows, and a row that goes back leaves nothing to be moved.

    Attributes:
        rows: Their numbers in the state.
        tokens: The places of their new tokens among those of all groups, in the forward pass under way.
        keys, values: By layer.
    """

    def __init__(self, prefix: Prefix, rows: list[int]) -> None:
        """Make rows that have read nothing yet."""
        self.rows = rows
        self.tokens = slice(0, 0)
        self.keys, self.values = list(prefix.keys), list(prefix.values)
        self._length = prefix.length
        self._masks: dict[int | None, Tensor] = {}
        self._biases: dict[tuple[int | None, int], Tensor] = {}
        self._both: dict[int, Tensor] = {}
        self._attention: Tensor | None = None
        self._heads = 1

    @property
    def columns(self) -> int:
        """How many columns the new tokens look at, or that there will be room for."""
        return self._length + len(self.rows) * (self._needed + GROWTH)

    def begin(self, start: int, new: Sequence[int], lengths: Sequence[int], device: torch.device) -> int:
        """Begin a forward pass in which each row reads so many tokens; return the next group's first place."""
        self.tokens = slice(start, start + sum(new))
        # by new token: its row's number in the group, and its position in the reply
        self._of_row = torch.tensor([i for i, n in enumerate(new) for _ in range(n)], device=device)
        positions = [lengths[row] + i for row, n in zip(self.rows, new, strict=True) for i in range(n)]
        self._positions = torch.tensor(positions, device=device)
        self._columns = self._length + self._positions * len(self.rows) + self._of_row
        self._needed = max(positions, default=-1) + 1
        self._masks.clear()
        self._biases.clear()
        self._attention = None
        return self.tokens.stop

    def store(self, layer: int, keys: Tensor, values: Tensor) -> None:
        """Put the keys and values of the new tokens, `(K, tokens, d)` of all groups, into their columns."""
        if not self._needed:
            return
        columns = self._length + len(self.rows) * self._needed
        for tensors, new in ((self.keys, keys), (self.values, values)):
            tensor = tensors[layer]
            if tensor.dim() == 1 or tensor.shape[1] < columns:
                # Never a part of a tensor: in bfloat16 it would be copied for every product.
                grown = new.new_zeros(new.shape[0], columns + len(self.rows) * GROWTH, new.shape[2])
                if tensor.dim() > 1:
                    grown[:, : tensor.shape[1]] = tensor
                tensors[layer] = tensor = grown
                self._both.pop(layer, None)
            tensor.index_copy_(1, self._columns, new[:, self.tokens])

    def attend(self, layer: int, turned: Tensor, heads: int, options: Options, *, captures: bool) -> Tensor:
        """Return the attention of new tokens, all of this group, `(H, n, d)`, and store their keys and values.

        The digits are those of `store`, `masked_logits` and `attention`'s further steps.

        Args:
            turned: Queries, keys and values of the tokens, `(H + 2 K, n, d)` in float32.
            heads: H.
            options: The scaling and the window of the layer.
            captures: Whether the weights are captured.
        """
        n, size = turned.shape[1:]
        keys, values = self._stored_both(layer, turned[heads:]).chunk(2)
        queries = turned[:heads].reshape(len(keys), -1, size)
        bias = self._bias(queries, n, keys.shape[1], 0, options.window)
        weights = torch.baddbmm(bias, queries, keys.transpose(1, 2), alpha=options.scaling).softmax(-1)
        if captures:
            self.capture(weights.view(1, heads, n, -1), 0)
        return torch.bmm(weights, values).view(heads, n, size)

    def _stored_both(self, layer: int, new: Tensor) -> Tensor:
        """Put the keys and values of the new tokens, `(2 K, n, d)`, into their columns; return all, in one tensor."""
        columns = self._length + len(self.rows) * self._needed
        both = self._both.get(layer)
        if both is None or both.shape[1] < columns:
            former = self.keys[layer], self.values[layer]
            has_room = former[0].dim() > 1 and former[0].shape[1] >= columns
            room = former[0].shape[1] if has_room else columns + len(self.rows) * GROWTH
            self._both[layer] = both = new.new_zeros(new.shape[0], room, new.shape[2])
            for part, tensor in zip(both.chunk(2), former, strict=True):
                if tensor.dim() > 1:
                    part[:, : tensor.shape[1]] = tensor
            self.keys[layer], self.values[layer] = both.chunk(2)
        return both.index_copy_(1, self._columns, new)

    def mask(self, logits: Tensor, first: int, window: int | None) -> None:
        """Mask the attention logits `(1, H, n, P + R · t)` of the new tokens from `first` on, in place."""
        columns, n = logits.shape[3], logits.shape[2]
        if window is not None and window >= self._length + self._needed:
            window = None
        if window not in self._masks:
            behind = torch.arange(columns - self._length, device=logits.device)
            positions, of_row = behind // len(self.rows), behind % len(self.rows)
            mask = (of_row != self._of_row[:, None]) | (positions > self._positions[:, None])
            if window is not None:
                positions = torch.cat([torch.arange(-self._length, 0, device=logits.device), positions])
                mask = nn.functional.pad(mask, (self._length, 0))
                mask |= self._positions[:, None] - positions >= window
            self._masks[window] = mask
        mask = self._masks[window][first : first + n]
        logits[..., columns - mask.shape[1] :].masked_fill_(mask, -torch.inf)

    def masked_logits(self, query: Tensor, key: Tensor, scaling: float, first: int, window: int | None) -> Tensor:
        """Return the attention logits of queries `(1, H, n, d)` and keys `(K, P + R · t, d)`, masked: one product.

        The queries are those of the new tokens from `first` on; the logits are `(1, H, n, P + R · t)`.
        """
        _, heads, n, size = query.shape
        queries = query.reshape(len(key), -1, size)
        bias = self._bias(queries, n, key.shape[1], first, window)
        masked = torch.baddbmm(bias, queries, key.transpose(1, 2), alpha=scaling)
        return masked.view(1, heads, n, key.shape[1])

    def _bias(self, queries: Tensor, n: int, columns: int, first: int, window: int | None) -> Tensor:
        """Return the bias that masks the logits of n tokens, from `first` on; their queries are `(K, H / K · n, d)`."""
        if (window, first) not in self._biases:
            bias = queries.new_zeros(1, 1, n, columns)
            self.mask(bias, first, window)
            self._biases[window, first] = bias[0].expand(queries.shape[1] // n, n, columns).reshape(-1, columns)
        return self._biases[window, first]

    def capture(self, weights: Tensor, first: int) -> None:
        """Add the attention weights `(1, H, n, P + R · t)` of one layer, of the new tokens from `first` on."""
        if self._attention is None:
            self._attention, self._heads = weights.new_zeros(len(self._positions), weights.shape[3]), weights.shape[1]
        self._attention[first : first + weights.shape[2]] += weights[0].sum(0)

    def write_attention(self, captured: Tensor) -> None:
        """Write the attention of this forward pass into that of all rows, `(B, T, P + 1)`: the mean over heads."""
        if self._attention is None:
            return
        rows, prompt = torch.tensor(self.rows, device=captured.device)[self._of_row], self._length
        captured[rows, self._positions, :prompt] = self._attention[:, :prompt] / self._heads
        # each row's first column is the prompt's last token
        own = self._attention.gather(1, prompt + self._of_row[:, None])[:, 0]
        captured[rows, self._positions, prompt] = own / self._heads


@dataclass(frozen=True)
class Run:
    """Consecutive prefixes whose rows have new tokens.

    Attributes:
        first: The first new token.
        queries: By place in the product, `(G' · n)`, the new token there; any token at an empty place.
        tokens: The new tokens, in order, and their places in the product.
    """

    members: slice
    first: int
    queries: Tensor
    tokens: Tensor
    places: Tensor
    width: int

    @property
    def is_even(self) -> bool:
        """Whether each prefix has n new tokens."""
        return len(self.queries) == len(self.tokens)

    def arranged(self, new: Tensor) -> Tensor:
        """Return values of the new tokens of all runs, `(H, N, d)`, in the shape of a product: `(G', H, n, d)`."""
        end = self.first + len(self.queries)
        chosen = new[:, self.first : end] if self.is_even else new[:, self.queries]
        return chosen.reshape(len(new), -1, self.width, new.shape[2]).transpose(0, 1)

    def in_order(self, product: Tensor) -> Tensor:
        """Return a product's result, `(G', H, n, d)`, by new token of this run: `(H, tokens, d)`."""
        flat = product.transpose(0, 1).flatten(1, 2)
        return flat if self.is_even else flat[:, self.places]


class Stack:
    """Rows of several prefixes; takes the place of a `Group` for each.

    Attributes:
        rows: Their numbers in the state, those of the first prefix first.
        tokens: The places of their new tokens among those of all, in the forward pass under way.
        keys, values: By layer, `(G, K, T, d)`.
        runs: The runs that are multiplied at once in the forward pass under way.
    """

    def __init__(self, members: Sequence[tuple[Prefix, list[int]]]) -> None:
        """Make rows that have read nothing yet, with copies of the prefixes."""
        prefixes, rows = [prefix for prefix, _ in members], [of_prefix for _, of_prefix in members]
        self._rows_of = [list(of_prefix) for of_prefix in rows]
        self.rows = [row for of_prefix in rows for row in of_prefix]
        self._widest = max(map(len, rows))
        self._lengths = [prefix.length for prefix in prefixes]
        self._length = max(self._lengths)
        self.tokens = slice(0, 0)
        self.runs: list[Run] = []
        layers = range(len(prefixes[0].keys))
        self.keys = [self._stacked([prefix.keys[layer] for prefix in prefixes]) for layer in layers]
        self.values = [self._stacked([prefix.values[layer] for prefix in prefixes]) for layer in layers]

    def _stacked(self, tensors: Sequence[Tensor]) -> Tensor:
        shape = len(tensors), tensors[0].shape[0], self._length + self._widest * GROWTH, tensors[0].shape[2]
        stacked = tensors[0].new_zeros(shape)
        for member, tensor in enumerate(tensors):
            stacked[member, :, self._length - tensor.shape[1] : self._length] = tensor
        return stacked

    def begin(self, start: int, new: Sequence[int], lengths: Sequence[int], device: torch.device) -> int:
        """Begin a forward pass in which each row reads so many tokens; return the next group's first place."""
        self.tokens = slice(start, start + sum(new))
        of_row = dict(zip(self.rows, new, strict=True))
        # by new token: its prefix, its row's number there, its row, and its position in the reply
        found = [
            (member, i, row, lengths[row] + at)
            for member, rows in enumerate(self._rows_of)
            for i, row in enumerate(rows)
            for at in range(of_row[row])
        ]
        table = torch.tensor(found, dtype=torch.long).reshape(-1, 4)
        self._member, self._of_row, self._row, self._positions = table.T.to(device)
        self._columns = self._length + self._positions * self._widest + self._of_row
        self._needed = max((position for *_, position in found), default=-1) + 1
        self.runs = list(_runs([sum(of_row[row] for row in rows) for rows in self._rows_of], device))
        self._masks: dict[tuple[int, int | None], Tensor] = {}
        self._attention: list[Tensor] = []
        return self.tokens.stop

    def store(self, layer: int, keys: Tensor, values: Tensor) -> None:
        """Put the keys and values of the new tokens, `(K, tokens, d)` of all groups, into their columns."""
        if not self._needed:
            return
        columns = self._length + self._widest * self._needed
        for tensors, new in ((self.keys, keys), (self.values, values)):
            tensor = tensors[layer]
            if tensor.shape[2] < columns:
                grown = tensor.new_zeros(*tensor.shape[:2], columns + self._widest * GROWTH, tensor.shape[3])
                grown[:, :, : tensor.shape[2]] = tensor
                tensors[layer] = tensor = grown
            tensor[self._member, :, self._columns] = new[:, self.tokens].transpose(0, 1)

    def mask(self, logits: Tensor, number: int, first: int, window: int | None) -> None:
        """Mask the attention logits `(G', H, n, T)` of a run, of its new tokens from `first` on, in place."""
        if window is not None and window >= self._length + self._needed:
            window = None
        if (number, window) not in self._masks:
            self._masks[number, window] = self._made_mask(self.runs[number], logits.shape[3], window)
        mask = self._masks[number, window][:, None, first : first + logits.shape[2]]
        in_front = self._length - min(self._lengths[self.runs[number].members])
        if window is not None:
            logits.masked_fill_(mask, -torch.inf)
            return
        logits[..., self._length :].masked_fill_(mask[..., self._length :], -torch.inf)
        if in_front:
            logits[..., :in_front].masked_fill_(mask[..., :in_front], -torch.inf)

    def _made_mask(self, run: Run, columns: int, window: int | None) -> Tensor:
        """Return the mask of a run, `(G', n, T)`: `True` for columns to which its tokens do not attend."""
        device = run.queries.device
        behind = torch.arange(columns - self._length, device=device)
        row = torch.full((len(run.queries),), -1, device=device).index_copy(0, run.places, self._of_row[run.tokens])
        position = torch.zeros_like(row).index_copy(0, run.places, self._positions[run.tokens])
        mask = (behind % self._widest != row[:, None]) | (behind // self._widest > position[:, None])
        positions = torch.cat([torch.arange(-self._length, 0, device=device), behind // self._widest])
        padded = torch.tensor([-length for length in self._lengths[run.members]], device=device)
        mask = nn.functional.pad(mask, (self._length, 0)).view(len(padded), run.width, columns)
        mask |= (positions < padded[:, None])[:, None]
        if window is not None:
            mask |= (position[:, None] - positions >= window).view_as(mask)
        return mask

    def capture(self, weights: Tensor, number: int, first: int) -> None:
        """Add the attention weights `(G', H, n, T)` of one layer and run, of its new tokens from `first` on."""
        if not self._attention:
            shapes = [(r.members.stop - r.members.start, r.width, self._length + 1) for r in self.runs]
            self._attention = [weights.new_zeros(shape) for shape in shapes]
            self._own = [torch.full((len(r.queries),), self._length, device=weights.device) for r in self.runs]
            for own, r in zip(self._own, self.runs, strict=True):
                own[r.places] += self._of_row[r.tokens]
        added = self._attention[number][:, first : first + weights.shape[2]]
        added[..., :-1] += weights[..., : self._length].mean(1)
        # each row's first column is the prompt's last token
        own = self._own[number].view(added.shape[0], -1)[:, None, first : first + weights.shape[2], None]
        added[..., -1] += weights.gather(3, own.expand(-1, weights.shape[1], -1, -1)).mean(1)[..., 0]

    def write_attention(self, captured: Tensor) -> None:
        """Write the captured attention of this forward pass into that of all rows, `(B, T, P + 1)`."""
        if not self._attention:
            return
        for run, attention in zip(self.runs, self._attention, strict=True):
            of_token = attention.flatten(0, 1)[run.places]
            for member in range(run.members.start, run.members.stop):
                chosen = self._member[run.tokens] == member
                length, tokens = self._lengths[member], run.tokens[chosen]
                own = of_token[chosen][:, self._length - length :]
                captured[self._row[tokens], self._positions[tokens], : length + 1] = own


def _runs(counts: Sequence[int], device: torch.device) -> Iterator[Run]:
    """Yield the runs that are multiplied at once, by the number of new tokens of each prefix."""
    live = [member for member, count in enumerate(counts) if count]
    ends = [at for at, (a, b) in enumerate(pairwise(live)) if b - a > _BRIDGED + 1]
    for first, last in zip([0, *(end + 1 for end in ends)], [*ends, len(live) - 1], strict=True):
        if not live:
            return
        members = slice(live[first], live[last] + 1)
        width, start = max(counts[members]), sum(counts[: members.start])
        places = [at * width + i for at, count in enumerate(counts[members]) for i in range(count)]
        tokens = torch.arange(start, start + len(places), device=device)
        at = torch.tensor(places, device=device)
        queries = torch.full(((members.stop - members.start) * width,), start, device=device).index_copy(0, at, tokens)
        yield Run(members, start, queries, tokens, at, width)


def alike(members: Sequence[tuple[Prefix, list[int]]]) -> list[list[tuple[Prefix, list[int]]]]:
    """Return prefixes with their rows, in groups that are worth a tensor of their own."""
    found: list[list[tuple[Prefix, list[int]]]] = []
    for member in sorted(members, key=lambda member: (-len(member[1]), -member[0].length, member[1])):
        longest, rows = found[-1][0] if found else member
        if found and len(rows) == len(member[1]) and member[0].length >= max(1.0, _ALIKE * longest.length):
            found[-1].append(member)
        else:
            found.append([member])
    return found
