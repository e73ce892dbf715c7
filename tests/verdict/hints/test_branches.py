"""Settings in branches of a script: one that only some branches have decides nothing."""

import pytest

from railyard.verdict.hints.causes import branches
from railyard.verdict.hints.fallback import fallbacks

TCP = "export UCX_TLS=tcp,self"


@pytest.mark.parametrize(
    ("script", "count"),
    [
        (TCP, 1),
        (f"if [ $1 = a ]; then\n  {TCP}\nfi", 0),
        (f"if [ $1 = a ]; then\n  {TCP}\nelse\n  export OMP_NUM_THREADS=1\nfi", 0),
        (f"if [ $1 = a ]; then\n  {TCP}\nelse\n  {TCP},sm\nfi", 1),
        (f"case $1 in\na)\n  {TCP}\n  ;;\nesac", 0),
        (f"if ($1 == a) then\n  {TCP}\nendif", 0),
        (f'[ -n "$A" ] && {TCP}', 0),
        (f"if [ $1 = a ]; then\n  module load ucx\nfi\n{TCP}", 1),
        (f"if you see then what is below\n{TCP}", 1),  # prose
    ],
)
def test_a_setting_counts_only_if_each_branch_has_it(script: str, count: int) -> None:
    assert len(fallbacks(f"{script}\nmpirun -np 2 ./osu_latency\n")) == count


def test_a_line_has_the_branches_around_it_from_outside_to_inside() -> None:
    found = branches("if a; then\nif b; then\nx\nelse\ny\nfi\nelif c; then\nz\nfi\nend\n")
    assert [found.paths.get(line) for line in (3, 5, 8, 10)] == [((1, 0), (2, 0)), ((1, 0), (2, 1)), ((1, 1),), None]
    assert dict(found.complete) == {2: 2}
