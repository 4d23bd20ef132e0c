"""Benchmarks over a range of sizes: tables, files and plots."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from tri_core.errors import OptionError, Unsupported
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Benchmark", "Mark", "Table", "perf_report"]

Measured = tuple[float, float | None, float | None]


class Benchmark:
    """One plot: ``x_names`` take the values ``x_vals``, a line for every value ``line_vals`` of ``line_arg``.

    ``line_names`` labels the lines (OptionError for another number than of values), ``xlabel`` and ``ylabel`` the axes;
    ``args`` are further keywords of the measured function; ``x_log`` and ``y_log`` choose logarithmic axes,
    ``styles`` gives ``(colour, line style)`` of each line, ``plot_name`` the name of the files.
    """

    def __init__(
        self,
        x_names: Sequence[str],
        x_vals: Sequence[Any],
        line_arg: str,
        line_vals: Sequence[Any],
        line_names: Sequence[str],
        plot_name: str,
        args: dict[str, Any],
        xlabel: str = "",
        ylabel: str = "",
        x_log: bool = False,
        y_log: bool = False,
        styles: Sequence[tuple[str, str]] | None = None,
    ) -> None:
        if len(line_vals) != len(line_names):
            raise OptionError(f"{len(line_vals)} line_vals have {len(line_names)} line_names")
        self.x_names = [x_names] if isinstance(x_names, str) else list(x_names)
        self.x_vals = list(x_vals)
        self.line_arg = line_arg
        self.line_vals = list(line_vals)
        self.line_names = list(line_names)
        self.plot_name = plot_name
        self.args = args
        self.xlabel = xlabel
        self.ylabel = ylabel
        self.x_log = x_log
        self.y_log = y_log
        self.styles = styles

    def points(self) -> Iterator[dict[str, Any]]:
        """The keywords of every x: one value for all names, or a tuple with one for each."""
        for x in self.x_vals:
            values = list(x) if isinstance(x, (tuple, list)) else [x] * len(self.x_names)
            if len(values) != len(self.x_names):
                raise OptionError(f"{x!r} has {len(values)} values for {', '.join(self.x_names)}")
            yield dict(zip(self.x_names, values, strict=True))


@dataclass
class Table:
    """Results in rows; ``columns`` names them."""

    columns: list[str]
    rows: list[list[Any]] = field(default_factory=list)

    def __getitem__(self, column: str) -> list[Any]:
        place = self.columns.index(column)
        return [row[place] for row in self.rows]

    def __len__(self) -> int:
        return len(self.rows)

    def to_csv(self, path: str | Path | None = None) -> str:
        """As comma-separated values, also written to ``path``."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        if path is not None:
            Path(path).write_text(out.getvalue())
        return out.getvalue()

    def __str__(self) -> str:
        cells = [self.columns, *([_shown(value) for value in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ("  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in cells)
        return "\n".join(lines)


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class Mark:
    """A function measured by benchmarks; made by :func:`perf_report`."""

    def __init__(self, fn: Callable[..., Any], benchmarks: Benchmark | Sequence[Benchmark]) -> None:
        self.fn = fn
        self.benchmarks = benchmarks

    def run(
        self,
        show_plots: bool = False,
        print_data: bool = False,
        save_path: str | Path = "",
        return_df: bool = False,
        **kwargs: Any,
    ) -> Table | list[Table] | None:
        """Measure all; ``save_path`` is a folder for tables and plots, ``return_df`` returns the tables.

        A measurement is a number, or ``(value, low, high)``.  Plots need the extra ``tri-frontend[plot]``; without
        it Unsupported is raised where ``show_plots`` asks for them, and a folder gets tables only.
        """
        several = not isinstance(self.benchmarks, Benchmark)
        benchmarks = [self.benchmarks] if isinstance(self.benchmarks, Benchmark) else list(self.benchmarks)
        tables = []
        for benchmark in benchmarks:
            results = _measure(self.fn, benchmark, kwargs)
            table = _table(benchmark, results)
            tables.append(table)
            if save_path:
                folder = Path(save_path)
                folder.mkdir(parents=True, exist_ok=True)
                table.to_csv(folder / f"{benchmark.plot_name}.csv")
            if show_plots or save_path:
                _plot(benchmark, results, show_plots, Path(save_path) if save_path else None)
            if print_data:
                import typer

                typer.echo(f"{benchmark.plot_name}:\n{table}")
        if not return_df:
            return None
        return tables if several else tables[0]


Results = list[tuple[dict[str, Any], list[Measured]]]


def _measure(fn: Callable[..., Any], benchmark: Benchmark, kwargs: dict[str, Any]) -> Results:
    results: Results = []
    for point in benchmark.points():
        lines = [
            _triple(fn(**point, **{benchmark.line_arg: value}, **benchmark.args, **kwargs))
            for value in benchmark.line_vals
        ]
        results.append((point, lines))
    return results


def _triple(measured: Any) -> Measured:
    if isinstance(measured, (tuple, list)):
        value, low, high = measured
        return value, low, high
    return measured, None, None


def _table(benchmark: Benchmark, results: Results) -> Table:
    unit = f" ({benchmark.ylabel})" if benchmark.ylabel else ""
    table = Table([*benchmark.x_names, *(f"{name}{unit}" for name in benchmark.line_names)])
    for point, lines in results:
        table.rows.append([*point.values(), *(value for value, _, _ in lines)])
    return table


def _plot(benchmark: Benchmark, results: Results, show: bool, folder: Path | None) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        if not show:
            return
        raise Unsupported("plots need matplotlib", remedy="pip install tri-frontend[plot]") from error
    x_name = benchmark.x_names[0]
    figure = Figure()
    axes = figure.subplots()
    positions = [point[x_name] for point, _ in results]
    for i, name in enumerate(benchmark.line_names):
        colour, style = benchmark.styles[i] if benchmark.styles else (None, None)
        measured = [lines[i] for _, lines in results]
        axes.plot(positions, [m[0] for m in measured], label=name, color=colour, linestyle=style or "-")
        lows = [low for _, low, _ in measured if low is not None]
        highs = [high for _, _, high in measured if high is not None]
        if len(lows) == len(highs) == len(measured):
            axes.fill_between(positions, lows, highs, alpha=0.15)
    axes.legend()
    axes.set_xlabel(benchmark.xlabel or x_name)
    axes.set_ylabel(benchmark.ylabel)
    axes.set_xscale("log" if benchmark.x_log else "linear")
    axes.set_yscale("log" if benchmark.y_log else "linear")
    if folder is not None:
        figure.savefig(folder / f"{benchmark.plot_name}.png")
    if show:
        _show(figure)


def _show(figure: Any) -> None:
    """Show ``figure`` in whatever window or notebook matplotlib uses here."""
    import matplotlib.pyplot as plt

    shown = plt.figure()
    manager = shown.canvas.manager
    figure.set_canvas(shown.canvas)
    if manager is not None:
        manager.canvas.figure = figure
    plt.show()


def perf_report(benchmarks: Benchmark | Sequence[Benchmark]) -> Callable[[Callable[..., Any]], Mark]:
    """Measure the decorated function, once per point of ``benchmarks``, with ``bench.run(print_data=True)``.

    The function gets the arguments that a benchmark names, and returns a number or ``(value, low, high)``; what it raises
    ends the run.
    """
    return lambda fn: Mark(fn, benchmarks)
