"""The whole pipeline of a fitted `PrivateClassifier` as one ONNX graph: columns of a table in,
guesses out.

Inputs: one for each column of the data frame that it was fitted on, [people, 1], texts or doubles
(times as seconds since 1970, missing values as an empty text or NaN); or `X` [people, columns], if
that was an array. Outputs:

    probabilities   of the guesses [people, guesses], of which `predict` draws; ones and zeros where
                    nothing is drawn
    guess           the position of the guess [people]; −1 where a coin decides, which a graph has
                    not

Gradient boosting of scikit-learn, alone or behind the encoders of a data frame, becomes a tree
ensemble in doubles. Any other classifier is converted by skl2onnx, which has numbers in single
precision; ties are then as near as that is. A graph is checked before it is given away: on examples
its probabilities must be those of the classifiers.

Source: the operators of ONNX, onnx.ai/onnx/operators, domain ai.onnx.ml, version 5.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.errors import InputError, how_to_install
from discreet.numerics.double_double import Array
from discreet.people.deployed import Rule
from discreet.people.folder import (
    GRAPH_FORMAT,
    GRAPH_VERSION,
    Column,
    as_text,
    feeds,
    read_cells,
)
from discreet.people.probabilities import LEAST, Calibrated, SideBySide

_OPSETS = {"": 18, "ai.onnx.ml": 5}
_OLD_TREES = ("TreeEnsembleClassifier", "TreeEnsembleRegressor")  # which version 5 does not have
_AT_MOST = 0  # modes of the nodes of a TreeEnsemble
_MEMBER = 6
_TENSORS = {
    "nodes_modes": np.uint8,
    "nodes_splits": np.float64,
    "leaf_weights": np.float64,
    "membership_values": np.float64,
}
"""Attributes of a TreeEnsemble that are tensors; the others are lists of whole numbers."""

_EXACT = 1e-9
_SINGLE = 1e-6
"""By how much probabilities of the graph may differ from those of the classifiers, in double and in
single precision.
"""


def libraries() -> tuple[Any, Any]:
    """onnx and onnxruntime; InputError where one that a graph needs is not installed."""
    try:
        import onnx
        import onnxruntime
        import skl2onnx  # noqa: F401
    except ImportError as error:
        raise InputError(
            "an ONNX graph needs onnx, onnxruntime and skl2onnx, one of which does not import "
            f"({error}); {how_to_install('people,onnx')}"
        ) from None
    return onnx, onnxruntime


def to_onnx(private: Any, examples: Any) -> bytes:
    """The graph of a fitted `PrivateClassifier`, serialised.

    examples: some rows of what it was fitted on, on which the graph is checked.
    Raises InputError for a classifier that cannot be converted, or whose graph says something else.
    """
    onnx, onnxruntime = libraries()
    columns = private.columns_
    if taken := [each.name for each in columns if each.name in ("guess", "probabilities")]:
        raise InputError(
            f"a column is called {taken[0]!r}, as an output of the ONNX graph is; "
            "give it another name"
        )
    graph = _Graph(onnx, columns, None if columns else int(np.shape(examples)[1]))
    parts = [
        _part(graph, private.estimator_, "guessed/"),
        _side_by_side(graph, private.private_estimator_),
    ]
    within = private.rule_.within + _SINGLE * any(single for _, single in parts)
    p_y, p_x = (name for name, _ in parts)
    _add_rule(graph, private.rule_, p_y, p_x, within)
    about = {
        "format": GRAPH_FORMAT,
        "version": GRAPH_VERSION,
        "guesses": private.rule_.document["guesses"],
    }
    about["columns"] = [vars(each) for each in columns]
    outputs = {"probabilities": ("DOUBLE", len(private.rule_.guesses)), "guess": ("INT64", None)}
    seen = graph.model({**outputs, p_y: ("DOUBLE", None), p_x: ("DOUBLE", None)}, about)
    feed = feeds(examples, columns)
    said = onnxruntime.InferenceSession(seen, providers=["CPUExecutionProvider"]).run(
        [p_y, p_x], feed
    )
    for name, ours, theirs, (_, single) in zip(
        ("y", "the sensitive features"), said, private._probabilities(examples), parts, strict=True
    ):
        apart = np.abs(ours - theirs).max(axis=1)
        wrong = int((apart > (_SINGLE if single else _EXACT)).sum())
        if wrong:
            raise InputError(
                f"the ONNX graph of the classifier of {name} says something else about {wrong} of "
                f"{len(apart)} examples, by "
                f"{apart.max():.2g} at the most; take another classifier, such as the default"
            )
    return graph.model(outputs, about)


# -- graphs
# --------------------------------------------------------------------------------------------------


@dataclass
class _Graph:
    """A graph that grows: every method adds nodes and gives the name of their result."""

    onnx: Any
    columns: tuple[Column, ...]
    width: int | None
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def add(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        name = f"/{operator}{len(self.nodes)}"
        self.nodes.append(
            self.onnx.helper.make_node(operator, [*inputs], [name], domain=domain, **attributes)
        )
        return name

    def constant(self, values: Any, dtype: Any = np.float64) -> str:
        name = f"/constant{len(self.constants)}"
        self.constants.append(self.tensor(np.asarray(values, dtype=dtype), name))
        return name

    def tensor(self, values: Any, name: str = "") -> Any:
        return self.onnx.numpy_helper.from_array(np.asarray(values), name)

    @property
    def inputs(self) -> list[Any]:
        kinds = self.onnx.TensorProto
        make = self.onnx.helper.make_tensor_value_info
        if not self.columns:
            return [make("X", kinds.DOUBLE, ["people", self.width])]
        return [
            make(each.name, kinds.STRING if each.kind == "texts" else kinds.DOUBLE, ["people", 1])
            for each in self.columns
        ]

    def model(self, outputs: dict[str, tuple[str, int | None]], about: dict[str, Any]) -> bytes:
        helper = self.onnx.helper
        kinds = self.onnx.TensorProto
        values = [
            helper.make_tensor_value_info(
                name, getattr(kinds, kind), ["people"] if name == "guess" else ["people", size]
            )
            for name, (kind, size) in outputs.items()
        ]
        graph = helper.make_graph(self.nodes, "discreet", self.inputs, values, self.constants)
        old = any(node.op_type in _OLD_TREES for node in self.nodes)
        if old and any(node.op_type == "TreeEnsemble" for node in self.nodes):
            raise InputError(
                "one classifier is gradient boosting and the other has trees of another kind, "
                "which no version of ONNX "
                "holds together; give both, or leave both at the default"
            )
        opsets = [
            helper.make_opsetid(*each)
            for each in {**_OPSETS, **({"ai.onnx.ml": 3} if old else {})}.items()
        ]
        made = helper.make_model(
            graph, opset_imports=opsets, ir_version=9, producer_name="discreet"
        )
        helper.set_model_props(made, {"discreet": json.dumps(about, ensure_ascii=False)})
        self.onnx.checker.check_model(made)
        return bytes(made.SerializeToString())


def _add_rule(graph: _Graph, rule: Rule, p_y: str, p_x: str, within: float) -> None:
    """What `Rule.predict_proba` does."""
    m = len(rule.guesses)
    losses = graph.add("MatMul", p_y, graph.constant(rule.loss))
    scores = graph.add("Add", losses, graph.add("MatMul", p_x, graph.constant(rule.tilt.T)))
    best = graph.add("ArgMin", scores, axis=1, keepdims=0)
    columns = graph.add("Gather", graph.constant(np.eye(m)), best)
    if rule.second is not None:
        columns = _second(graph, rule.second, scores, p_x)
    if len(rule.columns):
        seen = graph.add(
            "Unsqueeze", graph.add("Concat", losses, p_x, axis=1), graph.constant([1], np.int64)
        )
        points = graph.constant(rule.points.T)
        apart = graph.add("Abs", graph.add("Sub", seen, points))
        farthest = graph.add("ReduceMax", apart, graph.constant([2], np.int64), keepdims=0)
        matches = graph.add(
            "Cast",
            graph.add("LessOrEqual", farthest, graph.constant(within)),
            to=graph.onnx.TensorProto.DOUBLE,
        )
        last = graph.add("Mul", matches, graph.constant(np.arange(1.0, len(rule.columns) + 1.0)))
        place = graph.add("ArgMax", last, axis=1, keepdims=0)
        tied = graph.add("ReduceMax", matches, graph.constant([1], np.int64), keepdims=1)
        drawn = graph.add("Gather", graph.constant(rule.columns), place)
        columns = graph.add(
            "Where", graph.add("Greater", tied, graph.constant(0.0)), drawn, columns
        )
    if rule.share:
        columns = graph.add("Mul", columns, graph.constant(1.0 - rule.share))
        columns = graph.add("Add", columns, graph.constant(rule.share * rule.towards))
    graph.nodes.append(graph.onnx.helper.make_node("Identity", [columns], ["probabilities"]))
    sure = graph.add(
        "GreaterOrEqual",
        graph.add("ReduceMax", columns, graph.constant([1], np.int64), keepdims=0),
        graph.constant(1.0),
    )
    likeliest = graph.add("ArgMax", columns, axis=1, keepdims=0)
    graph.nodes.append(
        graph.onnx.helper.make_node(
            "Where", [sure, likeliest, graph.constant(-1, np.int64)], ["guess"]
        )
    )


def _second(graph: _Graph, second: dict[str, Any], scores: str, p_x: str) -> str:
    """The columns where a second tilt draws one of the guesses whose scores are least; a single
    one is certain.
    """
    axis = graph.constant([1], np.int64)
    edge = graph.add(
        "Add", graph.add("ReduceMin", scores, axis, keepdims=1), graph.constant(second["band"])
    )
    others = graph.add("MatMul", p_x, graph.constant(np.array(second["tilt"]).T))
    others = graph.add(
        "Where", graph.add("LessOrEqual", scores, edge), others, graph.constant(np.inf)
    )
    powers = graph.add(
        "Exp", graph.add("Sub", graph.add("ReduceMin", others, axis, keepdims=1), others)
    )
    return graph.add("Div", powers, graph.add("ReduceSum", powers, axis, keepdims=1))


def _part(graph: _Graph, calibrated: Calibrated, prefix: str) -> tuple[str, bool]:
    """p(label given features) by a calibrated classifier, and whether it is in single precision."""
    if calibrated.model is None:
        first = graph.columns[0].name if graph.columns else "X"
        people = graph.add("Shape", first, start=0, end=1)
        shape = graph.add("Concat", people, graph.constant([1], np.int64), axis=0)
        row = graph.constant(np.exp(calibrated.offset)[None, :])
        return graph.add("Tile", row, shape), False
    said, single = _uncalibrated(graph, calibrated.model, prefix)
    said = graph.add("Max", said, graph.constant(LEAST))
    labels = calibrated.offset.size
    if calibrated.known.size < labels:
        places = np.eye(labels)[calibrated.known]
        said = graph.add("MatMul", said, graph.constant(places))
        said = graph.add("Add", said, graph.constant(LEAST * (1.0 - places.sum(axis=0))))
    scores = graph.add("Mul", graph.add("Log", said), graph.constant(calibrated.slope))
    return graph.add(
        "Softmax", graph.add("Add", scores, graph.constant(calibrated.offset)), axis=1
    ), single


def _side_by_side(graph: _Graph, several: SideBySide) -> tuple[str, bool]:
    """Add the classifiers of the sensitive features, one after the other."""
    parts = [_part(graph, each, f"hidden{k}/") for k, each in enumerate(several.parts)]
    together = (
        graph.add("Concat", *(name for name, _ in parts), axis=1) if len(parts) > 1 else parts[0][0]
    )
    return together, any(single for _, single in parts)


def _uncalibrated(graph: _Graph, model: Any, prefix: str) -> tuple[str, bool]:
    """Add the probabilities of a classifier before calibration [people, labels]; return their name,
    and whether they are in single precision.
    """
    steps = _boosting(model)
    if steps is None:
        return _convert_model(graph, model, prefix), True
    return _trees(graph, steps[1], _encode_columns(graph, steps[0])), False


# -- gradient boosting
# --------------------------------------------------------------------------------------------------


def _boosting(model: Any) -> tuple[Any, Any] | None:
    """(encoders or None, gradient boosting), if the model is that."""
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import Pipeline

    if type(model) is HistGradientBoostingClassifier:
        return None, model
    if (
        type(model) is not Pipeline
        or len(model.steps) != 2
        or type(model[1]) is not HistGradientBoostingClassifier
    ):
        return None
    if type(model[0]) is not ColumnTransformer or any(
        _encoder(tool) is None for _, tool, _ in model[0].transformers_
    ):
        return None
    return model[0], model[1]


def _encoder(tool: Any) -> Any:
    """False for a tool that leaves numbers as they are, the encoder of one that encodes, None for
    any other tool.
    """
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder

    last = tool[-1] if isinstance(tool, Pipeline) else tool
    if isinstance(last, OrdinalEncoder) and (last is tool or tool[0].func is read_cells):
        return last
    plain = tool == "passthrough" or (
        isinstance(tool, FunctionTransformer) and tool.func in (None, read_cells)
    )
    return False if plain or tool == "drop" else None


def _encode_columns(graph: _Graph, encoders: Any) -> list[str]:
    """What gradient boosting sees, a name [people, 1] for each column (or the one name of them
    all).
    """
    if encoders is None:
        return [each.name for each in graph.columns] or ["X"]
    names = []
    by_name = {each.name: each for each in graph.columns}
    for _, tool, places in encoders.transformers_:
        if isinstance(tool, str) and tool == "drop":
            continue
        encoder = _encoder(tool)
        for k, place in enumerate(places):
            is_number = isinstance(place, int | np.integer)
            column = graph.columns[place] if is_number else by_name[str(place)]
            if encoder is False:
                names.append(column.name)
                continue
            texts, codes = _codes(encoder, k)
            names.append(_looked_up(graph, column, texts, codes))
    return names


def _codes(encoder: Any, k: int) -> tuple[list[str], Array]:
    """The categories of the k-th column as texts, and their codes."""
    values = encoder.categories_[k].tolist()
    table: Any = np.empty((len(values), len(encoder.categories_)), dtype=object)
    for place, each in enumerate(encoder.categories_):
        table[:, place] = each[0]
    table[:, k] = values
    names = getattr(encoder, "feature_names_in_", None)
    if names is not None:
        import pandas

        table = pandas.DataFrame(table, columns=names)
    codes = np.asarray(encoder.transform(table))[:, k]
    texts = [as_text(value) for value in values]
    if len({*texts}) < len(texts):
        raise InputError(
            f"a column has two categories with the same text, such as {texts[0]!r}; make them "
            "texts that differ"
        )
    return texts, np.asarray(codes, dtype=np.float64)


def _looked_up(graph: _Graph, column: Column, texts: list[str], codes: Array) -> str:
    if column.kind != "texts":
        raise InputError(
            f"column {column.name!r} had categories when the rule was fitted and has numbers now"
        )
    return graph.add(
        "LabelEncoder",
        column.name,
        domain="ai.onnx.ml",
        keys_tensor=graph.tensor(np.array(texts, dtype=object), "keys"),
        values_tensor=graph.tensor(codes, "values"),
        default_tensor=graph.tensor(np.array([np.nan]), "default"),
    )


def _trees(graph: _Graph, model: Any, columns: list[str]) -> str:
    """Probabilities of the labels by gradient boosting [people, labels], in double precision."""
    order = np.arange(model.n_features_in_)
    tables: dict[int, dict[float, float]] = {}
    if model._preprocessor is not None:  # it puts categories first, and gives them codes of its own
        is_category = np.asarray(model.is_categorical_)
        order = np.concatenate([np.flatnonzero(is_category), np.flatnonzero(~is_category)])
        encoder = model._preprocessor.named_transformers_["encoder"]
        for k, place in enumerate(np.flatnonzero(is_category).tolist()):
            tables[place] = {
                float(v): float(c) for c, v in enumerate(encoder.categories_[k]) if not np.isnan(v)
            }
    names = columns
    if columns == ["X"] and tables:
        names = [
            graph.add("Gather", "X", graph.constant([k], np.int64), axis=1)
            for k in range(model.n_features_in_)
        ]
    for place, table in tables.items():
        names[place] = graph.add(
            "LabelEncoder",
            names[place],
            domain="ai.onnx.ml",
            keys_tensor=graph.tensor(np.array([*table]), "keys"),
            values_tensor=graph.tensor(np.array([*table.values()]), "values"),
            default_tensor=graph.tensor(np.array([np.nan]), "default"),
        )
    seen = graph.add("Concat", *(names[k] for k in order), axis=1) if len(names) > 1 else names[0]
    baseline = np.asarray(model._baseline_prediction, dtype=np.float64).reshape(1, -1)
    trees = _ensemble(graph, model._predictors)
    raw = graph.add(
        "TreeEnsemble",
        seen,
        domain="ai.onnx.ml",
        n_targets=baseline.size,
        aggregate_function=1,
        post_transform=0,
        **trees,
    )
    raw = graph.add("Add", raw, graph.constant(baseline))
    if baseline.size > 1:
        return graph.add("Softmax", raw, axis=1)
    likely = graph.add("Sigmoid", raw)
    return graph.add("Concat", graph.add("Sub", graph.constant(1.0), likely), likely, axis=1)


def _ensemble(graph: _Graph, predictors: Any) -> dict[str, Any]:
    """Return trees of scikit-learn's gradient boosting, a list for each step, as attributes of the
    operator TreeEnsemble.

    Inner nodes and leaves are numbered separately, through all trees. A tree that is a single leaf
    becomes a node both of whose sides are that leaf.
    """
    trees = [each for step in predictors for each in enumerate(step)]
    parts = list[dict[str, Any]]()
    leaves = 0
    inner_nodes = 0
    for target, tree in trees:
        is_leaf = tree.nodes["is_leaf"] == 1
        leaf_place = leaves + np.cumsum(is_leaf) - 1
        node_place = inner_nodes + np.cumsum(~is_leaf) - 1
        place = np.where(is_leaf, leaf_place, node_place)
        nodes = tree.nodes if is_leaf.all() else tree.nodes[~is_leaf]
        left = nodes["left"].astype(np.intp)
        right = nodes["right"].astype(np.intp)
        of_categories = nodes["is_categorical"] == 1
        parts.append(
            {
                "tree_roots": [inner_nodes],
                "nodes_featureids": nodes["feature_idx"],
                "nodes_modes": np.where(of_categories, _MEMBER, _AT_MOST),
                "nodes_splits": np.where(of_categories, 0.0, nodes["num_threshold"]),
                "nodes_truenodeids": place[left],
                "nodes_trueleafs": is_leaf[left],
                "nodes_falsenodeids": place[right],
                "nodes_falseleafs": is_leaf[right],
                "nodes_missing_value_tracks_true": nodes["missing_go_to_left"],
                "leaf_targetids": np.full(int(is_leaf.sum()), target),
                "leaf_weights": tree.nodes["value"][is_leaf],
                "membership_values": _members(
                    tree.raw_left_cat_bitsets[nodes["bitset_idx"][of_categories]]
                ),
            }
        )
        leaves += int(is_leaf.sum())
        inner_nodes += len(nodes)
    values = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    attributes: dict[str, Any] = {
        name: graph.tensor(values[name].astype(dtype), name)
        for name, dtype in _TENSORS.items()
        if values[name].size
    }
    lists = {name: values[name].astype(int).tolist() for name in values if name not in _TENSORS}
    return attributes | lists


def _members(bitsets: Any) -> Array:
    """Return the categories in each set of bits, one set after another, with NaN after each; a set
    may not be empty.
    """
    members = list[float]()
    for words in bitsets:
        bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")
        inside = np.flatnonzero(bits).astype(np.float64).tolist()
        members += [*(inside or [-1.0]), np.nan]
    return np.array(members)


# -- other classifiers
# --------------------------------------------------------------------------------------------------


def _convert_model(graph: _Graph, model: Any, prefix: str) -> str:
    """Probabilities by skl2onnx, as doubles; but the numbers inside are in single precision."""
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType

    types = [
        (each.name, (StringTensorType if each.kind == "texts" else DoubleTensorType)([None, 1]))
        for each in graph.columns
    ] or [("X", DoubleTensorType([None, graph.width]))]
    try:
        made = convert_sklearn(
            model,
            initial_types=types,
            target_opset={"": 18, "ai.onnx.ml": 3},
            options={id(model): {"zipmap": False}},
        )
    except Exception as error:
        raise InputError(
            f"{type(model).__name__} has no ONNX graph ({type(error).__name__}: {error}); take "
            "another classifier, such as "
            "the default"
        ) from error
    return graph.add("Cast", _splice(graph, made, prefix)[1], to=graph.onnx.TensorProto.DOUBLE)


def _splice(graph: _Graph, made: Any, prefix: str) -> list[str]:
    """Another graph with the same inputs becomes a part; the names of its outputs."""
    inputs = {each.name for each in made.graph.input}

    def renamed(name: str) -> str:
        return name if not name or name in inputs else prefix + name

    for node in made.graph.node:
        node.name = ""
        node.input[:] = [renamed(name) for name in node.input]
        node.output[:] = [renamed(name) for name in node.output]
    for held in made.graph.initializer:
        held.name = renamed(held.name)
    graph.nodes.extend(made.graph.node)
    graph.constants.extend(made.graph.initializer)
    return [renamed(each.name) for each in made.graph.output]
