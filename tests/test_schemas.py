"""The JSON schemas of files: what is written fulfils them, and what is wrong does not."""

import json
import math

import jsonschema
import numpy as np
import pytest
from block_cases import in_blocks
from checkout import DOCS, text_of

import discreet as ds
from discreet.problems import paper_single

FOLDER = DOCS / "reference" / "schema"
TEXTS = ("constraint", "metadata", "exact_columns", "samples")


def plain(values):
    """Nested lists; JSON has no infinity."""
    if isinstance(values, dict):
        return {name: plain(each) for name, each in values.items()}
    if isinstance(values, list):
        return [plain(each) for each in values]
    return "Infinity" if values == math.inf else values


def document(path):
    """The members of a file as the schemas describe them."""
    with np.load(path) as file:
        members = {name: each.tolist() for name, each in file.items()}
    return plain(
        {name: json.loads(each) if name in TEXTS else each for name, each in members.items()}
    )


@pytest.fixture
def validators():
    schemas = {path.stem: json.loads(text_of(path)) for path in FOLDER.glob("*.json")}
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)
    return {name: jsonschema.Draft202012Validator(schema) for name, schema in schemas.items()}


def table():
    people = {"age": [1.0, 2.0, 3.0, 4.0] * 90, "sex": [0, 1, 1] * 120, "income": [0, 0, 1, 1] * 90}
    columns = {name: np.array(values) for name, values in people.items()}
    return ds.Problem.from_frame(columns, hide="sex", guess="income", budget=0.01, seed=1)


PROBLEMS = {
    "plain": lambda: paper_single(bins=8, budget=0.01),
    "perfect": lambda: paper_single(bins=8, budget=0.0),
    "free": lambda: paper_single(bins=8, budget=math.inf),
    "parity": lambda: paper_single(bins=8).with_budget(0.1, measure="parity-difference"),
    "blocks": lambda: in_blocks(paper_single(bins=8, budget=0.01)),
    "table": table,
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_files_that_are_written_fulfil_the_schemas(name, validators, tmp_path):
    problem = PROBLEMS[name]()
    ds.save_problem(tmp_path / "problem.npz", problem)
    ds.solve(problem, "tilt").save(tmp_path / "solution.npz")
    for kind, validator in validators.items():
        stored = document(tmp_path / f"{kind}.npz")
        assert stored["version"] == 1
        validator.validate(stored)
        validator.validate({key: values for key, values in stored.items() if key != "version"})


def test_wrong_documents_do_not_fulfil_the_schemas(validators):
    joint = [[[0.25, 0.25]], [[0.25, 0.25]]]
    right = {"joint": joint, "budget": 0.1}
    validators["problem"].validate(right)
    for wrong in (
        {"budget": 0.1},
        {**right, "loss": [[0.0, 0.0]]},
        {**right, "budget": -0.1},
        {**right, "version": 2},
        {**right, "joint": [[0.5, 0.5]]},
        {**right, "constraint": {"measure": "max-lift", "budget": 1.0}},
        {**right, "other": 1},
    ):
        with pytest.raises(jsonschema.ValidationError):
            validators["problem"].validate(wrong)
    duals = {"tilt": [[0.0]], "multiplier": [0.0], "metadata": {}}
    validators["solution"].validate({**duals, "estimator": [[1.0]]})
    for wrong in (duals, {"estimator": [[1.0]]}, {**duals, "estimator": [[-1.0]]}):
        with pytest.raises(jsonschema.ValidationError):
            validators["solution"].validate(wrong)
