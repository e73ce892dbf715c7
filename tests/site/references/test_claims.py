"""Claims of a source: what can prove one, and each way in which a list of claims can be wrong."""

from pathlib import Path

import pytest

from railyard.base.errors import InputError
from railyard.site.references.load import References, load_references
from railyard.site.systems.load import load_system

SITE = """\
system: site
description: A cluster
nodes: {count: 16}
fabrics:
  edr: {description: EDR, kind: ib, link: ib-edr, rails: [{device: mlx5_0, counters: mlx5}]}
  fdr: {description: FDR, kind: ib, link: ib-fdr, rails: [{device: mlx4_0, counters: mlx4}]}
stacks:
  hpcx: {modules: [hpcx], benchmarks: {osu: /opt/osu}}
prices:
  - {fabric: edr, currency: USD, date: 2016-02-02, parts: {whole: 800}, source: a shop}
"""
TABLE = """\
system: site
sources:
  blog: {document: a blog, date: 2016-02-02}
entries:
  - {id: edr-bw, fabric: edr, stack: hpcx, rails: 1, benchmark: osu/osu_bw, metric: bandwidth, unit: MB/s,
     kind: published, curve: {4M: 12400}, tolerance: {low: 0.03}, source: {of: blog}}
  - {id: fdr-bw, fabric: fdr, stack: hpcx, rails: 1, benchmark: osu/osu_bw, metric: bandwidth, unit: MB/s,
     kind: published, curve: {4M: 6300}, tolerance: {low: 0.03}, source: {of: blog}}
  - {id: sick, fabric: fdr, stack: hpcx, rails: 1, benchmark: osu/osu_bibw, metric: bandwidth, unit: MB/s,
     directions: 2, kind: bad-case, curve: {4M: 100}, source: {of: blog}}
relations:
  - {id: doubled, says: EDR is twice FDR, form: ratio, of: edr-bw, to: fdr-bw, low: 1.9, high: 2.1, source: {of: blog}}
facts:
  - {id: power, what: power, value: 105, unit: W, kind: nominal, source: {of: blog}}
claims:
"""
HELD = "  - {says: EDR streams 12.4 GB/s, of: blog, at: figure 2, held_by: [edr-bw]}\n"


def site_references(folder: Path, claims: str) -> References:
    (folder / "systems").mkdir()
    (folder / "references").mkdir()
    (folder / "systems/site.yaml").write_text(SITE, encoding="utf-8")
    (folder / "references/site.yaml").write_text(TABLE + claims, encoding="utf-8")
    return load_references(folder / "references/site.yaml", load_system(folder / "systems/site.yaml"))


def test_a_claim_is_held_by_what_the_files_say(tmp_path: Path) -> None:
    claims = site_references(
        tmp_path,
        HELD
        + "  - {says: EDR is twice FDR, of: blog, at: text, held_by: [doubled, power]}\n"
        + '  - {says: it costs 800, of: blog, at: text, held_by: ["price:edr", "fabric:edr", "source:blog", power],\n'
        + "     not_judged: a price}\n"
        + "  - {says: all will be well, of: blog, at: last words, not_held: a prospect}\n",
    ).claims
    assert [(claim.held_by, claim.not_held, claim.not_judged) for claim in claims] == [
        (("edr-bw",), None, None),
        (("doubled", "power"), None, None),
        (("price:edr", "fabric:edr", "source:blog", "power"), None, "a price"),
        ((), "a prospect", None),
    ]


WHERE = "says: it is so, of: blog, at: text"


@pytest.mark.parametrize(
    ("claims", "sentence"),
    [
        pytest.param(
            f"  - {{{WHERE}, held_by: [edr-bv]}}\n",
            'claims[0].held_by[0]: found "edr-bv", expected the id of an entry, relation or fact; did you mean '
            '"edr-bw"?',
            marks=pytest.mark.fault(
                "reference", "a claim held by an entry that is not there", 'found "edr-bv", expected the id of an entry'
            ),
        ),
        (
            f'  - {{{WHERE}, held_by: ["price:fdr", edr-bw]}}\n',
            'claims[0].held_by[0]: found "price:fdr", expected a price that the files state; did you mean "price:edr"?',
        ),
        (
            f"  - {{{WHERE}}}\n",
            "claims[0]: found neither held_by nor not_held, expected one of them; name what holds the claim, or say "
            "why nothing does",
        ),
        (
            f"  - {{{WHERE}, held_by: [edr-bw], not_held: because}}\n",
            "claims[0]: found both held_by and not_held, expected one of them; name what holds the claim, or say why "
            "nothing does",
        ),
        (
            HELD + "  - {says: edr streams  12.4 GB/s, of: blog, at: table, held_by: [edr-bw]}\n",
            'claims[1].says: found "edr streams 12.4 GB/s", expected each claim once (line 16 has it already); '
            "remove one, or say how the two differ",
        ),
        (
            "  - {says: it is so, of: blog, held_by: [edr-bw]}\n",
            'claims[0].at: found nothing, expected the field "at"; add it',
        ),
        (
            "  - {says: it is so, of: blag, at: text, held_by: [edr-bw]}\n",
            'claims[0].of: found "blag", expected a source of this file; did you mean "blog"?',
        ),
        (
            f"  - {{{WHERE}, held_by: [sick]}}\n",
            "claims[0].held_by: found only the bad case sick, expected an entry by which runs are judged: nothing "
            "is judged by a bad case; say in not_held why",
        ),
        (
            f"  - {{{WHERE}, held_by: [power]}}\n",
            "claims[0].held_by: found power, by which no run is judged, expected also an entry or a relation, or "
            "not_judged: why no run is judged by the claim",
        ),
        (
            f"  - {{{WHERE}, held_by: [power, edr-bw], not_judged: because}}\n",
            "claims[0].not_judged: found not_judged together with an entry or relation, expected it only if just "
            "facts hold the claim; leave it out",
        ),
        (
            f"  - {{{WHERE}, not_held: because, differs: in size}}\n",
            "claims[0].differs: found differs together with not_held, expected it only if something holds the claim; "
            "leave it out",
        ),
        pytest.param(
            "  - {says: EDR is about twice FDR, of: blog, at: text, held_by: [doubled]}\n",
            "claims[0].held_by[0]: found the relation doubled without one, expected one with a margin_reason, since "
            'the claim says "about"',
            marks=pytest.mark.fault(
                "reference", 'a claim of "about" without a margin', "expected one with a margin_reason, since the claim"
            ),
        ),
    ],
)
def test_what_is_refused_and_how(tmp_path: Path, claims: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        site_references(tmp_path, claims)
    where, _, told = str(caught.value).partition(" ")
    assert (where.startswith("references/site.yaml:"), told) == (True, sentence)
