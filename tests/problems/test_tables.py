"""Tables of people in files: which columns are numbers, what is missing, and what is refused."""

import gzip

import numpy as np
import pytest
from gated import gated
from numpy.testing import assert_array_equal
from refusals import raises_file_error

from discreet.files import tables
from discreet.files.tables import TableStream, is_table, read_table

TEXT = "age,zip,name,score\n40,01234,Ann,1.5\n,99,,-2e3\n\n7,3,Bo,.5\n"


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(TEXT)
    return path


def test_numbers_are_numbers_and_codes_with_leading_zeros_are_texts(people):
    found = read_table(people)
    assert list(found) == ["age", "zip", "name", "score"]
    assert_array_equal(found["age"], [40.0, np.nan, 7.0])
    assert found["zip"].tolist() == ["01234", "99", "3"]
    assert found["name"].tolist() == ["Ann", None, "Bo"]
    assert found["score"].tolist() == [1.5, -2000.0, 0.5]


def test_parquet_and_packed_csv_hold_the_same_columns(people):
    import duckdb

    parquet = people.with_suffix(".parquet")
    with duckdb.connect() as engine:
        engine.execute(
            f"COPY (SELECT * FROM read_csv('{people}', types={{'zip': 'VARCHAR'}})) TO '{parquet}'"
        )
    packed = people.with_suffix(".csv.gz")
    packed.write_bytes(gzip.compress(TEXT.encode()))
    assert all(map(is_table, (people, parquet, packed)))
    plain = read_table(people)
    for other in (read_table(parquet), read_table(packed)):
        assert list(other) == list(plain)
        for name in ("zip", "name", "score"):
            assert_array_equal(other[name], plain[name])
        assert [None if age != age else age for age in other["age"].tolist()] == [40, None, 7]


def test_a_parquet_column_keeps_its_missing_whole_numbers_and_truth_values(tmp_path):
    import duckdb

    path = tmp_path / "few.parquet"
    with duckdb.connect() as engine:
        rows = "(VALUES (1, true, TIMESTAMP '2024-01-05'), (NULL, NULL, NULL)) t(i, b, d)"
        engine.execute(f"COPY (SELECT * FROM {rows}) TO '{path}'")
    found = read_table(path)
    assert found["i"].tolist() == [1, None]
    assert found["b"].tolist() == [True, None]
    assert np.isnat(found["d"]).tolist() == [False, True]


@pytest.mark.parametrize(
    "content, said",
    [
        (b"", "has no people"),
        (b"a,b\n", "has no people"),
        (b"a,b\n1,2\n3\n", "line 3 has 1 .* 2"),
        (b'a,b\n1,"2\n', "is not CSV"),
        (b"a,a\n1,2\n", "has 2 columns 'a'"),
        (b"a\n\xff\n", "is not UTF-8: .* byte 0xff"),
        (b"a\n" + b"x" * (1 << 24), "has a line of over|field larger than field limit"),
    ],
)
def test_bad_tables_are_refused_in_one_sentence(tmp_path, content, said):
    (tmp_path / "people.csv").write_bytes(content)
    with raises_file_error(said):
        read_table(tmp_path / "people.csv")


def test_parquet_that_is_none_and_files_that_are_absent_are_refused(tmp_path):
    (tmp_path / "people.parquet").write_text(TEXT)
    with raises_file_error("is not Parquet"):
        read_table(tmp_path / "people.parquet")
    with raises_file_error("cannot be read"):
        read_table(tmp_path / "none.parquet")


ENDS = {  # a column whose last cells decide what it is
    "text": ["1", "2", "", "4", "5", "6", "7x"],
    "code": ["1", "2", "3", "4", "5", "6", "07"],
    "numbers": ["1", "2", "3", "4", "5", "6", "7.5"],
    "gaps": ["1", "2", "3", "4", "5", "6", ""],
    "whole": ["1", "2", "3", "4", "5", "6", "7"],
    "empty": [""] * 7,
    "late": ["", "", "", "", "", "", "x"],
    "large": ["1", "2", "3", "4", "5", "6", str(2**60)],
    "told": ["1", "2", "3", "4", "5", "6", "7"],
}


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
@pytest.mark.parametrize("together", gated([3, 1, 7, 100]))
def test_a_stream_has_the_columns_of_the_table_as_a_whole(tmp_path, monkeypatch, ending, together):
    path = tmp_path / f"people{ending}"
    text = "\n".join([",".join(ENDS), *map(",".join, zip(*ENDS.values(), strict=True))])
    if ending == ".parquet":
        import duckdb

        with duckdb.connect() as engine:
            rows = ", ".join(
                f"({k}, {'NULL' if k == 6 else k}, {k % 2 == 0}, '{k}', {k / 3}, DATE "
                f"'2024-01-0{k}')"
                for k in range(1, 8)
            )
            engine.execute(
                f"COPY (SELECT * FROM (VALUES {rows}) t(whole, gaps, flag, told, x, "
                f"day)) TO '{path}'"
            )
    else:
        path.write_bytes(
            gzip.compress(text.encode()) if ending == ".csv.gz" else b"\xef\xbb\xbf" + text.encode()
        )
    (whole,) = TableStream(path, texts=["told"]).parts()
    monkeypatch.setattr(tables, "TOGETHER", together)
    stream = TableStream(path, texts=["told"])
    assert stream.header == list(whole)
    assert stream.people == 7
    parts = [*stream.parts()]
    assert [len(part["whole"]) for part in parts] == [
        min(together, 7 - k) for k in range(0, 7, together)
    ]
    for name, column in whole.items():
        assert {part[name].dtype for part in parts} == {column.dtype}, name
        assert repr(np.concatenate([part[name] for part in parts]).tolist()) == repr(
            column.tolist()
        ), name
    assert list(read_table(path)) == list(whole)
    some = TableStream(path, ["gaps", "whole", "nothing"], texts=["told"])
    assert {*next(some.parts())} == {"gaps", "whole"}


def test_a_stream_notices_that_its_file_was_changed(people):
    stream = TableStream(people)
    assert stream.people == 3
    people.write_text(TEXT.replace("40", "forty"))
    with raises_file_error(people.name):
        next(stream.parts())
