"""Strings, dicts, counters, sets and tuples as outputs.

Where `exposed` is used, the cut at 5 makes the release private.
"""

from __future__ import annotations

import json
import math
from collections import ChainMap, Counter, OrderedDict, defaultdict
from decimal import Decimal
from types import SimpleNamespace

import numpy as np

from refutedp import AddRemove, ApproxDP, PureDP
from tests.soundness.registry import BITS, FIRST, cases_of, exposed

private = cases_of("containers")
RESPONSE = PureDP(math.log(3))
LETTERS = AddRemove(["a", "b"], odd=False)


@private()
def formatted_count(queries, rng):
    return f"about {round(queries[0] + rng.laplace())} people"


@private()
def formatted_with_one_digit(queries, rng):
    return f"{min(exposed(queries[0], rng.laplace()), 5.0):.1f}"


@private()
def percent_format(queries, rng):
    return "%+d" % math.floor(queries[0] + rng.laplace())  # noqa: UP031


@private()
def format_method_with_padding(queries, rng):
    return "{:>4}|{value!r}".format("n", value=int(queries[0] + rng.laplace()))


@private()
def text_of_a_category(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    return "high" if noisy > 5 else "middle" if noisy > 0 else "low"


@private()
def text_joined_in_a_loop(queries, rng):
    text = ""
    for limit in (0, 1, 2):
        text += "x" if queries[0] + rng.laplace(scale=3.0) > limit else "."
    return text


@private()
def json_of_a_rounded_value(queries, rng):
    return json.dumps({"count": round(queries[0] + rng.laplace()), "noise": "laplace"})


@private()
def hexadecimal_text(queries, rng):
    return hex(max(0, min(round(queries[0] + rng.laplace()), 15)))


@private()
def decimal_text(queries, rng):
    return str(Decimal(str(round(queries[0] + rng.laplace(), 1))).quantize(Decimal("1")))


@private()
def bytes_of_a_small_integer(queries, rng):
    return bytes([max(0, min(round(queries[0] + rng.laplace()), 3))]).hex()


@private(pair=FIRST)
def dict_with_fixed_keys(queries, rng):
    return {name: q + rng.laplace() for name, q in zip(("a", "b"), queries, strict=True)}


@private(pair=FIRST)
def dict_with_keys_by_the_noise(queries, rng):
    return {i: min(noisy, 5.0) for i, q in enumerate(queries) if (noisy := exposed(q, rng.laplace())) > 1}


@private(pair=FIRST)
def dict_merged_and_overwritten(queries, rng):
    secret = dict(enumerate(queries))
    return secret | {i: q + rng.laplace() for i, q in secret.items()}


@private(pair=FIRST)
def dict_in_order_of_noisy_values(queries, rng):
    noisy = {name: q + rng.laplace() for name, q in zip("ab", queries, strict=True)}
    return sorted(noisy, key=noisy.get)


@private(pair=(["a"], ["a", "b"]), adjacency=LETTERS)
def histogram_as_a_counter(data, rng):
    counts = Counter(data)
    return {letter: counts[letter] + rng.laplace() for letter in "ab"}


@private(ApproxDP(1.0, 0.5 * math.exp(-2)), (["a"], ["a", "b"]), adjacency=LETTERS)
def histogram_of_the_letters_seen(data, rng):
    # A letter seen once is released if its noisy count is above 3, with probability delta.
    noisy = {letter: count + rng.laplace() for letter, count in sorted(Counter(data).items())}
    return {letter: count for letter, count in noisy.items() if count > 3}


@private(pair=(["a", "b"], ["a", "b", "b"]), adjacency=LETTERS)
def most_common_of_noisy_counts(data, rng):
    noisy = Counter({letter: data.count(letter) + rng.laplace() for letter in "ab"})
    return noisy.most_common(1)[0][0]


@private(pair=(["a", "b"], ["a", "b", "b"]), adjacency=LETTERS)
def default_dict_of_counts(data, rng):
    counts = defaultdict(int)
    for letter in data:
        counts[letter] += 1
    return [counts[letter] + rng.laplace() for letter in ("a", "b", "c")]


@private(pair=FIRST)
def ordered_dict_moved(queries, rng):
    noisy = OrderedDict((i, min(exposed(q, rng.laplace()), 5.0)) for i, q in enumerate(queries))
    noisy.move_to_end(0)
    return list(noisy.items())


@private()
def chain_of_maps(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    return ChainMap({"value": 5.0} if noisy > 5 else {}, {"value": noisy})["value"]


@private(pair=FIRST)
def set_of_positions(queries, rng):
    return {i for i, q in enumerate(queries) if q + rng.laplace() > 1.5}


@private(pair=FIRST)
def sorted_set_difference(queries, rng):
    above = {i for i, q in enumerate(queries) if q + rng.laplace() > 1.5}
    return sorted({0, 1} - above)


@private()
def membership_of_a_rounded_value(queries, rng):
    return round(exposed(queries[0], rng.laplace())) in {-1, 0, 1}


@private()
def set_that_joins_equal_values(queries, rng):
    noisy = max(0, min(round(exposed(queries[0], rng.laplace())), 2))
    return len({noisy, 1, 1.0, True})  # noqa: B033


@private(pair=FIRST)
def nested_tuples(queries, rng):
    a, b = (min(exposed(q, rng.laplace()), 5.0) for q in queries)
    return (a, (b, (a > b,)))


@private(pair=FIRST)
def tuples_compared(queries, rng):
    noisy = [(round(q + rng.laplace()), i) for i, q in enumerate(queries)]
    return max(noisy)


@private(pair=FIRST)
def tuple_as_a_key(queries, rng):
    above = tuple(q + rng.laplace() > 1.5 for q in queries)
    return {(True, True): "both", (False, False): "none"}.get(above, "one")


@private()
def list_multiplied_and_sliced(queries, rng):
    n = max(0, min(round(exposed(queries[0], rng.laplace())), 2))
    return ([1] * n + [0, 0])[:2]


@private()
def index_into_a_table(queries, rng):
    n = max(0, min(math.floor(exposed(queries[0], rng.laplace())), 2))
    return ["none", "one", "many"][n]


@private()
def simple_namespace(queries, rng):
    release = SimpleNamespace(value=exposed(queries[0], rng.laplace()))
    release.value = min(release.value, 5.0)
    return vars(release)


@private(pair=FIRST)
def structured_array(queries, rng):
    table = np.zeros(2, dtype=[("value", float), ("large", bool)])
    for i, q in enumerate(queries):
        table[i] = (min(q + rng.laplace(), 2.0), False)
    table["large"] = table["value"] > 1
    return table["value"].tolist(), table["large"].tolist()


@private(RESPONSE, BITS)
def yes_or_no(data, rng):
    answers = ("no", "yes")
    return answers[data[0]] if rng.random() < 0.75 else answers[1 - data[0]]


@private(RESPONSE, BITS)
def characters_by_code(data, rng):
    return chr(ord("a") + (data[0] ^ int(rng.random() < 0.25)))


@private(RESPONSE, BITS)
def translated_text(data, rng):
    text = "01"[data[0]]
    return text.translate({48: "1", 49: "0"}) if rng.random() < 0.25 else text
