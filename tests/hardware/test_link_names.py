"""Names that people write for a link: which link they mean, and what is offered if they may mean several."""

import pytest

from railyard.base.errors import RailyardError
from railyard.cli.main import main
from railyard.hardware.gpu_nodes import node_of_words
from railyard.hardware.links import LINKS, links_meant, why_no_link
from railyard.verdict.stored_outputs.target import of_link

MEANT = {
    "slingshot-200": "slingshot-11",
    "slingshot-100": "slingshot-10",
    "Slingshot 11": "slingshot-11",
    "SS11": "slingshot-11",
    "cassini": "slingshot-11",
    "hdr": "ib-hdr",
    "EDR": "ib-edr",
    "ndr": "ib-ndr",
    "4x-edr": "ib-edr",
    "ib-hdr200": "ib-hdr",
    "hdr100": "ib-hdr100",
    "ib-hdr-100": "ib-hdr100",
    "ndr400": "ib-ndr",
    "ib-ndr-200": "ib-ndr200",
    "fdr56": "ib-fdr",
    "fdr10": "ib-fdr10",
    "InfiniBand EDR": "ib-edr",
    "ib_edr": "ib-edr",
    "ib-400": "ib-ndr",
    "opa": "opa-100",
    "omni-path": "opa-100",
    "cn5000": "opa-400",
    "100gbe": "eth-100",
    "10GigE": "eth-10",
    "eth-100g": "eth-100",
    "100g-ethernet": "eth-100",
    "gbe": "eth-1",
    "roce100": "roce-100",
    "100g-roce": "roce-100",
    "rocev2-100": "roce-100",
    "efa400": "efa-400",
}
#: These may mean several links, or none.
OFFERED = {
    "slingshot": 'did you mean "slingshot-10", "slingshot-11" or "slingshot-400"?',
    "ib-100": 'did you mean "ib-edr" or "ib-hdr100"?',
    "ib-40": 'did you mean "ib-qdr" or "ib-fdr10"?',
    "100g": (
        'did you mean "ib-edr", "ib-hdr100", "eth-100", "roce-100", "opa-100", "slingshot-10" or "efa-100"?'
    ),
    "56g": 'did you mean "ib-fdr"?',
    "edr200": 'did you mean "ib-edr", "ib-hdr" or "ib-ndr200"?',
    "ib-erd": 'did you mean "ib-edr"?',
}  # fmt: skip


@pytest.mark.parametrize("word", MEANT)
def test_a_common_name_means_one_link(word: str) -> None:
    assert links_meant(word) == (MEANT[word],)
    assert of_link(word).fabric.link.name == MEANT[word]


@pytest.mark.parametrize("word", OFFERED)
def test_a_name_that_may_mean_several_links_is_refused_with_all_of_them(word: str) -> None:
    assert len(links_meant(word)) != 1
    assert why_no_link(word) == OFFERED[word]
    with pytest.raises(RailyardError) as error:
        of_link(word)
    assert str(error.value) == (f'--link: found "{word}", expected a link of docs/reference/rates.md; {OFFERED[word]}')


@pytest.mark.parametrize("word", ["", "wifi-5", "pcie3", "-", "ib-", "9999g", "☃"])
def test_a_word_that_is_no_link_means_none(word: str) -> None:
    assert links_meant(word) == ()
    assert "?" in why_no_link(word) or why_no_link(word).startswith("known: ")


@pytest.mark.parametrize("name", LINKS)
def test_every_name_of_the_table_means_itself(name: str) -> None:
    assert links_meant(name) == (name,)
    assert links_meant(name.replace("-", "_").upper()) == (name,)


def test_the_output_names_the_link_that_was_used(tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "osu_bw.out"
    file.write_text(
        "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n4194304  24000.00\n", encoding="utf-8"
    )
    assert main(["judge", str(file), "--link", "slingshot-200"]) in (0, 1)
    assert capsys.readouterr().out.splitlines()[0] == f"{file} against slingshot-11, 1 rail"


def test_the_words_of_nodes_offer_the_right_link() -> None:
    with pytest.raises(RailyardError, match='did you mean "slingshot-11"'):
        node_of_words("gpus=4,nics=4,link=slingshot-200")
