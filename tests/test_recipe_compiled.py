"""raxl's own recipes as one file: what the YAML says, and no recipe that a file has not checked."""

from __future__ import annotations

import pytest

from raxl.model import codec
from raxl.recipe import compiled, load


def test_the_compiled_file_is_what_the_yaml_says() -> None:
    assert compiled.FILE.read_text("utf-8") == compiled.written(load.of_files()), "run make generated"


def test_it_is_read_as_the_files_are() -> None:
    assert load.shipped() == load.of_files()
    assert [codec.encode(one) for one in load.shipped()] == [codec.encode(one) for one in load.of_files()]


@pytest.mark.parametrize("one", load.shipped(), ids=lambda one: one.recipe.name)
def test_a_recipe_has_the_hash_that_stands_beside_it(one: load.Shelved) -> None:
    assert one == load.shelved(one.recipe, load.OWN)
    assert one == load.named(one.recipe.name)
    assert one == load.read(load.path_of(one.recipe.name))


def test_nobody_changes_what_the_next_one_reads() -> None:
    load.shipped().clear()
    assert load.shipped()
