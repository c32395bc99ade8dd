"""Which recipe is for a node: the most specific one that fits, and never one by guess."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raxl.errors import NotDecided, RecipeError
from raxl.model.plan import MET, UNMET, UNREAD
from raxl.model.recipe import RECIPE, Condition, Match, Recipe, Shelved
from raxl.recipe import load, match
from raxl.recipe.node_facts import NodeFacts
from recipe_facts import facts_of


def shelved(name: str, *conditions: Condition, by_name: bool = False, layer: bool = False) -> Shelved:
    recipe = Recipe(RECIPE, name, name, match=Match(conditions, by_name), layer=layer)
    return Shelved(recipe, "raxl", "0" * 64)


H100 = Condition("accelerators.ray.type", "==", "H100")
EIGHT = Condition("accelerators.count", "==", 8)
NONE = Condition("accelerators.count", "==", 0)
AWS = Condition("placement.provider", "==", "aws")
AZURE = Condition("placement.provider", "==", "azure")
INFINIBAND = Condition("nics[kind=infiniband].count", ">=", 8)
HGX = shelved("hgx-h100", H100, EIGHT, INFINIBAND)
P5 = shelved("aws-p5", Condition("accelerators.ray.type", "in", ("H100", "H200")), EIGHT, AWS)
AZURE_ND = shelved("azure-nd", H100, EIGHT, INFINIBAND, AZURE)
LOOPBACK = shelved("cpu-loopback", NONE, by_name=True)
LAYER = shelved("base", layer=True)
SHELF = [LAYER, LOOPBACK, P5, AZURE_ND, HGX]


@pytest.mark.parametrize(
    ("machine", "right", "score"),
    [
        ("nvidia-hgx-h100-healthy", "hgx-h100", 3),
        ("nvidia-aws-p5en", "aws-p5", 3),
        ("none-cpu-server", "cpu-loopback", 1),
    ],
)
def test_the_one_that_fits_is_chosen(machine: str, right: str, score: int) -> None:
    one, told = match.chosen(SHELF, facts_of(machine), None)
    assert one.recipe.name == right
    assert (told[0].recipe, told[0].status, told[0].score) == (right, MET, score)
    assert {candidate.recipe for candidate in told} == {"cpu-loopback", "aws-p5", "azure-nd", "hgx-h100"}
    assert [candidate.status for candidate in told[1:]] == [UNMET] * 3


def test_of_two_that_fit_the_one_that_sets_more_is_chosen() -> None:
    wide = shelved("h100", H100)
    one, told = match.chosen([wide, HGX], facts_of("nvidia-hgx-h100-healthy"), None)
    assert one is HGX
    assert [(candidate.recipe, candidate.status, candidate.score) for candidate in told] == [
        ("hgx-h100", MET, 3),
        ("h100", MET, 1),
    ]


def test_two_that_fit_equally_well_are_an_error_that_names_both() -> None:
    twin = shelved("another", H100, EIGHT, INFINIBAND)
    with pytest.raises(RecipeError) as caught:
        match.chosen([HGX, twin, shelved("h100", H100)], facts_of("nvidia-hgx-h100-healthy"), None)
    assert str(caught.value) == (
        "another and hgx-h100 fit this node equally well (3 conditions each). Name one: raxl recipe plan another"
    )
    assert caught.value.exit_code == 1


def test_none_that_fits_is_an_error_that_says_which_came_closest_and_what_failed() -> None:
    with pytest.raises(RecipeError) as caught:
        match.chosen([P5, HGX], facts_of("nvidia-l40s"), None)
    assert caught.value.exit_code == 1
    assert "no recipe fits this node; " in str(caught.value)
    assert "accelerators" in caught.value.why
    with pytest.raises(RecipeError, match=r"accelerators\.count == 0 is not met: found 8"):
        match.chosen([LOOPBACK], facts_of("nvidia-hgx-h100-healthy"), None)


def test_a_node_that_could_not_be_looked_at_is_for_no_recipe_and_the_exit_is_incomplete() -> None:
    with pytest.raises(NotDecided) as caught:
        match.chosen([LOOPBACK, HGX], facts_of("none-pci-denied"), None)
    assert caught.value.exit_code == 3
    assert "Permission denied" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_more_specific_one_of_which_it_is_not_known_keeps_the_other_from_being_chosen() -> None:
    with pytest.raises(NotDecided) as caught:
        match.chosen(SHELF, facts_of("nvidia-azure-nd-h100"), None)
    assert str(caught.value) == (
        "hgx-h100 fits this node, and whether azure-nd fits it better is not known (placement.provider == azure is not "
        "known: no platform was asked). Name one: raxl recipe plan hgx-h100"
    )
    one, told = match.chosen(SHELF, facts_of("nvidia-azure-nd-h100"), "azure-nd")
    assert (one, told[0].recipe, told[0].status, told[0].score) == (AZURE_ND, "azure-nd", UNREAD, 3)
    assert match.chosen(SHELF, facts_of("nvidia-azure-nd-h100"), "hgx-h100")[0] is HGX


def test_one_that_is_asked_for_and_is_for_other_hardware_is_refused() -> None:
    with pytest.raises(RecipeError) as caught:
        match.chosen(SHELF, facts_of("nvidia-aws-p5en"), "hgx-h100")
    assert str(caught.value) == (
        "hgx-h100 is for other hardware (accelerators.ray.type == H100 is not met: found H200). Try raxl recipe plan"
    )


def test_one_that_is_for_any_node_by_its_name_is_given_where_it_is_asked_for_alone() -> None:
    facts = facts_of("nvidia-hgx-h100-healthy")
    one, told = match.chosen(SHELF, facts, "cpu-loopback")
    assert one is LOOPBACK
    assert (told[0].recipe, told[0].status, told[0].score) == ("cpu-loopback", MET, 0)
    assert told[0].conditions[0].status == UNMET
    assert match.chosen(SHELF, facts, None)[0] is HGX
    assert match.chosen(SHELF, facts_of("none-pci-denied"), "cpu-loopback")[1][0].status == MET


def test_a_name_that_there_is_not_a_layer_and_a_name_of_two() -> None:
    facts = facts_of("none-cpu-server")
    with pytest.raises(RecipeError, match=r"no recipe is called hgx-h200\. Did you mean hgx-h100"):
        match.chosen(SHELF, facts, "hgx-h200")
    with pytest.raises(RecipeError, match="base is a layer"):
        match.chosen(SHELF, facts, "base")
    mine = replace(HGX, origin="/home/me/hgx.yaml")
    with pytest.raises(RecipeError, match="2 recipes are called hgx-h100"):
        match.chosen([*SHELF, mine], facts, "hgx-h100")
    with pytest.raises(RecipeError) as caught:
        match.chosen(SHELF, facts, "evil\x1b[31m\nname")
    assert str(caught.value).isprintable()
    assert match.chosen([*SHELF, mine], facts_of("nvidia-hgx-h100-healthy"), "/home/me/hgx.yaml")[0] is mine


def test_one_without_conditions_fits_nothing_unless_it_is_for_any_node() -> None:
    facts = facts_of("none-cpu-server")
    with pytest.raises(RecipeError, match="it says for no hardware that it is"):
        match.chosen([shelved("empty")], facts, None)
    with pytest.raises(RecipeError, match="empty is for other hardware"):
        match.chosen([shelved("empty")], facts, "empty")
    assert match.chosen([shelved("any", by_name=True)], facts, "any")[1][0].status == MET
    with pytest.raises(RecipeError, match="there is no recipe"):
        match.chosen([], facts, None)


def test_a_node_whose_only_gpu_is_lost_gets_no_recipe_for_machines_without_any() -> None:
    facts = facts_of("nvidia-hgx-h100-gpu-lost")
    lost = tuple(one for one in facts.node.accelerators if one.state == "lost")
    alone = NodeFacts(replace(facts.node, accelerators=lost), facts.case.facts)
    with pytest.raises(NotDecided, match="nvidia:6 is lost"):
        match.chosen([LOOPBACK], alone, None)


def test_candidates_stand_by_how_near_they_are() -> None:
    told = match.candidates(SHELF, facts_of("nvidia-azure-nd-h100"), None)
    assert [(one.recipe, one.status) for one in told] == [
        ("hgx-h100", MET),
        ("azure-nd", UNREAD),
        ("aws-p5", UNREAD),
        ("cpu-loopback", UNMET),
    ]
    asked = match.candidates(SHELF, facts_of("nvidia-azure-nd-h100"), "cpu-loopback")
    assert [one.recipe for one in asked] == ["cpu-loopback", "hgx-h100", "azure-nd", "aws-p5"]


def test_the_shipped_recipe_for_machines_without_accelerators_is_for_such_a_one() -> None:
    loopback = [one for one in load.shipped() if one.recipe.name == "cpu-loopback"]
    assert match.chosen(loopback, facts_of("none-cpu-server"), None)[0].recipe.name == "cpu-loopback"
    with pytest.raises(RecipeError):
        match.chosen(loopback, facts_of("nvidia-hgx-h100-healthy"), None)
